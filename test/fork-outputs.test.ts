/** Outcomes that a fork sets are those that the node could have given (H2.1). */
import { expect, test } from 'vitest';
import { createDefaultEngine } from '../src/app/default-engine.ts';
import { CairnError } from '../src/errors.ts';
import type { Engine } from '../src/engine/api.ts';
import type { Graph } from '../src/graph/graph.ts';
import { AgentGraph, END, functionNode, humanNode, outcome, START } from '../src/index.ts';
import type { HumanNodeConfig } from '../src/nodes/human-node.ts';
import { digraph, runDot } from './dot-kit.ts';

function graphOf(config: HumanNodeConfig): Graph {
  return new AgentGraph({}, { id: 'g' })
    .addNode(
      'look',
      functionNode(() => ['pay', 'stop']),
    )
    .addNode('ask', humanNode(config))
    .addNode(
      'use',
      functionNode(({ state }) => state.outputs['ask']),
    )
    .addEdge(START, 'look')
    .addEdge('look', 'ask')
    .addEdge('ask', 'use')
    .addEdge('use', END)
    .compile().graph;
}

async function paused(
  graph: Graph,
  knows = true,
): Promise<{ readonly engine: Engine; readonly runId: string; readonly seq: number }> {
  const engine = createDefaultEngine(knows ? { findGraph: async () => graph } : {});
  const { runId, seq } = await (await engine.start(graph, {})).result();
  return { engine, runId, seq };
}

type Patches = { readonly set: readonly { readonly path: readonly string[]; readonly value: unknown }[] };

const setting = (value: unknown): Patches => ({ set: [{ path: ['outputs', 'ask'], value }] });

test.each<[string, HumanNodeConfig, unknown, unknown]>([
  ['choices', { prompt: '?', choices: ['pay', 'stop'] }, 'refund', 'pay'],
  ['choices with values', { prompt: '?', choices: [{ value: { n: 1 }, label: 'one' }] }, 'one', { n: 1 }],
  [
    'choices computed',
    { prompt: '?', choices: ({ state: { outputs } }) => outputs['look'] as string[] },
    'refund',
    'stop',
  ],
  ['a schema', { prompt: '?', schema: { type: 'integer', minimum: 1 } }, 0, 1],
  ['a default answer', { prompt: '?', choices: ['a'], timeoutMs: 1e9, defaultAnswer: 'late' }, 'b', 'late'],
])(
  'H2.1 an answer set for a question with %s is one that a person could give: in a fork and a preview',
  async (_, config, wrong, right) => {
    const graph = graphOf(config);
    const { engine, runId, seq } = await paused(graph);
    const invalid = { code: 'OUTCOME_INVALID', data: { node: 'ask' } };
    await expect(engine.fork({ runId, seq }, setting(wrong))).rejects.toMatchObject(invalid);
    await expect(engine.preview({ runId, seq }, setting(wrong))).rejects.toMatchObject(invalid);
    const fork = await engine.fork({ runId, seq }, setting(right));
    const done = await (await engine.resume(fork.runId)).result();
    expect([done.status, done.state.outputs['use']]).toEqual(['completed', right]);
  },
);

test('H2.1 a fork from before its choices can be told is made, and fails when the outcome is to be taken; so does one whose graph was not known', async () => {
  const graph = graphOf({
    prompt: '?',
    choices: ({ state: { outputs } }) => (outputs['look'] as string[]).map((word) => word),
  });
  const { engine, runId, seq } = await paused(graph);
  const early = await engine.fork({ runId, seq: 0 }, setting('refund'));
  const blind = await paused(graph, false);
  const unknown = await blind.engine.fork({ runId: blind.runId, seq: blind.seq }, setting('refund'));
  for (const [at, { runId: id }] of [
    [engine, early],
    [blind.engine, unknown],
  ] as const) {
    for (const isAgain of [false, true]) {
      const { status, error, state } = await (
        await at.resume(id, { graph, ...(isAgain && { retryFailed: true }) })
      ).result();
      expect([status, error?.code ?? state.failures['ask']]).toMatchObject(['failed', expect.anything()]);
      expect(state.failures['ask']).toMatchObject({ code: 'OUTCOME_INVALID' });
      expect(state.outputs['use']).toBeUndefined();
    }
  }
  expect(seq).toBeGreaterThan(0);
});

test('H2.1 an answer is checked against choices that are set with it, in the fork as when it is resumed', async () => {
  const graph = graphOf({ prompt: '?', choices: ({ state: { outputs } }) => outputs['look'] as string[] });
  const { engine, runId, seq } = await paused(graph);
  const both = (answer: string): Patches => ({
    set: [{ path: ['outputs', 'look'], value: ['pay', 'refund'] }, ...setting(answer).set],
  });
  await expect(engine.fork({ runId, seq }, both('stop'))).rejects.toMatchObject({ code: 'OUTCOME_INVALID' });
  const fork = await engine.fork({ runId, seq }, both('refund'));
  const done = await (await engine.resume(fork.runId)).result();
  expect([done.status, done.state.outputs['use']]).toEqual(['completed', 'refund']);
});

test('H2.1 an answer to a question that was asked before other nodes wrote is checked against the state of the fork', async () => {
  const graph = new AgentGraph({}, { id: 'g' })
    .addNode('look', () => outcome({ scratch: { choices: ['pay', 'stop'] } }))
    .addNode('ask', humanNode({ prompt: '?', choices: ({ state: { scratch } }) => scratch['choices'] as string[] }))
    .addNode('slow', () => outcome({ scratch: { slow: 1 } }), { effectClass: 'write' })
    .addNode('slower', () => outcome({ scratch: { slower: 1 } }), { effectClass: 'write' })
    .addEdge(START, 'look')
    .addEdge('look', 'ask')
    .addEdge('look', 'slow')
    .addEdge('slow', 'slower')
    .addEdge('slower', END)
    .addEdge('ask', END)
    .compile().graph;
  const { engine, runId, seq } = await paused(graph);
  const patch = { path: ['scratch', 'choices'], value: ['pay', 'refund'] };
  const both = (answer: string): Patches => ({
    set: [patch, ...setting(answer).set],
  });
  await expect(engine.fork({ runId, seq }, both('stop'))).rejects.toMatchObject({ code: 'OUTCOME_INVALID' });
  const fork = await engine.fork({ runId, seq }, both('refund'));
  const done = await (await engine.resume(fork.runId)).result();
  expect([done.status, done.state.outputs['ask']]).toEqual(['completed', 'refund']);
});

const yes = 'outcome=success, preferred_label=Yes';
test.each<[string, string, string, string]>([
  ['no mapping', 'a', '7', 'a mapping with an outcome'],
  ['an outcome that there is not', 'a', 'outcome=great', 'none of success'],
  ['a jump to no retry target', 'a', 'outcome=fail, jump=exit', 'none of its retry targets'],
  ['what a stage gives', 'a', 'outcome=success, notes=fine', 'it fits'],
  ['a choice that there is not', 'q', 'outcome=success, preferred_label=Banana', 'none of [Y] Yes, [N] No'],
  ['no choice', 'q', 'outcome=success', 'none of [Y] Yes, [N] No'],
  ['a choice that is not open', 'q', 'outcome=success, preferred_label=Never', 'none of [Y] Yes, [N] No'],
  ['a choice', 'q', yes, 'it fits'],
  ['that nobody answered', 'q', 'outcome=fail', 'it fits'],
  ['neither yes nor no', 'sure', 'outcome=success, preferred_label=Maybe', 'none of Yes, No'],
  ['a yes', 'sure', yes, 'it fits'],
  ['any text for a question for one', 'say', 'outcome=success', 'it fits'],
])('H2.1 an outcome set for a stage of a pipeline is one that it could give: %s', async (_, stage, parts, fault) => {
  const { engine, result } = await runDot(
    digraph(`a [prompt=x]
q [shape=hexagon]
sure [shape=hexagon, human.type=yes_no]
say [shape=hexagon, human.type=freeform]
start -> a -> q
q -> sure [label="[Y] Yes"]
q -> exit [label="[N] No"]
q -> exit [label=Never, condition="context.x=1"]
sure -> say [label=Yes]
sure -> exit [label=No]
say -> exit`),
  );
  const { runId, seq } = result;
  const value = parts === '7' ? 7 : Object.fromEntries(parts.split(', ').map((part) => part.split('=')));
  const reason = await engine.fork({ runId, seq }, { set: [{ path: ['outputs', stage], value }] }).then(
    () => 'it fits',
    (error: unknown) => (CairnError.is(error, 'OUTCOME_INVALID') ? String(error.data['reason']) : String(error)),
  );
  expect(reason).toContain(fault);
});
