/** What carries over between dialects, what stands in for the rest, and how it is told. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { converted, readText, wayOf, worldOf, type World } from '../../../test/convert-kit.ts';
import { AgentGraph, END, functionNode, humanNode, shellNode, START } from '../../index.ts';
import { convertGraph } from './convert-text.ts';

const examples = join(import.meta.dirname, '../../../examples');
const example = (path: string): string => readFileSync(join(examples, path), 'utf8');
const allWell: World = { succeeds: () => true, chooses: () => 0 };

const line = (body: string, graph = ''): string =>
  `digraph line {\n${graph}\nstart [shape=Mdiamond]\nexit [shape=Msquare]\n${body}\n}\n`;

test('CV1 P5 the release of the examples, as a workflow file, checks, asks, writes and tags as the pipeline does', async () => {
  const text = example('pipelines/release.dot');
  const { text: yaml, notes } = converted(text);
  for (const seed of [1, 2, 3, 4, 5, 6]) {
    const world = { ...worldOf(seed), succeeds: () => true };
    expect(await wayOf(yaml, world)).toEqual(await wayOf(text, world));
  }
  const { done } = await wayOf(yaml, allWell, { version: '2.0.0; rm -rf /' });
  expect(done).toEqual([
    '$ node check.js',
    '> decide: yes',
    expect.stringContaining('echo "<2.0.0; rm -rf />" > VERSION'),
    '$ git tag --force "v<2.0.0; rm -rf />"',
  ]);
  expect(notes.map(({ code, severity, place }) => `${code} ${severity} ${place}`)).toEqual([
    'OUTPUT changed w.dot:1:1',
    'LOOP lost w.dot:7:3',
    'ANSWER lost w.dot:14:3',
    'ANSWER changed w.dot:14:3',
  ]);
});

test('CV1 P5 the approval of the examples, as a pipeline, goes the way of the file; what only a block does is done by hand', async () => {
  const text = example('workflows/interactive-approval.yaml');
  const { text: dot, lost } = converted(text);
  const input = { project: 'demo' };
  const no: World = { succeeds: () => true, chooses: (node) => (node === 'approve' ? 1 : 0) };
  expect(await wayOf(dot, no, input)).toEqual(await wayOf(text, no, input));
  const failed: World = { ...no, succeeds: () => false };
  expect(await wayOf(dot, failed, input)).toEqual(await wayOf(text, failed, input));
  expect((await wayOf(dot, allWell, input)).done.at(-1)).toBe('> release: done');
  expect(lost.filter((one) => one.startsWith('WORK'))).toEqual([
    'WORK release is what CreateFile does, which does not carry over as it stands; a person does it by hand',
  ]);
});

test('CV4 every example of the repository converts to a text that is valid, and says the same again after the way back', () => {
  const pipelines = readdirSync(join(examples, 'pipelines')).filter((name) => name.endsWith('.dot'));
  const files = [
    ...pipelines.map((name) => `pipelines/${name}`),
    ...['interactive-approval', 'multi-step-questionnaire', 'release-checklist', 'approve-part', 'crash-recovery'].map(
      (name) => `workflows/${name}.yaml`,
    ),
  ];
  expect(files.length).toBeGreaterThan(9);
  for (const file of files) {
    const { text } = converted(example(file));
    expect(
      readText(text)
        .warnings.map(({ rule }) => rule)
        .filter((rule) => !rule.startsWith('DOT')),
    ).toEqual([]);
    // Branches come back one after the other, which is told.
    const again = converted(converted(text).text);
    const isWide = file === 'pipelines/panel.dot';
    expect([file, again.text === text]).toEqual([file, !isWide]);
    expect(isWide && !converted(text).lost.join().includes('PARALLEL')).toBe(false);
  }
});

test.each([
  ['a stage', ''],
  ['a fan-in', '\njoin [shape=tripleoctagon]\njoin -> after'],
])(
  'CV1 branches side by side are blocks side by side; the run goes on if as many succeed as %s needs',
  async (_, join) => {
    const end = join === '' ? 'after' : 'join';
    const text = line(
      `fork [shape=component, join_policy="2_of_n"]
a [shape=parallelogram, tool_command=a]
b [shape=parallelogram, tool_command=b]
c [shape=parallelogram, tool_command=c]
c2 [shape=parallelogram, tool_command=c2]
after [shape=parallelogram, tool_command=after]
start -> fork
fork -> a -> ${end}
fork -> b -> ${end}
fork -> c -> c2 -> ${end}${join}
after -> exit`,
    );
    const { text: yaml } = converted(text);
    const failing = (...names: readonly string[]): World => ({ ...allWell, succeeds: (what) => !names.includes(what) });
    // Where two have succeeded the pipeline cancels the third; a file lets it end. So one fails first in each of these.
    for (const names of [['a'], ['b'], ['a', 'c2'], ['a', 'b'], ['a', 'b', 'c']]) {
      const [one, other] = [await wayOf(yaml, failing(...names)), await wayOf(text, failing(...names))];
      const sorted = ({ status, done }: typeof one): object => ({ status, done: done.toSorted() });
      expect([names, sorted(one)]).toEqual([names, sorted(other)]);
    }
  },
);

test('CV3 a loop is cut where it leads back: a failure fails the run, any other end comes to a block that stops it', async () => {
  const text = line(
    'ask [shape=hexagon, label="Again?"]\nwork [shape=parallelogram, tool_command=work, retry_target=work]\nstart -> work -> ask\nask -> work [label=Yes]\nask -> exit [label=No]',
  );
  const { text: yaml, lost } = converted(text);
  expect(lost).toEqual([
    'LOOP ask leads back to work (choose Yes); here the run fails in its place',
    'LOOP work leads back to work (fail); here the run fails in its place',
  ]);
  expect(await wayOf(yaml, allWell)).toEqual({ status: 'failed', done: ['$ work', '> ask: yes'] });
  expect(await wayOf(yaml, { ...allWell, chooses: () => 1 })).toEqual({
    status: 'completed',
    done: ['$ work', '> ask: no'],
  });
});

test('CV3 a condition on what only a pipeline keeps is asked of a person, and so is one on what only a block keeps', async () => {
  const dot = line(
    'a [shape=parallelogram, tool_command=a]\nb [shape=parallelogram, tool_command=b]\nstart -> a\na -> b [condition="context.tests.failed=3"]\na -> exit\nb -> exit',
  );
  const yaml = converted(dot);
  expect(yaml.lost).toEqual([
    'CONDITION the way after a hangs on tests.failed, which only a pipeline keeps; a person is asked at a_way',
  ]);
  expect((await wayOf(yaml.text, allWell)).done).toEqual(['$ a', '> a_way: context.tests.failed=3', '$ b']);
  const back = converted(
    'name: w\nblocks:\n  - { id: a, type: Shell, inputs: { command: a } }\n  - { id: b, type: Shell, depends_on: [a], condition: "a.stdout == \'3\'", inputs: { command: b } }\n',
  );
  expect(back.lost).toEqual([
    "CONDITION whether b runs hangs on a.stdout == '3', which a run cannot tell here; a person is asked",
  ]);
  expect((await wayOf(back.text, allWell)).done).toEqual(['$ a', '> b_if: yes', '$ b']);
});

test('CV3 stages that no way of the conversion comes to are named, such as those behind the jump of a goal gate', () => {
  const { text, notes, lost } = converted(
    line(`
      start -> t -> d
      t [shape=parallelogram, tool_command="true", goal_gate=true, retry_target=m]
      m [shape=parallelogram, tool_command="echo m"]
      zig [shape=parallelogram, tool_command="echo zig"]
      d [shape=diamond]
      a [shape=parallelogram, tool_command="echo a"]
      m -> zig -> t
      d -> a [condition="outcome=fail"]
      d -> exit
      a -> exit`),
  );
  expect(text).not.toMatch(/echo (m|zig)/);
  expect(notes.filter(({ code }) => code === 'WORK').map(({ message }) => message)).toEqual(
    ['m', 'zig'].map((id) => `${id} is left out: nothing that a step comes to leads to it here`),
  );
  expect(lost).toEqual([expect.stringContaining('the run may end although the gate t failed')]);
});

test.each(['max_node_visits=5', 'max_retry_jumps=2', 'max_restarts=2', 'resume_fidelity="compact"'])(
  'CV3 %s of a pipeline is not left out without a note',
  (attribute) => {
    const { lost } = converted(
      line('work [shape=parallelogram, tool_command=work, max_visits=3]\nstart -> work -> exit', attribute),
    );
    expect(lost).toEqual([
      `SETTING ${attribute.replace(/=.*/, '')} has no counterpart`,
      'SETTING max_visits of work has no counterpart',
    ]);
  },
);

test('CV5 texts of one dialect are texts in the other: no value becomes an expression, a reference or syntax of a shell', async () => {
  const prompt = 'say ${x} $${y} {{ inputs.p }} {% if p %} {# c #} $goal $p $HOME ${inputs.p} and $';
  const script = 'echo "${p}" ${#p} \'${x}\' "$goal" {{ inputs.p }} $$ # ${p}';
  const quoted = (text: string): string => JSON.stringify(text).replaceAll('\\n', '\n');
  const text = line(
    `a [prompt=${quoted(prompt)}, fidelity=truncate]\nb [shape=parallelogram, tool_command=${quoted(script)}]\nstart -> a -> b -> exit`,
    'graph [params="p=v"]',
  );
  const { text: yaml, lost } = converted(text);
  expect(lost).toEqual([]);
  const input = { goal: '', p: '${q} $(id) {{ x }}' };
  expect(await wayOf(yaml, allWell, input)).toEqual(await wayOf(text, allWell, input));
});

test('CV1 a question says the same inputs in both dialects; a dollar sign that would name one is told', () => {
  const text = line(
    'gate [shape=hexagon, label="Ship $goal at $5 for $who?"]\nstart -> gate\ngate -> exit [label=Yes]',
    'graph [params="who=you"]',
  );
  const { text: yaml, lost } = converted(text);
  expect(yaml).toContain('question: Ship ${inputs.goal} at $5 for ${inputs.who}?');
  expect([lost, converted(yaml).lost]).toEqual([[], []]);
  expect(converted(yaml).text).toContain('label="Ship $goal at $5 for $who?"');
  const literal =
    'name: w\ninputs: { who: { type: str } }\nblocks: [{ id: ask, type: GetInput, inputs: { prompt: Is $who in? } }]\n';
  expect(converted(literal).lost).toEqual(['TEXT in the question of ask $who is the input, and not text']);
});

test('CV3 a compiled graph keeps its order, its questions and its commands; functions and predicates are done by hand', async () => {
  const graph = new AgentGraph({}, { id: 'ship' })
    .addNode('build', shellNode({ command: ['make', 'it good'], env: { MODE: "it's" } }))
    .addNode(
      'look',
      functionNode(() => 'seen'),
    )
    .addNode('ask', humanNode({ prompt: 'Ship it?', choices: ['yes', 'no'] }))
    .addNode('ship', shellNode({ command: 'echo "$1"', args: ['a b'] }))
    .addEdge(START, 'build')
    .addEdge('build', 'look')
    .addEdge('look', 'ask')
    .addConditionalEdge('ask', ({ state }) => (state.outputs.ask === 'yes' ? 'ship' : 'stop'), {
      ship: 'ship',
      stop: END,
    })
    .addEdge('ship', END)
    .compile().graph;
  for (const to of ['yaml', 'dot'] as const) {
    const { text, notes } = convertGraph(graph, to);
    expect(notes.map(({ code, severity, place }) => `${code} ${severity} ${place}`)).toEqual([
      'CODE lost ship/look',
      'CONDITION lost ship/ask',
    ]);
    expect(await wayOf(text, allWell)).toEqual({
      status: 'completed',
      done: [
        "$ export MODE='it'\\''s'\nmake 'it good'",
        '> look: done',
        '> ask: yes',
        '> ask_way: ship',
        '$ set -- \'a b\'\necho "$1"',
      ],
    });
  }
});

test('CV3 nodes side by side come one after the other, and a graph of functions alone says that nothing runs without a person', () => {
  const work = functionNode(() => 'x');
  const graph = new AgentGraph({}, { id: 'wide' })
    .addNode('a', work)
    .addNode('b', work)
    .addNode('c', work)
    .addEdge(START, 'a')
    .addEdge(START, 'b')
    .addEdge('a', 'c', {
      when: function isGood() {
        return true;
      },
    })
    .addEdge('b', 'c')
    .addEdge('c', END)
    .compile().graph;
  const { text, notes } = convertGraph(graph, 'dot');
  const told = notes.map(({ code, message }) => `${code} ${message}`);
  expect(told).toContain('PARALLEL b runs after a, not beside it');
  expect(told).toContain(
    'CONDITION the way after a is decided by isGood, which does not carry over; a person is asked',
  );
  expect(told.at(-1)).toBe('NOTHING nothing is left that runs without a person');
  expect(readText(text).blocks.map(({ id }) => id)).toEqual(['start', 'a', 'a_to_c', 'b', 'c', 'exit']);
});

test('CV2 what one dialect cannot name is renamed, and told: ids, inputs, the workflow', () => {
  const { text, notes } = converted(
    'name: w\ninputs: { VERSION: { type: str, default: "1" } }\nblocks: [{ id: edge, type: Shell, inputs: { command: "echo ${VERSION}" } }]\n',
  );
  expect(notes.map(({ code, message }) => `${code} ${message}`)).toEqual([
    'NAME the input VERSION is called version',
    'NAME edge is called step_edge',
  ]);
  expect(text).toContain('export VERSION=\\"$version\\"');
  const yaml = converted(
    'digraph "Über uns" {\nstart [shape=Mdiamond]\nexit [shape=Msquare]\n"blocks" [shape=parallelogram, tool_command=x]\nstart -> blocks -> exit\n}\n',
  );
  expect(yaml.notes.map(({ message }) => message)).toEqual([
    'the workflow Über uns is called ber-uns',
    'a run gives no result with status, gates and failures',
    'blocks is called blocks_step',
  ]);
});

test('CV2 the name under which runs have a step on record goes along, there and back', () => {
  const yaml = 'name: w\nblocks: [{ id: quote, renamed_from: price, type: Shell, inputs: { command: "true" } }]\n';
  const { text: dot, notes } = converted(yaml);
  expect([dot, notes]).toEqual([expect.stringContaining('renamed_from=price'), []]);
  expect(converted(dot).text).toContain('renamed_from: price');
});

test('CV4 what has too many ways to be written one by one is refused, with what to do', () => {
  const refusal = {
    code: 'GRAPH_INVALID',
    data: expect.objectContaining({
      violations: [
        expect.objectContaining({
          rule: 'CV4',
          message: 'it has too many ways to be written one by one',
          fix: 'split it into workflows that are converted one by one',
        }),
      ],
    }) as object,
  };
  const chain = Array.from({ length: 1_001 }, (_, index) => {
    const before = index === 0 ? '' : `, depends_on: [b${index - 1}]`;
    return `  - { id: b${index}, type: EchoBlock, inputs: { message: hi }${before} }\n`;
  });
  expect(() => converted(`name: w\nblocks:\n${chain.join('')}`)).toThrow(expect.objectContaining(refusal));
  expect(converted(`name: w\nblocks:\n${chain.slice(1).join('').replace(', depends_on: [b0]', '')}`)).toBeDefined();
  // What comes at the end asks how each of those before it ended: 2 to the power of 16 ways.
  const asked = Array.from({ length: 16 }, (_, index) => `b${index}`);
  const wide = asked.map((id) => `  - { id: ${id}, type: ConfirmOperation, inputs: { message: hi, operation: hi } }\n`);
  const last = `  - { id: last, type: Shell, depends_on: [${asked.join(', ')}], condition: "${asked.map((id) => `${id}.confirmed`).join(' or ')}", inputs: { command: x } }\n`;
  const tested = asked.map(
    (id) =>
      `  - { id: after_${id}, type: Shell, depends_on: [last, ${id}], condition: "${id}.confirmed", inputs: { command: x } }\n`,
  );
  expect(() => converted(`name: w\nblocks:\n${wide.join('')}${last}${tested.join('')}`)).toThrow(
    expect.objectContaining(refusal),
  );
  const graph = new AgentGraph({}, { id: 'wide' });
  const isGood = (): boolean => true;
  for (const id of asked)
    graph
      .addNode(id, functionNode(isGood))
      .addNode(`after_${id}`, functionNode(isGood))
      .addEdge(START, id)
      .addEdge(id, `after_${id}`, { when: isGood })
      .addEdge(`after_${id}`, END);
  expect(() => convertGraph(graph.compile().graph, 'dot')).toThrow(expect.objectContaining(refusal));
});
