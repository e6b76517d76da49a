/** Each word of each dialect, as the tables of the checks list them: a conversion says it in the other dialect, or tells that it does not (CV3). */
import { describe, expect, test } from 'vitest';
import { attributeRules } from '../src/dialects/dot/model/attributes.ts';
import { blockFields, workflowFields } from '../src/dialects/yaml/file/format.ts';
import { converted } from './convert-kit.ts';

/** What a conversion gives, as one text. */
const givenBy = (text: string): string => {
  const { text: written, notes } = converted(text);
  return [written, ...notes.map(({ code, message, fix }) => `${code} ${message} ${fix}`)].join('\n');
};

// What only readers read, or what is the same by another name.
const plainOfYaml = ['name', 'id', 'type', 'blocks', 'inputs', 'author', 'tags', 'version', 'limits'];

const workflowSamples: Readonly<Record<string, string>> = {
  description: 'Sends.',
  outputs: '{ done: "${a.success}" }',
  bounds: '{ concurrency: 2 }',
  secrets: '[KEY]',
  limit: 'gpu',
  webhooks: '[{ url: "https://a.org/x", on: [completed], secret: "secret:S" }]',
  budget: '{ tokens: 5 }',
  on_budget: 'fail\nbudget: { tokens: 5 }',
  time_limit: '2h',
  title: 'Sends',
  on_cancel: 'undo',
  on_run_failure: 'undo',
  checkpoint: '{ enabled: false }',
  retention: '{ completed: 7d }',
};
const blockSamples: Readonly<Record<string, string>> = {
  renamed_from: 'old',
  description: 'Sends.',
  depends_on: '[undo]',
  condition: '"${inputs.x} == \'y\'"',
  for_each: '[1, 2]',
  for_each_mode: 'sequential, for_each: [1, 2]',
  max_parallel: '2, for_each: [1, 2]',
  continue_on_error: 'true',
  outputs: '{ f: { type: str, path: f } }',
  approval: 'Send?',
  timeout: '5s',
  limit: 'gpu',
  retry: '3',
  effect: 'read',
  idempotent: 'true',
  on_in_doubt: 'fail',
  budget: '{ tokens: 5 }',
  on_budget: 'fail, budget: { tokens: 5 }',
  at_most: '{ tokens: 5 }',
};

describe('CV3 YAML, written as DOT', () => {
  const file = (workflow = '', block = ''): string =>
    `name: w\ninputs: { x: { type: str } }\n${workflow}\nblocks:\n  - { id: a, type: Shell, inputs: { command: "echo a" }${block} }\n  - { id: undo, type: Shell, inputs: { command: "echo undo" } }\n`;

  test('there is a sample of each word', () => {
    const missing = (fields: object, samples: object): readonly string[] =>
      Object.keys(fields).filter((name) => !Object.hasOwn(samples, name) && !plainOfYaml.includes(name));
    expect([missing(workflowFields, workflowSamples), missing(blockFields, blockSamples)]).toEqual([[], []]);
  });

  test.each(Object.entries(workflowSamples))('%s of a workflow', (name, value) => {
    expect(givenBy(file(`${name}: ${value}`))).not.toBe(givenBy(file()));
  });
  test.each(Object.entries(blockSamples))('%s of a block', (name, value) => {
    expect(givenBy(file('', `, ${name}: ${value}`))).not.toBe(givenBy(file()));
  });
});

type Samples = Readonly<Record<string, string>>;
/** Words that have an effect with others alone come with these. */
const graphSamples: Samples = {
  goal: 'version 2',
  label: 'Sends',
  params: 'who=ada',
  model_stylesheet: '* { llm_model: big }',
  default_max_retries: '2',
  retry_target: 'b',
  fallback_retry_target: 'b',
  max_retry_jumps: '2',
  max_node_visits: '5',
  max_restarts: '2',
  default_fidelity: 'full',
  default_thread: 't", default_fidelity="full',
  summary_model: 'small", default_fidelity="summary:high',
  budget: 'tokens=5',
  on_budget: 'fail", budget="tokens=5',
  time_limit: '2h',
  limit: 'gpu',
  title: 'Sends',
  on_cancel: 'undo',
  on_run_failure: 'undo',
  resume_fidelity: 'compact',
  'tool_hooks.pre': 'true',
  'tool_hooks.post': 'true',
  webhooks: 'https://a.org/x completed secret:S',
};
/** Of these stages: `m` asks a model, `c` runs a command, `q` asks a person, `p` runs branches, `h` another pipeline. */
const stageSamples: Readonly<Record<string, readonly [stage: string, value: string]>> = {
  label: ['m', 'Thinks'],
  renamed_from: ['m', 'old'],
  prompt: ['m', 'Think otherwise.'],
  max_retries: ['c', '2'],
  retry_policy: ['c', 'patient'],
  retry_target: ['c', 'm'],
  fallback_retry_target: ['c', 'm'],
  fidelity: ['m', 'full'],
  thread_id: ['m', 't", fidelity="full'],
  timeout: ['c', '5s'],
  llm_model: ['m', 'big'],
  llm_provider: ['m', 'openai", llm_model="gpt'],
  reasoning_effort: ['m', 'high'],
  max_tokens: ['m', '5'],
  auto_status: ['c', 'true", status_file="s.json'],
  allow_partial: ['m', 'true'],
  max_visits: ['c', '3'],
  limit: ['c', 'gpu'],
  idempotent: ['c', 'true'],
  approval: ['c', 'Send?'],
  'human.default_choice': ['q', 'm", timeout="5s'],
  assignees: ['q', 'ann'],
  four_eyes: ['q', 'q2'],
  remind_after: ['q', '4h'],
  escalate_after: ['q', '4h", escalate_to="ann'],
  escalate_to: ['q', 'ann", escalate_after="4h'],
  'human.type': ['q', 'freeform'],
  tool_command: ['c', 'echo other'],
  agent_command: ['m', 'agent'],
  tools: ['m', 'read'],
  allow_tools: ['m', 'write", tools="write'],
  max_turns: ['m', '3", tools="read'],
  on_change: ['m', 'refuse", tools="read'],
  workdir: ['c', 'sub'],
  status_file: ['c', 's.json'],
  budget: ['m', 'tokens=5'],
  on_budget: ['m', 'fail", budget="tokens=5'],
};
/** Tried in tests of their own: branches and children, what is a kind of stage, and a goal gate, which is a block as it is (CV1). */
const elsewhere =
  /^(?:shape|type|class|goal_gate|join_policy|error_policy|max_parallel|manager\.|stack\.|tool_hooks\.|default_max_retry$|default_thread_id$)/u;

describe('CV3 DOT, written as YAML', () => {
  const pipeline = (graph = '', stages: Samples = {}, edge = ''): string => `digraph w {
  graph [${graph}]
  start [shape=Mdiamond]
  exit [shape=Msquare]
  q2 [shape=hexagon, label="First?"]
  q [shape=hexagon, label="Which?"${stages['q'] ?? ''}]
  m [prompt="Think."${stages['m'] ?? ''}]
  c [shape=parallelogram${stages['c']?.includes('tool_command') === true ? '' : ', tool_command="echo c"'}${stages['c'] ?? ''}]
  b [prompt="b"]
  undo [shape=parallelogram, tool_command="echo undo"]
  start -> q2
  q2 -> q [label="go"]
  q -> m [label="on"]
  m -> c
  c -> b [condition="outcome=success"${edge}]
  b -> exit
}
`;
  // A stage that follows the end of a run has no way to it, and a way back is taken where a gate is not passed.
  const around = (graph: string, name: string): string => {
    const text = /retry_target/u.test(name)
      ? pipeline(graph, { c: ', goal_gate=true' }, `]\n  c -> exit [condition="outcome=fail"`)
      : pipeline(graph);
    return /on_cancel|on_run_failure/u.test(graph) ? text : text.replace(/ {2}undo .*\n/u, '');
  };
  const stagePipeline = (stages: Samples = {}, edge = ''): string =>
    pipeline('', stages, edge).replace(/ {2}undo .*\n/u, '');

  test('there is a sample of each word', () => {
    const missing = (names: Iterable<string>, samples: object): readonly string[] =>
      [...names].filter((name) => !Object.hasOwn(samples, name) && !elsewhere.test(name));
    expect([
      missing(attributeRules.graph.keys(), graphSamples),
      missing(attributeRules.node.keys(), stageSamples),
    ]).toEqual([[], []]);
  });

  test.each(Object.entries(graphSamples))('%s of a pipeline', (name, value) => {
    expect(givenBy(around(`${name}="${value}"`, name))).not.toBe(givenBy(around('', name)));
  });
  test.each(Object.entries(stageSamples))('%s of a stage', (name, [stage, value]) => {
    const text = stagePipeline({ [stage]: `, ${name}="${value}"` })
      .replace('prompt="Think.", prompt', 'prompt')
      .replace(/label="Which\?", label/u, 'label');
    expect(givenBy(text)).not.toBe(givenBy(stagePipeline()));
  });
});
