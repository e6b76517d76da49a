/** The same agent inside a node: killed on the way, it goes on from there. `cairn run examples/ai-sdk-agent/durable.ts` */
import { ToolLoopAgent } from 'ai';
import { durable } from '../../src/ai-sdk/index.ts';
import { AgentGraph, END, START, type NodeContext } from '../../src/index.ts';
import { findRefund, instructions, model, prompt, tools } from './support.ts';

export async function answer(ctx: NodeContext): Promise<string> {
  const d = durable(ctx, { name: 'support' });
  const how = { findOrder: { effect: 'read' }, refund: { reconcile: findRefund } } as const;
  const agent = new ToolLoopAgent({ model: d.model(model), instructions, tools: d.tools(tools, how), ...d.settings });
  const { text } = await agent.generate({ prompt, abortSignal: d.signal });
  return text;
}

export const graph = new AgentGraph({}, { id: 'support' })
  .addNode('agent', answer)
  .addEdge(START, 'agent')
  .addEdge('agent', END)
  .compile();
