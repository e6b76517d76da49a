/** A crash case with every effect class: drafts are reviewed by a person until they are good, then published. */
import {
  AgentGraph,
  END,
  NodeFailure,
  START,
  functionNode,
  outcome,
  type Graph,
  type NodeContext,
  type NodeDraft,
} from '../../../src/index.ts';
import { runCrashScript } from '../../../src/testing/crash-kit/crash-processes.ts';
import type { CrashProcess } from '../../../src/testing/crash-kit/process-life.ts';
import type { EffectPromise } from '../../../src/testing/crash-kit/find-effect-faults.ts';
import { storeOfCase } from './open-case.ts';

type Keyed = Readonly<Record<string, unknown>>;

function effect({ oracle, sleep }: CrashProcess, promise: EffectPromise) {
  return async (ctx: NodeContext): Promise<Keyed> => {
    const output = { at: `${ctx.nodeId}#${ctx.visit}` };
    await sleep(1);
    oracle.apply({ key: ctx.idempotencyKey, place: output.at, promise, output });
    await sleep(1);
    return output;
  };
}

/** Fails once before it does anything, and says so. */
function flakyEffect(process: CrashProcess) {
  const work = effect(process, 'once');
  return async (ctx: NodeContext): Promise<Keyed> => {
    if (ctx.attempt === 1) throw new NodeFailure('the line is busy', { applied: 'no' });
    return work(ctx);
  };
}

function publishGraph(process: CrashProcess): Graph {
  const work = effect(process, 'once') as NodeDraft['implementation']['run'];
  return new AgentGraph({}, { id: 'publish', reducers: { 'scratch.log': 'append' }, checkpointPolicy: 'every_node' })
    .addNode('collect', () => outcome({ output: ['a', 'b'], scratch: { log: ['collected'] } }), { effectClass: 'read' })
    .addNode('draft', (ctx) => outcome({ output: `draft ${ctx.visit}`, scratch: { log: [`draft ${ctx.visit}`] } }))
    .addNode('notify', effect(process, 'repeatable'), { effectClass: 'external', idempotent: true })
    .addNode('review', (ctx) => ctx.ask({ prompt: `review ${ctx.visit}`, choices: ['good', 'again'] }), {
      effectClass: 'human',
    })
    .addNode('store', {
      ...functionNode(work, { effectClass: 'write' }),
      implementation: { run: work, reconcile: ({ idempotencyKey }) => process.oracle.reconcile(idempotencyKey) },
    })
    .addNode('publish', work, { effectClass: 'external' })
    .addNode('announce', flakyEffect(process), { effectClass: 'external', retry: { attempts: 3, delayMs: 1 } })
    .addEdge(START, 'collect')
    .addEdge('collect', 'draft')
    .addEdge('draft', 'notify')
    .addEdge('notify', 'review')
    .addConditionalEdge('review', ({ state }) => (state.outputs.review === 'good' ? ['store', 'publish'] : 'draft'), [
      'store',
      'publish',
      'draft',
    ])
    .addEdge('store', 'announce')
    .addEdge('publish', 'announce')
    .addEdge('announce', END)
    .toGraph();
}

await runCrashScript({
  ...storeOfCase,
  graph: publishGraph,
  input: { topic: 'stones' },
  answer: ({ prompt }) => (prompt === 'review 2' ? 'good' : 'again'),
});
