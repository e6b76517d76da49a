/**
 * What nearly every program does with the library: `node usual-runs.mjs DIST FOLDER start|resume`. A run of a few nodes and an agent with a
 * tool are started and stop at a question, or are answered and run to their end. The build looks at which functions are called.
 */
import { pathToFileURL } from 'node:url';

const [dist, folder, part] = process.argv.slice(2);
/** @param {string} door */
const load = (door) => import(pathToFileURL(`${dist}/${door}.js`).href);
const { AgentGraph, END, START, humanNode, outcome } = await load('index');
const { openSqliteStore } = await load('stores/sqlite/index');

const store = openSqliteStore({ path: `${folder}/runs.db` });
const steps = new AgentGraph({}, { id: 'steps' })
  .addNode('count', ({ visit }) => outcome({ scratch: { count: visit } }))
  .addNode('pay', (ctx) => ctx.step('pay', { effect: 'external' }, async () => 'paid'))
  .addNode('ask', humanNode({ prompt: 'Go on?', choices: ['yes', 'no'] }))
  .addNode('end', ({ state }) => state.scratch.count)
  .addEdge(START, 'count')
  .addEdge('count', 'count', { when: ({ state }) => state.scratch.count < 3 })
  .addEdge('count', 'pay', { when: ({ state }) => state.scratch.count >= 3 })
  .addEdge('pay', 'ask')
  .addEdge('ask', 'end')
  .addEdge('end', END)
  .compile({ store });

const { agent, tool } = await load('plans/index');
const usage = { inputTokens: 1, outputTokens: 1 };
const models = {
  generate: async ({ model, messages }) => {
    const loop = messages.filter(({ role }) => role === 'assistant').length;
    const text = { type: 'text', text: `loop ${loop}` };
    if (loop === 3) return { model, content: [text], finishReason: 'stop', usage };
    const call = { type: 'tool-call', id: `call-${loop}`, tool: loop === 2 ? 'ask' : 'look', input: {} };
    return { model, content: [text, call], finishReason: 'tool-calls', usage };
  },
};
const input = { type: 'object' };
const tools = {
  look: tool({ description: 'Looks.', input, effect: 'read', run: () => 'seen' }),
  ask: tool({
    description: 'Asks.',
    input,
    composed: true,
    run: (_, ctx) => ctx.ask({ prompt: 'Go on?', name: 'on' }),
  }),
};
const talks = new AgentGraph({}, { id: 'talks' })
  .addNode('agent', agent({ model: 'scripted:m', instructions: 'Work.', prompt: 'Go.', tools, maxLoops: 4 }))
  .addEdge(START, 'agent')
  .addEdge('agent', END)
  .compile({ store, models });

for (const [graph, runId, question] of [
  [steps, 'steps', 'ask'],
  [talks, 'talks', 'agent'],
]) {
  const { status, error } =
    part === 'start'
      ? await graph.invoke({}, { runId })
      : await graph.resume(runId, { answers: { [question]: 'yes' } });
  if (status !== (part === 'start' ? 'paused' : 'completed'))
    throw new Error(`${runId} is ${status}`, { cause: error });
  await graph.close();
}
await store.close();
