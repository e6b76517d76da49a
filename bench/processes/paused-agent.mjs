/** An agent that has worked for 200 loops, with messages of 2 KiB, when it asks a person; over the built package. */
import { createHash } from 'node:crypto';
import { agent, tool } from '../../dist/plans/index.js';
import { AgentGraph, END, START } from '../../dist/index.js';
import { openSqliteStore } from '../../dist/stores/sqlite/index.js';

const loops = 200;
export const runId = 'resumed';

/** @param {string} salt */
function noise(salt) {
  let text = '';
  for (let index = 0; text.length < 2_000; index += 1)
    text += createHash('sha512').update(`${salt} ${index}`).digest('base64');
  return text.slice(0, 2_000);
}

const usage = { inputTokens: 1, outputTokens: 1 };
const input = { type: 'object' };

/** Says what follows from the conversation, so that each process goes on with the same script. */
const models = {
  generate: ({ model, messages }) => {
    const loop = messages.filter(({ role }) => role === 'assistant').length;
    const text = { type: 'text', text: loop > loops ? 'done' : noise(`said ${loop}`) };
    if (loop > loops) return Promise.resolve({ model, content: [text], finishReason: 'stop', usage });
    const call = { type: 'tool-call', id: `call-${loop}`, tool: loop === loops ? 'ask' : 'look', input: { loop } };
    return Promise.resolve({ model, content: [text, call], finishReason: 'tool-calls', usage });
  },
};

/** @param {string} folder */
export function openAgent(folder) {
  const store = openSqliteStore({ path: `${folder}/ours.db` });
  const tools = {
    look: tool({ description: 'Looks.', input, effect: 'read', run: ({ loop }) => noise(`given ${loop}`) }),
    ask: tool({
      description: 'Asks.',
      input,
      composed: true,
      run: (_, ctx) => ctx.ask({ prompt: 'Go on?', name: 'on' }),
    }),
  };
  const graph = new AgentGraph({}, { id: 'agent' })
    .addNode('agent', agent({ model: 'scripted:m', instructions: 'Work.', prompt: 'Go.', tools, maxLoops: loops + 2 }))
    .addEdge(START, 'agent')
    .addEdge('agent', END)
    .compile({ store, models });
  return { graph, store };
}
