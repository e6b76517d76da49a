/** Runs of workflows: order, conditions, skips, failures, outputs, inputs. */
import { expect, test } from 'vitest';
import { answerAll, journal, optionsOf, read, runText } from '../../../../test/yaml-kit.ts';
import { createBench, runToRest } from '../../../../test/engine-kit.ts';
import { compareStructures } from '../../../graph/compile/compare-graphs.ts';
import { readBundle } from '../index.ts';

const head = 'name: w\ndescription: d\n';

test('Y8 values go from inputs through blocks to outputs, and keep their types', async () => {
  const { result, outputs } = await runText(
    `${head}inputs:
  who: { type: str }
  n: { type: int, default: 2 }
blocks:
  - id: a
    type: Note
    inputs: { value: { list: ["\${n}", "x\${n}"], who: "\${inputs.who}" }, text: "\${n}" }
  - id: b
    type: Note
    inputs: { value: "\${a.value.list}", text: "\${blocks.a.outputs.text} \${metadata.workflow_name}" }
    depends_on: [a]
outputs:
  list: "\${b.value}"
  text: { value: "\${b.text}", type: str, description: what it says }
  both: "\${a.value.who}: \${b.value}"
  fixed: 5
  nested: { value: { a: ["\${n}"] } }
`,
    { who: 'me' },
  );
  expect(result.status).toBe('completed');
  expect(outputs).toEqual({ list: [2, 'x2'], text: '2 w', both: 'me: [2,"x2"]', fixed: 5, nested: { a: [2] } });
});

test('Y8 a false condition skips the block and all that need it, not what only comes after it', async () => {
  const { result, outputs } = await runText(`${head}blocks:
  - { id: a, type: Note, condition: false }
  - { id: b, type: Note, depends_on: [a] }
  - { id: c, type: Note, depends_on: [b] }
  - { id: d, type: Note, depends_on: [{ block: b, required: false }], inputs: { value: "\${blocks.b.status}" } }
  - { id: e, type: Note, condition: "\${blocks.a.skipped} and not \${blocks.d.failed}", depends_on: [d, { block: a, required: false }] }
outputs:
  c: "\${c.value}"
  d: "\${d.value}"
  e: "\${blocks.e.succeeded}"
`);
  expect(result.skipped.toSorted()).toEqual(['a', 'b', 'c']);
  expect(outputs).toEqual({ c: null, d: 'skipped', e: true });
});

test('Y8 a failed block fails the run once its siblings are over, and its resume tries it again', async () => {
  const text = `${head}blocks:
  - { id: a, type: Note, inputs: { fail: true } }
  - { id: b, type: Effect, inputs: { value: sibling } }
  - { id: c, type: Note, depends_on: [{ block: a, required: false }] }
outputs: { b: "\${b.value}" }
`;
  const { result, outputs } = await runText(text);
  expect(result).toMatchObject({ status: 'failed', failed: ['a'] });
  expect(result.error).toMatchObject({ code: 'NODE_FAILED', data: { node: 'a', code: 'NOTED' } });
  expect(Object.keys(result.state.outputs)).toEqual(['b']);
  expect(outputs).toBeUndefined();
});

test('Y8 continue_on_error passes a failure over: what needs the block is skipped, the run completes', async () => {
  const { result, outputs } = await runText(`${head}blocks:
  - { id: a, type: Note, inputs: { fail: true }, continue-on-error: true }
  - { id: b, type: Note, depends_on: [a] }
  - { id: c, type: Note, depends_on: [{ block: a, required: false }], inputs: { value: "\${blocks.a.error.message}" } }
outputs: { c: "\${c.value}", a: "\${a.value}", ok: "\${blocks.a.succeeded}" }
`);
  expect(result).toMatchObject({ status: 'completed', failed: ['a'], skipped: ['b'] });
  expect(outputs).toEqual({ c: 'it failed', a: null, ok: false });
});

test('Y8 reading a field of a block that did not complete fails with a way out; an output is null instead', async () => {
  const { result } = await runText(`${head}blocks:
  - { id: a, type: Note, condition: false }
  - { id: b, type: Note, depends_on: [{ block: a, required: false }], inputs: { value: "\${a.value}" } }
`);
  expect(result.error?.data).toMatchObject({ node: 'b', code: 'REFERENCE_ABSENT' });
  const text = await runText(
    `${head}blocks: [{ id: a, type: Note, condition: false }]\noutputs: { x: "a: \${a.value}" }\n`,
  );
  expect(text.outputs).toEqual({ x: null });
});

test('Y3 what a run is given is checked as a whole; text is taken for numbers and flags where it says exactly that', async () => {
  const { graph } = read(`${head}inputs:
  who: { type: str, description: a name }
  n: { type: int, minimum: 1 }
  ok: { type: bool, default: false }
  tags: { type: list, items: { type: string }, default: [] }
  maybe: { type: num, required: false }
  kind: { enum: [x, y], default: x }
blocks: [{ id: a, type: Note, inputs: { value: ["\${n}", "\${ok}", "\${maybe}", "\${kind}"] } }]
outputs: { v: "\${a.value}" }
`);
  const { engine } = createBench();
  await expect(engine.start(graph, { n: 0, tags: [1], whoo: 1, kind: 'z' })).rejects.toMatchObject({
    code: 'INPUT_INVALID',
    data: {
      reason:
        'who: is missing (str: a name); n: is below 1; tags: [0] is integer, not string; kind: is none of ["x","y"]; whoo: is no input; did you mean who?',
    },
  });
  const run = async (input: unknown): Promise<unknown> =>
    ((await runToRest(engine, graph, input)).state.outputs['outputs'] as { v: unknown }).v;
  expect(await run({ who: 'me', n: '5', ok: 'true', maybe: '1.5', kind: null })).toEqual([5, true, 1.5, 'x']);
  expect(await run({ who: 'me', n: 5, ok: null })).toEqual([5, false, null, 'x']);
  await expect(engine.start(graph, { who: 'me', n: '5x' })).rejects.toMatchObject({ code: 'INPUT_INVALID' });
  await expect(engine.start(graph, { who: 'me', n: '1.5' })).rejects.toMatchObject({ code: 'INPUT_INVALID' });
  await expect(engine.start(graph, [])).rejects.toMatchObject({ code: 'INPUT_INVALID' });
});

test('Y5 inputs that turn out wrong fail the block before it begins, so it may be tried again', async () => {
  const { result } = await runText(
    `${head}inputs: { n: {}, v: {} }
blocks: [{ id: a, type: Effect, inputs: { value: "\${v}", command: "x \${n}" } }, { id: b, type: Note, inputs: { size: "\${n}", text: "\${v}" } }]
`,
    { n: -1, v: 'ok' },
  );
  expect(result.error?.data).toMatchObject({ node: 'b', code: 'INPUT_INVALID' });
  expect(result.error?.message).toContain('`size` is below 0');
});

test('Y5 null counts as not given, a number as its text where text is wanted', async () => {
  const { outputs } = await runText(
    `${head}inputs: { x: { required: false }, n: { default: 7 } }
blocks: [{ id: a, type: Note, inputs: { text: "\${n}", size: "\${x}", fail: } }]
outputs: { t: "\${a.text}", s: "\${a.size}" }
`,
  );
  expect(outputs).toEqual({ t: '7', s: null });
});

test.each<[type: string, value: string, expected: unknown]>([
  ['num', '" 3.0 "', 3],
  ['bool', 'Yes', true],
  ['list', '"[1, 2]"', [1, 2]],
  ['dict', '\'{"a": 1}\'', { a: 1 }],
  ['str', '{ value: [1] }', '{"value":[1]}'],
  ['str', '"  x  "', 'x'],
  ['any', '"3"', '3'],
])('Y9 an output of type %s is made of %s', async (type, value, expected) => {
  const { outputs } = await runText(
    `${head}blocks: [{ id: a, type: Note }]\noutputs: { x: { value: ${value}, type: ${type} } }\n`,
  );
  expect(outputs).toEqual({ x: expected });
});

test('Y9 an output that cannot be of its type fails the run and says which', async () => {
  const { result } = await runText(
    `${head}blocks: [{ id: a, type: Note }]\noutputs: { x: { value: abc, type: num } }\n`,
  );
  expect(result).toMatchObject({ status: 'failed', failed: ['outputs'] });
  expect(result.error?.message).toMatch(/x.*is string, not number; it is declared num/);
});

test('Y8 effects follow the file: class, retries, doubts', () => {
  const { graph, blocks } = read(`${head}blocks:
  - { id: a, type: Effect }
  - { id: b, type: Effect, inputs: { value: external }, idempotent: true, timeout: 90s }
  - { id: c, type: Effect, effect: read, retry: 3 }
  - { id: d, type: Effect, on_in_doubt: retry, retry: { attempts: 2, backoff: fixed, delay: 500ms, max_delay: 1m, jitter: 0.5, on: [X] } }
  - { id: e, type: Effect, on_in_doubt: fail, timeout: 2 }
`);
  const nodes = ['a', 'b', 'c', 'd', 'e'].map((id) => graph.nodes[graph.nodeIndex.get(id) ?? 0]);
  expect(blocks.map(({ effect }) => effect)).toEqual(['write', 'external', 'read', 'write', 'write']);
  expect(nodes.map((node) => node?.idempotent)).toEqual([false, true, false, true, false]);
  expect(nodes.map((node) => node?.timeoutMs)).toEqual([undefined, 90_000, undefined, undefined, 2000]);
  expect(nodes[2]?.retry).toEqual({ attempts: 3 });
  expect(nodes[3]?.retry).toEqual({
    attempts: 2,
    backoff: 'fixed',
    delayMs: 500,
    delayMsMax: 60_000,
    jitter: 0.5,
    on: ['X'],
  });
  expect(nodes[4]?.onInDoubt).toBe('fail');
});

test('Y8 a retry of the file happens', async () => {
  journal.done.length = 0;
  const { result } = await runText(`${head}blocks: [{ id: a, type: Effect, inputs: { fail: true }, retry: 3 }]\n`);
  expect(result.status).toBe('failed');
  expect(journal.done.map(({ attempt }) => attempt)).toEqual([1, 2, 3]);
  expect(new Set(journal.done.map(({ key }) => key)).size).toBe(1);
});

test('W2 blocks that could start together ask at once, each is answered by itself', async () => {
  const first = await runText(`${head}blocks:
  - { id: a, type: Ask, inputs: { prompt: first } }
  - { id: b, type: Ask, inputs: { prompt: second } }
  - { id: c, type: Note, depends_on: [a], inputs: { value: "\${a.answer}" } }
  - { id: d, type: Ask, depends_on: [c, b], inputs: { prompt: "third after \${c.value} and \${b.answer}" } }
outputs: { d: "\${d.answer}" }
`);
  expect(first.result.waits.map(({ prompt }) => prompt)).toEqual(['first', 'second']);
  const second = await answerAll(first, (prompt) => (prompt === 'first' ? 'one' : undefined));
  expect(second.result).toMatchObject({ status: 'paused', state: { outputs: { c: { value: 'one' } } } });
  const third = await answerAll(second, () => 'two');
  expect(third.result.waits.map(({ prompt }) => prompt)).toEqual(['third after one and two']);
  const last = await answerAll(third, () => 3);
  expect([last.result.status, last.outputs]).toEqual(['completed', { d: 3 }]);
});

test('Y13 a run goes on from the text kept with it, and the same text gives the same graph', async () => {
  const text = `${head}blocks: [{ id: a, type: Ask, inputs: { prompt: p } }]\noutputs: { a: "\${a.answer}" }\n`;
  const workflow = read(text, { checkpoint: { max_checkpoint_size_mb: 2 } });
  const kept = readBundle(workflow.graph.text ?? '', optionsOf());
  expect(kept.graph.hash).toBe(workflow.graph.hash);
  expect(kept.graph.text).toBe(workflow.graph.text);
  expect(kept.graph.policies.checkpointBytes).toBe(2 * 1024 * 1024);
  const { engine } = createBench({
    findGraph: async (_, __, ___, readText) => readBundle((await readText()) ?? '', optionsOf()).graph,
  });
  const paused = await runToRest(engine, workflow.graph);
  await engine.answer(paused.runId, paused.waits[0]?.waitId ?? '', 'yes');
  const done = await (await engine.resume(paused.runId)).result();
  expect(done.state.outputs['outputs']).toEqual({ a: 'yes' });
});

test('Y2 C10 checkpoint settings and limits become policies of the graph', () => {
  const { graph, checkpoint } = read(
    `${head}checkpoint: { enabled: false, max_per_workflow: 3, max_checkpoint_size_mb: 0.5 }
limits: { concurrency: 2 }
blocks: [{ id: a, type: Note }]
`,
    { checkpoint: { ttl_seconds: 60, max_per_workflow: 9 } },
  );
  expect(graph.policies).toMatchObject({ checkpoint: 'none', checkpointBytes: 512 * 1024, concurrency: 2 });
  expect(checkpoint).toEqual({ enabled: false, max_per_workflow: 3, max_checkpoint_size_mb: 0.5, ttl_seconds: 60 });
});

test('G1 what a block says is part of the hash, what a file says for readers is not', () => {
  const hash = (text: string): string => read(text).graph.hash;
  const base = `${head}blocks: [{ id: a, type: Note, inputs: { value: 1 } }]\n`;
  expect(hash(base.replace('description: d', 'description: e'))).toBe(hash(base));
  expect(hash(base.replace('value: 1', 'value: 2'))).not.toBe(hash(base));
  expect(hash(base.replace('type: Note', 'type: Note, condition: true'))).not.toBe(hash(base));
  expect(hash(`${base}outputs: { x: 1 }\n`)).not.toBe(hash(base));
});

test('Y4 names that every object has are names like any other', async () => {
  const { outputs } = await runText(
    `${head}inputs: { toString: {}, valueOf: { required: false } }
blocks:
  - { id: constructor, type: Note, inputs: { value: "\${toString}" } }
  - { id: hasOwnProperty, type: Note, condition: false }
  - { id: b, type: Note, for_each: { constructor: 1 }, depends_on: [constructor], inputs: { value: "\${constructor.value} \${each.key}" } }
outputs: { a: "\${constructor.value}", b: '\${b["constructor"].value}', c: "\${blocks.hasOwnProperty.status}", d: "\${valueOf}" }
`,
    { toString: 'x' },
  );
  expect(outputs).toEqual({ a: 'x', b: 'x constructor', c: 'skipped', d: null });
});

test('Y8 metadata tells the workflow and the run', async () => {
  const { result, outputs } = await runText(
    `${head}blocks: [{ id: a, type: Note, inputs: { value: "\${metadata.run_id}" } }]\noutputs: { id: "\${a.value}", at: "\${metadata.started_at}" }\n`,
  );
  expect(outputs).toEqual({ id: result.runId, at: '2023-11-14T22:13:20.000Z' });
});

test('H3 a run that began when the node of the outputs led nowhere goes on', () => {
  const { graph } = read(`${head}blocks:\n  - { id: ask, type: Ask, inputs: { prompt: "?" } }\n`);
  const edges = graph.structure.edges.filter(({ from }) => from !== 'outputs');
  const waiting = { nodes: [{ id: 'ask', isOpen: true, hasIntent: false }] };
  expect(compareStructures({ ...graph.structure, edges }, graph, waiting)).toEqual({
    verdict: 'compatible',
    differences: [{ what: 'edge added', detail: 'outputs -> __end__', verdict: 'compatible' }],
  });
});
