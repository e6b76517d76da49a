/** A shop whose runs the studio's tests operate: orders, an agent that writes with a priced model, and a schedule. */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { ModelRequest, Models } from '../../../src/ports/model.ts';
import { createScriptedModels, type ScriptedTurn } from '../../../src/models/index.ts';

const usage = (inputTokens: number, outputTokens: number): Pick<ScriptedTurn, 'usage' | 'cost'> => ({
  usage: { inputTokens, outputTokens },
  cost: (inputTokens * 3 + outputTokens * 15) / 1_000_000,
});

/** The writer looks twice into the stock, of which the second call has read much, and then writes. */
function write({ messages }: ModelRequest): ScriptedTurn {
  const looked = messages.filter(({ role }) => role === 'tool').length;
  if (looked === 0)
    return { calls: [{ tool: 'stock', input: { item: 'kettle' } }], model: 'small-1', ...usage(1_200, 40) };
  if (looked === 1)
    return { calls: [{ tool: 'stock', input: { item: 'toaster' } }], model: 'large-2', ...usage(48_000, 900) };
  const text = 'We have seven kettles and no toaster. The next toasters arrive on Thursday.';
  return { text, pieces: text.split(/(?<= )/u), model: 'small-1', ...usage(2_000, 60) };
}

/** The keeper asks to run a command. */
function keep({ messages }: ModelRequest): ScriptedTurn {
  const answer = messages.find(({ role }) => role === 'tool');
  if (answer !== undefined) return { text: `Done. ${JSON.stringify(answer.content).slice(0, 400)}`, ...usage(300, 30) };
  const input = {
    command: 'tar czf /backup/orders.tgz \\\n  /var/orders',
    keepDays: 30,
    note: 'Weekly.\nBefore the release.',
  };
  return { calls: [{ tool: 'run_command', input }], ...usage(250, 20) };
}

/** The last word is said when this file is there. */
const gate = process.env['LAST_WORD_AT'];

async function untilAllowed(signal: AbortSignal): Promise<void> {
  if (gate === undefined) return;
  while (!existsSync(gate)) {
    signal.throwIfAborted();
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

const writer = createScriptedModels(write);
const keeper = createScriptedModels(keep);

/** Says its words one after the other. */
async function speak({ onDelta, ...request }: ModelRequest): ReturnType<Models['generate']> {
  const { signal } = request;
  const response = await (request.model === 'keeper' ? keeper : writer).generate(request);
  for (const part of response.content) {
    const words = part.type === 'text' ? part.text.split(/(?<= )/u) : [];
    for (const [index, text] of words.entries()) {
      if (request.model === 'writer' && index === words.length - 1) await untilAllowed(signal);
      onDelta?.({ type: 'text', text });
    }
  }
  return response;
}

// eslint-disable-next-line import/no-default-export -- what a configuration is
export default {
  models: { ...writer, generate: speak },
  modules: [join(import.meta.dirname, 'graphs.ts')],
};
