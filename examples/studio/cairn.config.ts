/** The configuration of the demo: a model that plays back what is written here, and the graph that the server knows. */
import { join } from 'node:path';
import { createScriptedModels } from '../../src/models/index.ts';
import type { ModelRequest } from '../../src/ports/model.ts';

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

// eslint-disable-next-line import/no-default-export -- what a configuration is
export default {
  models: createScriptedModels(answer),
  modules: [join(import.meta.dirname, 'graph.ts')],
};
