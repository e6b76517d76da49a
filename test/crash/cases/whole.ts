/** A run of everything that a store sees of one: a map with effects, a person, an agent with tools, a child run, a timer, a signal, and blobs. */
import { agent } from '../../../src/agents/agent.ts';
import { tool } from '../../../src/agents/tools/tool-box.ts';
import { AgentGraph, END, functionNode, mapNode, outcome, START, type Graph } from '../../../src/index.ts';
import { createScriptedModels, type ScriptedAnswer } from '../../../src/models/scripted.ts';
import type { CrashCase, CrashKitOptions, CrashProcess } from '../../../src/testing/crash-kit/process-life.ts';

/** What is larger leaves the row. */
export const wholeLimits: NonNullable<CrashKitOptions['limits']> = { inlineBytes: 300 };

const large = (text: string): string => text.repeat(1_000);

/** An effect of a node, which can be asked about at the receiver or is asked about by a person. */
function send(process: CrashProcess, place: string, isAsked: boolean) {
  const run = async ({ idempotencyKey }: { readonly idempotencyKey: string }): Promise<unknown> => {
    await process.sleep(1);
    const output = { sent: place, receipt: large(place) };
    process.oracle.apply({ key: idempotencyKey, place, promise: 'once', output });
    await process.sleep(1);
    return output;
  };
  const reconcile = ({ idempotencyKey }: { readonly idempotencyKey: string }): unknown =>
    process.oracle.reconcile(idempotencyKey);
  return functionNode(run, { effectClass: 'external', ...(isAsked ? {} : { reconcile: reconcile as never }) });
}

function invoice(process: CrashProcess): Graph {
  return new AgentGraph({}, { id: 'invoice', checkpointPolicy: 'every_node' })
    .addNode('write', send(process, 'invoice', false))
    .addNode('check', ({ state }) => Object.keys(state.outputs).length)
    .addEdge(START, 'write')
    .addEdge('write', 'check')
    .addEdge('check', END)
    .toGraph();
}

function whole(process: CrashProcess): Graph {
  const order = tool({
    description: 'Orders a part.',
    input: { type: 'object', properties: { part: { type: 'string' } }, required: ['part'] },
    effect: 'external',
    approval: 'always',
    run: (args: unknown, { idempotencyKey }) => {
      const { part } = args as { readonly part: string };
      process.oracle.apply({ key: idempotencyKey, place: `order ${part}`, promise: 'once', output: part });
      return part;
    },
  });
  return new AgentGraph({}, { id: 'whole', reducers: { 'scratch.log': 'append' }, checkpointPolicy: 'every_node' })
    .addNode('collect', () => outcome({ output: ['a', 'b', 'c'], scratch: { log: [large('collected')] } }))
    .addNode(
      'each',
      mapNode({
        over: ({ state }) => state.outputs['collect'] as string[],
        each: ({ item }) => large(`item ${item}`),
        effectClass: 'external',
      }),
    )
    .addNode('approve', (ctx) => ctx.ask({ prompt: 'Send it?', choices: ['yes', 'no'] }), { effectClass: 'human' })
    .addNode('order', agent({ model: 'main', prompt: 'Order two parts.', tools: { order }, maxLoops: 5 }))
    .addNode('bill', async (ctx) => {
      const { status } = await ctx.run(invoice(process), { text: large('invoice') });
      await ctx.sleepUntil(ctx.now() + 5);
      return [status, await ctx.receive('paid')];
    })
    .addNode('send', send(process, 'send', true))
    .addEdge(START, 'collect')
    .addEdge('collect', 'each')
    .addEdge('each', 'approve')
    .addEdge('approve', 'order')
    .addEdge('approve', 'bill')
    .addEdge('order', 'send')
    .addEdge('bill', 'send')
    .addEdge('send', END)
    .toGraph();
}

/** What the model says, turn by turn. Ids that are not given would depend on the number of calls in a process. */
const turns: readonly ScriptedAnswer[] = [
  {
    calls: [
      { id: 'wheel', tool: 'order', input: { part: 'wheel' } },
      { id: 'axle', tool: 'order', input: { part: 'axle' } },
    ],
  },
  { calls: [{ id: 'nut', tool: 'order', input: { part: 'nut' } }] },
  large('ordered '),
];

export const wholeCase: CrashCase = {
  graph: whole,
  input: { topic: large('stones') },
  // By what was said before, and not by the number of calls: a call whose answer was lost is made again.
  models: () =>
    createScriptedModels(({ messages }) => turns[messages.filter(({ role }) => role === 'assistant').length] ?? ''),
  answer: ({ name }) => (name.startsWith('approve ') ? 'approve' : 'yes'),
  signal: (name) => `${name} in full`,
};
