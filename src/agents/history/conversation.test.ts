/** What is sent of a conversation that has grown long. */
import { expect, test } from 'vitest';
import type { ModelMessage } from '../../graph/contracts/model-messages.ts';
import { Conversation, type HistoryLimit } from './conversation.ts';
import { tokensOf } from '../../model-calls/message-tokens.ts';

const system: ModelMessage = { role: 'system', content: 'Work.' };
const result: ModelMessage = { role: 'tool', content: [{ type: 'tool-result', id: 'c', tool: 't', output: 1 }] };

/** Messages of so many tokens each, after the system message. A `!` is a result of the one before. */
function talk(words: string, limit: HistoryLimit): Conversation {
  const conversation = new Conversation([system], [], limit);
  for (const word of words.split(' '))
    if (word === '!') conversation.add(result, true);
    else conversation.add({ role: 'user', content: word });
  return conversation;
}

const sent = (conversation: Conversation): readonly unknown[] => {
  const { messages, omitted: left } = conversation.take();
  return [messages.map(({ content }) => (typeof content === 'string' ? content : '!')).join(' '), left];
};

test('A8 messagesMax keeps the system messages, and sends no result without its call', () => {
  expect(sent(talk('a b ! c', { messagesMax: 3 }))).toEqual(['Work. b ! c', 1]);
  expect(sent(talk('a b ! c', { messagesMax: 2 }))).toEqual(['Work. c', 3]);
  // The last call stays with its results, or nothing but system messages would be sent.
  expect(sent(talk('a b ! !', { messagesMax: 1 }))).toEqual(['Work. b ! !', 1]);
});

test('A8 tokensMax is held against what the provider counted, and a quarter of the bytes that came since', () => {
  const conversation = talk('a b ! c', { tokensMax: 1_000 });
  expect(sent(conversation)).toEqual(['Work. a b ! c', 0]);
  conversation.report(990);
  conversation.add({ role: 'assistant', content: 'x'.repeat(40) });
  expect([conversation.tokens(), conversation.isLong]).toEqual([1_000, false]);
  conversation.add({ role: 'user', content: '1234' });
  expect([conversation.tokens(), conversation.isLong]).toEqual([1_001, true]);
  // One message of one token goes: what stays is what the provider counted, less its bytes.
  expect(sent(conversation)).toEqual([`Work. b ! c ${'x'.repeat(40)} 1234`, 1]);
  expect(conversation.tokens()).toBe(1_000);
  conversation.report(500);
  conversation.add({ role: 'user', content: 'y'.repeat(2_000) });
  expect([conversation.tokens(), sent(conversation)[1]]).toEqual([1_000, 1]);
});

test('A8 a count of tokens of one’s own is taken in place of that', () => {
  const countTokens = (messages: readonly ModelMessage[]): number => messages.length * 10;
  const conversation = talk('a b c d', { tokensMax: 30, countTokens });
  expect(sent(conversation)).toEqual(['Work. c d', 2]);
  conversation.report(1_000_000);
  expect(conversation.tokens()).toBe(30);
});

test('A8 the last message is sent however long it is', () => {
  expect(sent(talk(`a ${'b'.repeat(400)}`, { tokensMax: 10 }))).toEqual([`Work. ${'b'.repeat(400)}`, 1]);
});

test('A8 bytes of images count as an image, not as a text', () => {
  const data = new Uint8Array(1_000_000);
  expect(tokensOf({ role: 'user', content: [{ type: 'image', data }] })).toBe(1_600);
});

test('A8 A11 static messages are sent however long it is, and a summary stands behind them', () => {
  const pinned = (content: string): ModelMessage => ({ role: 'user', content, static: true });
  const of = (limit: HistoryLimit): Conversation => {
    const conversation = new Conversation([system], [{ role: 'user', content: 'a' }, pinned('rule')], limit);
    for (const word of ['b', 'c', 'd']) conversation.add({ role: 'user', content: word });
    return conversation;
  };
  expect(sent(of({ messagesMax: 2 }))).toEqual(['Work. rule c d', 2]);
  expect(sent(of({ tokensMax: 1 }))).toEqual(['Work. rule d', 3]);
  const conversation = of({});
  const { messages, count } = conversation.older(1);
  expect([messages.map(({ content }) => content), count]).toEqual([['a', 'b', 'c'], 4]);
  conversation.replace(count, { role: 'user', content: 'short' });
  expect(sent(conversation)).toEqual(['Work. rule short d', 0]);
  conversation.add({ role: 'assistant', content: 'e' });
  conversation.replace(conversation.older(0).count, { role: 'user', content: 'shorter' });
  expect(sent(conversation)).toEqual(['Work. rule shorter', 0]);
});
