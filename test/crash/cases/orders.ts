/** A crash case of what is nested: a map with effects, a child run, a composed node with steps, a timer and a signal. */
import { AgentGraph, END, START, outcome, type Graph, type NodeContext } from '../../../src/index.ts';
import { stepsOutput } from '../../../src/graph/contracts/node-contract.ts';
import { runCrashScript } from '../../../src/testing/crash-kit/crash-processes.ts';
import type { CrashProcess } from '../../../src/testing/crash-kit/process-life.ts';
import { storeOfCase } from './open-case.ts';

const items = ['one', 'two', 'three', 'four'];

function ship(process: CrashProcess, ctx: NodeContext, name: string): Promise<string> {
  return ctx.step(name, { effect: 'external', input: name }, async ({ idempotencyKey }) => {
    await process.sleep(1);
    const output = `shipped ${name}`;
    process.oracle.apply({ key: idempotencyKey, place: `${ctx.nodePath.join('/')} ${name}`, promise: 'once', output });
    return output;
  });
}

function invoiceGraph(process: CrashProcess): Graph {
  return new AgentGraph({}, { id: 'invoice', checkpointPolicy: 'every_node' })
    .addNode(
      'write',
      (ctx) => {
        process.oracle.apply({
          key: ctx.idempotencyKey,
          place: ctx.nodePath.join('/'),
          promise: 'once',
          output: 'written',
        });
        return 'written';
      },
      { effectClass: 'write' },
    )
    .addEdge(START, 'write')
    .addEdge('write', END)
    .toGraph();
}

function ordersGraph(process: CrashProcess): Graph {
  const invoice = invoiceGraph(process);
  return new AgentGraph({}, { id: 'orders', reducers: { 'scratch.done': 'append' }, checkpointPolicy: 'every_node' })
    .addNode(
      'ship',
      async (ctx) => {
        await Promise.all(items.map((item) => ship(process, ctx, item)));
        return outcome({ output: stepsOutput, scratch: { done: ['ship'] } });
      },
      { effectClass: 'read' },
    )
    .addNode('bill', async (ctx) => {
      const { status } = await ctx.run(invoice, {});
      return outcome({ output: status, scratch: { done: ['bill'] } });
    })
    .addNode('settle', async (ctx) => {
      const first = await ship(process, ctx, 'receipt');
      await ctx.sleepUntil(ctx.now() + 5);
      const paid = await ctx.receive('paid');
      return [first, paid];
    })
    .addEdge(START, 'ship')
    .addEdge(START, 'bill')
    .addEdge('ship', 'settle')
    .addEdge('bill', 'settle')
    .addEdge('settle', END)
    .toGraph();
}

await runCrashScript({ ...storeOfCase, graph: ordersGraph, input: {}, signal: (name) => `${name} in full` });
