/** A model that needs no account: it says what a support agent would, and each call of it is on the bill. */
import type { LanguageModel } from 'ai';
import { addLine } from './outside.ts';

type Model = Extract<LanguageModel, { readonly specificationVersion: 'v4' }>;
type Result = Awaited<ReturnType<Model['doGenerate']>>;
type Content = Result['content'][number];

const call = (toolCallId: string, toolName: string, input: object): Content => ({
  type: 'tool-call',
  toolCallId,
  toolName,
  input: JSON.stringify(input),
});

/** What it answers at each turn of the conversation. */
const turns: readonly (readonly Content[])[] = [
  [
    { type: 'text', text: 'Let me look at both orders.' },
    call('a', 'findOrder', { order: 'A-17' }),
    call('b', 'findOrder', { order: 'B-23' }),
  ],
  [call('c', 'refund', { order: 'A-17', amount: 40 })],
  [call('d', 'refund', { order: 'B-23', amount: 25 })],
  [{ type: 'text', text: 'Both orders are refunded, 65 in all.' }],
];

const usage: Result['usage'] = {
  inputTokens: { total: 100, noCache: 100, cacheRead: undefined, cacheWrite: undefined },
  outputTokens: { total: 20, text: 20, reasoning: undefined },
};

export const scriptedModel: Model = {
  specificationVersion: 'v4',
  provider: 'scripted',
  modelId: 'support',
  supportedUrls: {},
  async doGenerate({ prompt }) {
    const turn = prompt.filter(({ role }) => role === 'assistant').length;
    addLine('bill', `turn ${turn}`);
    const content = [...(turns[turn] ?? [])];
    const unified = content.some(({ type }) => type === 'tool-call') ? 'tool-calls' : 'stop';
    return { content, finishReason: { unified, raw: unified }, usage, warnings: [] };
  },
  doStream: () => Promise.reject(new Error('this model answers whole')),
};
