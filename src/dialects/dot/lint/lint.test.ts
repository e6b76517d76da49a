/** What is said of pipelines before they run: every rule once, with its place. */
import { expect, test } from 'vitest';
import { digraph, dotOptions, lintOf } from '../../../../test/dot-kit.ts';
import { checkDot, formatDot, readDot } from '../index.ts';

// The lines of `digraph`: 3 and 4 declare start and exit, the body begins in line 5.
const said = (body: string, attributes?: string): readonly string[] => lintOf(digraph(body, attributes));

test('DOT1 of a text that cannot be read errors alone are told', () => {
  const body = 'start -> a -> exit\na [promt=x "prompt"=y]';
  expect(said(body)).toEqual(['warning unknown_attribute 6:4', 'warning DOT1 6:12', 'warning DOT1 6:12']);
  expect(said(`${body}\na --`)).toEqual(['error DOT1 7:3']);
});

test('11.2 a pipeline without faults has nothing said of it', () => {
  expect(said('start -> a -> exit\na [prompt=x]')).toEqual([]);
});

test.each<readonly [string, string, readonly string[]]>([
  [
    '11.2.1 11.12.4 no start',
    'digraph p {\nexit [shape=Msquare]\na [prompt=x]\na -> exit\n}',
    ['error start_node 1:1'],
  ],
  [
    '11.2.1 two starts',
    digraph('s2 [shape=Mdiamond]\nstart -> a -> exit\ns2 -> a\na [prompt=x]'),
    ['error start_node 5:1', 'error reachability 5:1'],
  ],
  [
    '11.2.2 11.12.5 no exit',
    'digraph p {\nstart [shape=Mdiamond]\na [prompt=x]\nstart -> a -> a\n}',
    ['error terminal_node 1:1'],
  ],
  [
    '11.2.2 two exits',
    digraph('e2 [shape=Msquare]\nstart -> a -> exit\na -> e2\na [prompt=x]'),
    ['error terminal_node 5:1'],
  ],
  [
    '11.2.3 an edge into the start',
    digraph('start -> a -> exit\na -> start\na [prompt=x]'),
    ['error start_no_incoming 6:1'],
  ],
  [
    '11.2.4 an edge out of the exit',
    digraph('start -> a -> exit -> b\na [prompt=x]\nb [prompt=x]\nb -> exit'),
    ['error exit_no_outgoing 5:1'],
  ],
  [
    '11.2.5 6.1.2 11.12.6 an orphan',
    digraph('start -> a -> exit\na [prompt=x]\nlost [prompt=x]\nlost -> exit'),
    ['error reachability 7:1'],
  ],
  [
    '11.2.6 a stage that only edges name',
    digraph('start -> a -> typo -> exit\na [prompt=x]'),
    ['warning undeclared_stage 5:15', 'warning prompt_on_llm_nodes 5:15'],
  ],
  [
    '11.2.7 6.1.16 no prompt and no label',
    digraph('start -> a -> exit\na [shape=box]'),
    ['warning prompt_on_llm_nodes 6:1'],
  ],
  [
    '11.2.8 a condition that cannot be read',
    digraph('start -> a\na -> exit [condition="outcome=success || x"]\na [prompt=x]'),
    ['error condition_syntax 6:22'],
  ],
  [
    'stylesheet_syntax',
    digraph('start -> a -> exit\na [prompt=x]', 'graph [model_stylesheet="* { llm_model }"]'),
    ['error stylesheet_syntax 2:25'],
  ],
  ['type_known', digraph('start -> a -> exit\na [type=foo, prompt=x]'), ['error type_known 6:9']],
  ['shape_known', digraph('start -> a -> exit\na [shape=note, prompt=x]'), ['warning shape_known 6:10']],
  ['fidelity_valid', digraph('start -> a -> exit\na [fidelity=high, prompt=x]'), ['warning fidelity_valid 6:13']],
  [
    'retry_target_exists',
    digraph('start -> a -> exit\na [retry_target=b, prompt=x]'),
    ['warning retry_target_exists 6:17'],
  ],
  [
    'goal_gate_has_retry',
    digraph('start -> a -> exit\na [goal_gate=true, prompt=x]'),
    ['warning goal_gate_has_retry 6:1'],
  ],
  [
    'gate_without_way_back',
    digraph('start -> a -> exit\na [goal_gate=true, prompt=x, retry_target=b]\nb [prompt=x]\nb -> exit'),
    ['warning gate_without_way_back 6:1'],
  ],
  [
    '6.2.9 a stage that only a retry target leads to can be reached',
    digraph('start -> a -> exit\na [prompt=x, retry_target=b]\nb [prompt=x]\nb -> a'),
    [],
  ],
  [
    'unreachable_terminal',
    digraph(
      'start -> a -> b -> a\na -> exit [condition="outcome=fail"]\na -> c\nc -> d -> c\na [prompt=x]\nb [prompt=x]\nc [prompt=x]\nd [prompt=x]',
    ),
    ['warning endless_success 9:1', 'warning unreachable_terminal 11:1', 'warning unreachable_terminal 12:1'],
  ],
  ['dead_end', digraph('start -> a -> exit\na -> b\na [prompt=x]\nb [prompt=x]'), ['warning dead_end 8:1']],
  [
    'tool_command_required',
    digraph('start -> a -> exit\na [shape=parallelogram]'),
    ['error tool_command_required 6:1'],
  ],
  [
    'custom_outcome',
    digraph('start -> a\na -> exit [condition="outcome=has_dod"]\na -> exit\na [shape=hexagon]'),
    ['warning custom_outcome 6:22', 'warning label_conflict 7:1'],
  ],
  [
    'endless_success',
    digraph(
      'start -> a -> t\nt -> a [condition="outcome=success"]\nt -> exit [condition="outcome=fail"]\na [prompt=x]\nt [shape=parallelogram, tool_command=x]',
    ),
    ['warning endless_success 8:1'],
  ],
  [
    'no endless_success: an outcome of the author ends the loop',
    digraph(
      'start -> a -> t\nt -> a [condition="outcome=success"]\nt -> exit [condition="outcome=done"]\na [prompt=x]\nt [shape=parallelogram, tool_command=x]',
    ),
    ['warning all_conditional_edges 9:1'],
  ],
  [
    'no endless_success: a label decides',
    digraph('start -> a -> b\nb -> a [label=Again]\nb -> exit [label=Done]\na [prompt=x]\nb [prompt=x]'),
    [],
  ],
  [
    'condition_key',
    digraph('start -> a\na -> exit [condition="ready=yes"]\na -> exit\na [prompt=x]'),
    ['warning condition_key 6:22'],
  ],
  [
    'all_conditional_edges',
    digraph('start -> a\na -> exit [condition="outcome=success"]\na [prompt=x]'),
    ['warning all_conditional_edges 7:1'],
  ],
  [
    'conditions that cover all',
    digraph(
      'start -> a\na -> exit [condition="outcome=success"]\na -> b [condition="outcome!=success"]\nb -> exit\na [prompt=x]\nb [prompt=x]',
    ),
    [],
  ],
  [
    'label_conflict of edges',
    digraph('start -> a\na -> exit [label=go]\na -> b [label=" GO"]\nb -> exit\na [prompt=x]\nb [prompt=x]'),
    ['warning label_conflict 7:15'],
  ],
  [
    'label_conflict of keys',
    digraph('start -> a\na -> exit [label=Stop]\na -> b [label=Ship]\nb -> exit\na [shape=hexagon]\nb [prompt=x]'),
    ['warning label_conflict 7:15'],
  ],
  [
    'label_conflict of two edges that are one choice',
    digraph(
      'start -> a\na -> b [label=Go, weight=2, condition="context.x=1"]\na -> b [label="[G] go"]\na -> exit [label=No]\nb -> exit\na [shape=hexagon]\nb [prompt=x]',
    ),
    ['warning label_conflict 7:15'],
  ],
  [
    'human_choices: none',
    digraph('start -> a\nstart -> exit\na [shape=hexagon]'),
    ['error human_choices 7:1', 'warning dead_end 7:1'],
  ],
  [
    'human_choices: a default that is none',
    digraph('start -> a -> exit\na [shape=hexagon, timeout=1m, human.default_choice=b]'),
    ['error human_choices 6:52'],
  ],
  [
    'inert_attribute: a thread where nothing is told in full',
    digraph('start -> a -> exit [thread_id=t]\na [thread_id=t, prompt=x]', 'graph [default_thread=t, summary_model=m]'),
    [
      'warning inert_attribute 2:23',
      'warning inert_attribute 2:40',
      'warning inert_attribute 5:31',
      'warning inert_attribute 5:31',
      'warning inert_attribute 6:14',
    ],
  ],
  [
    'what is told in full or summed up has threads and a model for summaries',
    digraph(
      'start -> a [fidelity=full, thread_id=u]\na -> b [fidelity="summary:low"]\nb -> exit\na [fidelity=full, thread_id=t, prompt=x]\nb [prompt=x]',
      'graph [default_thread=t, summary_model=m]',
    ),
    [],
  ],
  [
    'inert_attribute: another type',
    digraph('start -> a -> exit\na [tool_command="make", prompt=x]'),
    ['warning inert_attribute 6:17'],
  ],
  [
    'inert_attribute: another type, once, whatever else it would need',
    digraph('start -> a -> exit\na [shape=parallelogram, tool_command="make", tools="read", max_turns=3]'),
    ['warning inert_attribute 6:52', 'warning inert_attribute 6:70'],
  ],
  ['a default is for those that heed it', digraph('node [timeout=5m]\nstart -> a -> exit\na [prompt=x]'), []],
  [
    'unknown_attribute',
    digraph('start -> a -> exit\na [promt=x, prompt=x, color=red]'),
    ['warning unknown_attribute 6:4'],
  ],
  [
    'attribute_value',
    digraph('start -> a -> exit\na [max_retries=many, timeout=soon, goal_gate=yes, prompt=x]'),
    ['error attribute_value 6:16', 'error attribute_value 6:30', 'error attribute_value 6:46'],
  ],
  [
    'attribute_value: durations that nothing takes',
    digraph(
      'start -> a -> b -> exit\na [shape=parallelogram, tool_command=x, timeout=0]\nb [shape=hexagon, timeout=3651d, manager.poll_interval=0.1ms]',
    ),
    ['error attribute_value 6:49', 'error attribute_value 7:27', 'error attribute_value 7:56'],
  ],
  [
    'attribute_value: commands of over a day',
    digraph(
      'start -> a -> b -> c -> d -> exit\na [shape=parallelogram, tool_command=x, timeout=30d]\nb [agent_command=x, prompt=x]\nc [prompt=x]\nd [agent_command=x, prompt=x, timeout=24h]',
      'node [timeout=1441m]',
    ),
    ['error attribute_value 6:49', 'error attribute_value 7:1'],
  ],
  [
    'timeout_not_retried',
    digraph(
      'start -> a -> b -> c -> d -> exit\na [shape=parallelogram, tool_command=x, max_retries=2, timeout=5m]\nb [agent_command=x, prompt=x, timeout=5m, retry_policy=linear]\nc [shape=parallelogram, tool_command=x, timeout=5m, max_retries=2, idempotent=true]\nd [shape=parallelogram, tool_command=x, timeout=5m, max_retries=0, retry_policy=linear]',
    ),
    ['warning timeout_not_retried 6:53', 'warning timeout_not_retried 7:56'],
  ],
  [
    'parallel_join',
    digraph('start -> p\np [shape=component]\np -> a\np -> b\na -> a\nb -> exit\na [prompt=x]\nb [prompt=x]'),
    ['warning unreachable_terminal 11:1', 'error parallel_join 6:1'],
  ],
  [
    'fan_in_without_branches',
    digraph(
      'start -> p\np [shape=component]\np -> a -> j\np -> b -> exit\nj [shape=tripleoctagon]\nj -> exit\na [prompt=x]\nb [prompt=x]',
    ),
    ['warning fan_in_without_branches 9:1'],
  ],
  [
    'fan_in_without_branches of a pipeline without branches',
    digraph('start -> j -> exit\nj [shape=tripleoctagon]'),
    ['warning fan_in_without_branches 6:1'],
  ],
  [
    'parallel_branch_escapes',
    digraph(
      'start -> p\np [shape=component]\np -> a -> j\np -> b -> j\nb -> exit [condition="outcome=fail"]\nj [shape=tripleoctagon]\nj -> exit\na [prompt=x]\nb [prompt=x]',
    ),
    ['error parallel_branch_escapes 6:1'],
  ],
  [
    'retry_target_outside',
    digraph(
      'start -> z -> p\np [shape=component]\np -> a -> j\np -> b -> j\nj [shape=tripleoctagon]\nj -> exit\na [prompt=x, retry_target=z]\nb [prompt=x]\nz [prompt=x]',
    ),
    ['warning retry_target_outside 11:1'],
  ],
  [
    'conditional_without_condition',
    digraph('start -> a -> exit\na [shape=diamond]'),
    ['warning conditional_without_condition 6:1'],
  ],
  ['reserved_id', digraph('start -> outputs -> exit\noutputs [prompt=x]'), ['error reserved_id 6:1']],
  [
    'params',
    digraph('start -> a -> exit\na [prompt=x]', 'graph [params="Who, goal"]'),
    ['error attribute_value 2:15', 'error attribute_value 2:15'],
  ],
])('11.2.10 %s', (_, text, expected) => {
  expect(lintOf(text).toSorted()).toEqual(expected.toSorted());
});

test('11.2.9 readDot throws all faults at once, each with rule, severity, place, message and fix', () => {
  const text = digraph('start -> a -> exit\na [shape=parallelogram, max_retries=x]');
  expect(() => readDot(text, dotOptions())).toThrow(/attribute_value.*tool_command_required|tool_command_required/s);
  const { violations, workflow } = checkDot(text, dotOptions());
  expect(workflow).toBeUndefined();
  expect(violations).toEqual([
    {
      rule: 'tool_command_required',
      severity: 'error',
      place: 'p.dot:6:1',
      message: 'a has no tool_command: it has nothing to run',
      fix: 'give it a tool_command',
    },
    {
      rule: 'attribute_value',
      severity: 'error',
      place: 'p.dot:6:37',
      message: 'max_retries must be a whole number; it is "x"',
      fix: 'correct it',
    },
  ]);
});

test('DOT1 a text that is no digraph is GRAPH_PARSE with its line; fmt refuses it too', () => {
  expect(() => readDot('digraph p {\n a -- b\n}', dotOptions())).toThrow(
    expect.objectContaining({ code: 'GRAPH_PARSE', data: expect.objectContaining({ line: 2 }) as unknown }),
  );
  expect(() => formatDot('digraph p {', 'p.dot')).toThrow(expect.objectContaining({ code: 'GRAPH_PARSE' }));
  expect(formatDot('digraph p{a->b}')).toBe('digraph p {\n  a -> b\n}\n');
});

test('DOT17 an inline pipeline is held to grants, by the stages that need them', () => {
  const text = digraph(
    'start -> t -> a -> exit\nt [shape=parallelogram, tool_command=make]\na [prompt=x, llm_model="m:1"]',
  );
  const inline = { origin: 'inline' as const };
  expect(() => readDot(text, dotOptions(inline))).toThrow(expect.objectContaining({ code: 'PERMISSION_DENIED' }));
  expect(() => readDot(text, dotOptions({ ...inline, permissions: { shell: true } }))).toThrow(/model/);
  expect(readDot(text, dotOptions({ ...inline, permissions: { shell: true, model: true } })).name).toBe('p');
});

test('6.1.12 where no stage has the shape, one called start or exit is taken for it', () => {
  expect(lintOf('digraph p {\nstart []\na [prompt=x]\nend []\nstart -> a -> end\n}')).toEqual([]);
});

test('DOT1 reading takes time in proportion to the text: files that would make a careless reader hang', () => {
  const long = [
    `digraph p {${'a [x="'.repeat(200_000)}`,
    `digraph p {${'<'.repeat(500_000)}`,
    `digraph p { graph [model_stylesheet="${'/* } '.repeat(200_000)}"] }`,
    `digraph p { ${'-'.repeat(1_000_000)} }`,
    `digraph p { a -> b [condition="${'x=1&&'.repeat(100_000)}"] }`,
    `digraph p { node [class="${'c,'.repeat(100_000)}"] ${Array.from({ length: 2_000 }, (_, n) => `n${n}`).join(';')} }`,
    `digraph p { ${Array.from({ length: 3_000 }, (_, n) => `n${n} [shape=component] n${n} -> n${n + 1} n${n} -> n${(n * 7) % 3_000}`).join('\n')} }`,
    `digraph p { ${Array.from({ length: 20_000 }, (_, n) => `n${n} [goal_gate=true, retry_target=n${(n * 7) % 20_000}] n${n} -> n${n + 1}`).join('\n')} }`,
  ];
  for (const text of long) expect(checkDot(text, dotOptions()).workflow).toBeUndefined();
}, 60_000);

test.each(['max_retry_jumps=-1', 'default_max_retries=-1', 'max_node_visits=0', 'max_restarts=-1'])(
  'DOT12 a count of the graph that means nothing is an error: %s',
  (count) => {
    const place = `2:${'graph [goal=g, '.length + count.indexOf('=') + 2}`;
    expect(said('start -> a -> exit\na [prompt=x]', `graph [goal=g, ${count}]`)).toEqual([
      `error attribute_value ${place}`,
    ]);
  },
);

test.each([
  ['3_of_n', ['error attribute_value 5:33']],
  ['k_of_n(0)', ['error attribute_value 5:33']],
  ['2_of_n', []],
  ['quorum', []],
  ['most', ['error attribute_value 5:33']],
])('DOT5 a join that needs more branches than there are, or none, is an error: %s', (policy, findings) => {
  const body = `p [shape=component, join_policy="${policy}"]\nj [shape=tripleoctagon]\nstart -> p\np -> a -> j\np -> b -> j\nj -> exit\na [prompt=x]\nb [prompt=x]`;
  expect(said(body)).toEqual(findings);
});
