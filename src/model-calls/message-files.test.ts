import { expect, test } from 'vitest';
import type { FileAccess } from '../graph/contracts/access.ts';
import type { ModelMessage } from '../graph/contracts/model-messages.ts';
import { FileRef } from '../graph/file-ref.ts';
import { MessageFiles } from './model-access.ts';

const said = (text: string): ModelMessage => ({ role: 'user', content: [{ type: 'text', text }] });
const ref = new FileRef({ hash: 'a'.repeat(64), sizeBytes: 1, name: 'a.png', type: 'image/png' });
const shown = (): ModelMessage => ({ role: 'user', content: [{ type: 'image', data: ref }] });
const bytes = new Uint8Array([7]);
const files = { get: () => Promise.resolve(bytes) } as unknown as FileAccess;
const filled: ModelMessage = {
  role: 'user',
  content: [{ type: 'image', name: 'a.png', mediaType: 'image/png', data: bytes }],
};

test('L10 a file is filled in wherever it comes into a conversation: at its end, at its beginning, and in the place of another message', async () => {
  const stored = new MessageFiles();
  const [one, two, three] = [said('one'), said('two'), said('three')];
  const fill = (...messages: ModelMessage[]): Promise<readonly ModelMessage[]> => stored.withBytes(messages, files);
  expect(await fill(one, two)).toEqual([one, two]);
  expect(await fill(one, two, shown())).toEqual([one, two, filled]);
  expect(await fill(one, two, shown(), three)).toEqual([one, two, filled, three]);
  expect(await fill(one, shown(), three)).toEqual([one, filled, three]);
  expect(await fill(one, two, three)).toEqual([one, two, three]);
  expect(await fill(shown(), two, three)).toEqual([filled, two, three]);
  expect(await fill()).toEqual([]);
});

test('L10 a list that its owner lets grow is looked at anew from where it grew', async () => {
  const stored = new MessageFiles();
  const messages = [said('one')];
  expect(await stored.withBytes(messages, files)).toEqual(messages);
  messages.push(shown());
  expect(await stored.withBytes(messages, files)).toEqual([said('one'), filled]);
});
