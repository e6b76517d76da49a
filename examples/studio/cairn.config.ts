/** The configuration of the demo: a model that plays back what is written here, and the graph that the server knows. */
import { join } from 'node:path';
import { createScriptedModels } from '../../src/models/index.ts';
import type { ModelRequest, Models } from '../../src/ports/model.ts';

/** What the clerk of the chat says. */
function reply({ messages }: ModelRequest): string | { readonly calls: readonly { tool: string; input: unknown }[] } {
  const last = messages.at(-1);
  const text = JSON.stringify(last?.content ?? '');
  if (last?.role === 'tool')
    return /cancelled/u.test(text)
      ? 'Done: the order is cancelled, and the money is on its way back to you.'
      : /in transit/u.test(text)
        ? 'It is on its way, and should be with you on 1 December. If you no longer want it, I can cancel it.'
        : 'As you wish, I leave it as it is.';
  const order = /A-\d+/u.exec(text)?.[0] ?? 'A-1042';
  if (/cancel/iu.test(text)) return { calls: [{ tool: 'cancelOrder', input: { order } }] };
  if (/where|order/iu.test(text)) return { calls: [{ tool: 'lookUp', input: { order } }] };
  return 'I can look an order up, or cancel it. Which one is it about?';
}

/** Between two words of the chat. */
const pauseMs = Number(process.env['CHAT_PAUSE_MS'] ?? 40);

/** Says an answer a word at a time, as a model does. */
async function speak(models: Models, request: ModelRequest): ReturnType<Models['generate']> {
  const { onDelta, signal, ...silent } = request;
  const response = await models.generate({ ...silent, signal });
  for (const part of response.content)
    if (part.type === 'text')
      for (const text of part.text.split(/(?<= )/u)) {
        signal.throwIfAborted();
        onDelta?.({ type: 'text', text });
        await new Promise((resolve) => setTimeout(resolve, pauseMs));
      }
  return response;
}

function answer({ messages }: ModelRequest): {
  readonly text?: string;
  readonly reasoning?: string;
  readonly calls?: readonly { readonly tool: string; readonly input: unknown }[];
} {
  const text = JSON.stringify(messages);
  const [, order = 'A-1042'] = /order (A-\d+)/u.exec(text) ?? [];
  if (!messages.some(({ role }) => role === 'tool'))
    return { reasoning: 'First the order itself.', calls: [{ tool: 'orders', input: { order } }] };
  return {
    text: JSON.stringify({ advice: 'refund', because: `Delivered on 2 November; one refund in seven orders.` }),
  };
}

const adviser = createScriptedModels(answer);
const clerk = createScriptedModels(reply);

// eslint-disable-next-line import/no-default-export -- what a configuration is
export default {
  models: {
    ...adviser,
    generate: (request: ModelRequest) =>
      request.model === 'clerk' ? speak(clerk, request) : adviser.generate(request),
  },
  modules: [join(import.meta.dirname, 'graph.ts'), join(import.meta.dirname, 'chat.ts')],
  chat: { graph: 'support', node: 'clerk' },
};
