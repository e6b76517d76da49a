/** What both agents are made of: a model, instructions, and tools as the AI SDK has them. */
import { tool, type LanguageModel } from 'ai';
import { z } from 'zod';
import { callOf } from '../../src/ai-sdk/index.ts';
import { addLine, readLines } from './outside.ts';
import { scriptedModel } from './scripted-model.ts';

// On a real provider: `= openai('gpt-5-mini')`, with `import { openai } from '@ai-sdk/openai'`, or any other of the SDK's.
export const model: Exclude<LanguageModel, string> = scriptedModel;

export const instructions = 'You are the support of a shop. Refund what a customer was charged in error.';
export const prompt = 'I was charged twice, for A-17 and for B-23. Please pay both back.';

const prices: Readonly<Record<string, number>> = { 'A-17': 40, 'B-23': 25 };

export const tools = {
  findOrder: tool({
    description: 'The amount of an order.',
    inputSchema: z.object({ order: z.string() }),
    execute: ({ order }) => ({ order, amount: prices[order] ?? 0 }),
  }),
  refund: tool({
    description: 'Pays an amount of an order back.',
    inputSchema: z.object({ order: z.string(), amount: z.number() }),
    execute: ({ order, amount }, options) => {
      // Without `durable` there is no key, and a bank that is asked twice pays twice.
      addLine('bank', `${callOf(options)?.idempotencyKey ?? 'no key'} ${order} ${amount}`);
      return { order, paid: amount };
    },
  }),
};

/** Did the bank pay under this key? Asked after a crash, before anything is paid again. */
export function findRefund({ idempotencyKey, args }: { readonly idempotencyKey: string; readonly args: unknown }): {
  readonly happened: boolean;
  readonly output: unknown;
} {
  const { order, amount } = args as { readonly order: string; readonly amount: number };
  const happened = readLines('bank').some((line) => line.startsWith(`${idempotencyKey} `));
  return { happened, output: { order, paid: amount } };
}
