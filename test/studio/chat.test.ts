/** Chats in the studio: streamed, with approvals in place, gone on with after a reload and after the server was killed. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Page } from 'playwright-core';
import { takeChunk, withDecision, type Chat, type ChatMessage } from '../../studio/data/chat.ts';
import { absent, faultsOf, StudioServer, token } from '../support/studio.ts';

const studio = new StudioServer();
let isThere = false;
beforeAll(async () => {
  isThere = await studio.open({ CHAT_PAUSE_MS: '150' });
}, 240_000);
afterAll(() => studio.close());

async function say(page: Page, text: string): Promise<void> {
  await page.getByLabel('Message to clerk').fill(text);
  await page.getByLabel('Message to clerk').press('Enter');
}

/** What the messages say, as they are read out. */
const spoken = (page: Page): Promise<readonly string[]> =>
  page.getByRole('list', { name: 'Conversation' }).getByRole('listitem').allTextContents();

test('P6 a chat is streamed, asks in place before it acts, and is the same after a reload in the middle and after a kill', async (context) => {
  if (!isThere) context.skip(absent);
  const { page, faults } = await studio.visit('/');
  await page.getByRole('link', { name: 'Chat', exact: true }).click();
  await page.getByRole('heading', { name: 'Say something to clerk' }).waitFor();
  await say(page, 'Hello');
  const conversation = page.getByRole('list', { name: 'Conversation' });
  // It is seen as it comes, before it is whole, and a reload in the middle goes on.
  await conversation.getByText('I can look').waitFor();
  expect((await spoken(page)).join(' ')).not.toContain('Which one is it about?');
  await page.getByRole('button', { name: 'Stop' }).waitFor();
  // A server that has too many streams just then is asked again.
  await page.route('**/stream', (route) => route.fulfill({ status: 429, json: { title: 'too many streams' } }), {
    times: 1,
  });
  await page.reload();
  await conversation.getByText('Which one is it about?').waitFor();
  await page.getByRole('button', { name: 'Send' }).waitFor();

  // A tool that needs the user's word is asked about where it is called; the question outlives the server.
  await say(page, 'Cancel A-17');
  const approval = conversation.getByRole('group', { name: 'Approval of cancelOrder' });
  await approval.getByText('"A-17"').waitFor();
  await approval.getByRole('button', { name: 'Approve' }).waitFor();
  const port = new URL(studio.url).port;
  await studio.kill();
  await studio.serve(port, { CHAT_PAUSE_MS: '150' });
  await page.reload();
  await approval.getByRole('button', { name: 'Approve' }).click();
  await conversation.getByText('Done: the order').waitFor();
  // Killed in the middle of an answer, it is made anew, once.
  await studio.kill();
  await studio.serve(port, { CHAT_PAUSE_MS: '1' });
  await conversation.getByText('on its way back to you.').waitFor({ timeout: 60_000 });
  expect((await spoken(page)).filter((text) => text.includes('Done: the order'))).toHaveLength(1);

  await say(page, 'Cancel A-18');
  await approval.getByRole('button', { name: 'Refuse' }).click();
  await conversation.getByText('I leave it as it is').waitFor();
  await page.getByRole('button', { name: 'Send' }).waitFor();
  const live = await spoken(page);
  await page.reload();
  await conversation.getByText('I leave it as it is').waitFor();
  expect(await spoken(page)).toEqual(live);
  expect(await faultsOf(page)).toEqual([]);
  // It is a run like any other.
  await page.getByRole('link', { name: 'Its run' }).click();
  await page.getByRole('heading', { name: /^cairn:chat:/u }).waitFor();
  expect(faults).toEqual([]);
  await page.context().close();
}, 120_000);

test('P6 what a page makes of the stream of a chat is what a page reads that is loaded cold', async (context) => {
  if (!isThere) context.skip(absent);
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' };
  let chat: Chat = { messages: [] };
  const speak = async (messages: readonly ChatMessage[]): Promise<void> => {
    const isWhole = messages.at(-1)?.role === 'user';
    if (isWhole) chat = { ...chat, messages: [...chat.messages, ...messages] };
    const body = JSON.stringify({ messages });
    const response = await fetch(`${studio.url}/chat/folded`, { method: 'POST', headers, body });
    for (const line of (await response.text()).split('\n\n')) {
      const data = line.replace(/^data: /u, '');
      if (data !== '' && data !== '[DONE]' && !data.startsWith(':'))
        chat = takeChunk(chat, JSON.parse(data) as Parameters<typeof takeChunk>[1], isWhole);
    }
  };
  const user = (id: string, text: string): ChatMessage => ({ id, role: 'user', parts: [{ type: 'text', text }] });
  const decided = (approved: boolean): ChatMessage => {
    const last = chat.messages.at(-1) as ChatMessage;
    const asked = last.parts.find(({ state }) => state === 'approval-requested');
    const next = withDecision(last, asked?.toolCallId ?? '', approved);
    chat = { ...chat, messages: [...chat.messages.slice(0, -1), next] };
    return next;
  };
  await speak([user('one', 'Where is order A-3?')]);
  await speak([user('two', 'Cancel A-3')]);
  await speak([decided(true)]);
  await speak([user('three', 'Cancel A-4')]);
  await speak([decided(false)]);
  const cold = (await (await fetch(`${studio.url}/chat/folded`, { headers })).json()) as Chat;
  // Ids of what was said first, and of pieces of texts, are those of who tells them.
  const plain = ({ messages }: Chat): unknown =>
    messages.map(({ role, parts }) => [
      role,
      parts.map(({ id: _id, ...part }) => ({ ...part, state: part.toolCallId && part.state })),
    ]);
  expect(plain(chat)).toEqual(plain(cold));
  expect(chat.messages).toHaveLength(6);
}, 240_000);
