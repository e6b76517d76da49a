/** A question whose stored row was changed, and the store's identity, as they are met at the doors (C6, X1). */
import { DatabaseSync } from 'node:sqlite';
import { join } from 'node:path';
import { expect, test, vi } from 'vitest';
import { openFolder } from '../cli/cairn.ts';
import { createWorkspace, serveHere } from '../mcp/mcp-kit.ts';

// Processes of a loaded machine start slowly.
vi.setConfig({ testTimeout: 120_000 });

const text = `name: pay
blocks:
  - { id: ask, type: ConfirmOperation, inputs: { message: "Pay 1000 to Alice?", operation: pay } }
  - { id: done, type: EchoBlock, depends_on: [ask], inputs: { message: paid } }
`;

/** Another sum in the stored question. */
function tamper(path: string): void {
  const db = new DatabaseSync(path);
  const { changes } = db
    .prepare("update waits set body = cast(replace(cast(body as text), '1000', '9000') as blob)")
    .run();
  expect(changes).toBe(1);
  db.close();
}

test('C6 the command line shows a damaged question by its id, without its text, and takes no answer for it', () => {
  const folder = openFolder();
  folder.write('pay.yaml', text);
  expect(folder.cairn('run', 'pay.yaml', '--run-id', 'r').out).toMatch(/^paused r@/);
  const [shown] = (folder.json('inbox') as { waits: readonly { waitId: string }[] }).waits;
  const waitId = shown?.waitId ?? '';
  tamper(join(folder.path, '.cairn', 'cairn.db'));
  const inbox = folder.cairn('inbox').out;
  expect(inbox).toContain(waitId);
  expect(inbox).toMatch(/damaged/);
  expect(inbox).not.toMatch(/Alice|000/);
  const refused = folder.cairn('answer', 'r', waitId, 'yes');
  expect([refused.code, refused.err]).toEqual([5, expect.stringContaining('[STORE_CORRUPT]')]);
  expect(folder.cairn('log', 'r').out).not.toMatch(/answer/);
});

test('C6 the inbox over MCP shows a damaged question by its id, without its text, and no answer is taken for it', async () => {
  const workspace = createWorkspace({ pay: text });
  const tools = await (await serveHere(workspace)).connect();
  const paused = await tools.call('execute_workflow', { workflow: 'pay', run_id: 'r' });
  expect(paused).toMatchObject({ status: 'paused' });
  tamper(join(workspace.folder, 'runs.db'));
  const { waits: questions } = await tools.call('list_questions', {});
  expect(questions).toEqual([expect.objectContaining({ is_damaged: true, prompt: '', block: '' })]);
  expect(JSON.stringify(questions)).not.toMatch(/Alice|000 to/);
  const refused = await tools.call('resume_workflow', { checkpoint_id: 'r', llm_response: 'yes' });
  expect(refused).toMatchObject({ isError: true, code: 'STORE_CORRUPT' });
  expect(await tools.call('get_run', { run_id: 'r' })).toMatchObject({ status: 'paused' });
});

test('X1 the identity of a store is shown at the command line, and another is given to a copy', () => {
  const folder = openFolder();
  folder.write('pay.yaml', text);
  const early = folder.cairn('identity', '--new');
  expect([early.code, early.err]).toEqual([6, expect.stringContaining('[STORE_UNAVAILABLE]')]);
  folder.cairn('run', 'pay.yaml', '--run-id', 'r');
  const first = folder.cairn('identity').out.trim();
  expect(first).not.toBe('');
  expect(folder.cairn('identity').out.trim()).toBe(first);
  const changed = folder.cairn('identity', '--new');
  expect(changed.out.trim()).not.toBe(first);
  expect(changed.err).toContain(`It was ${first}.`);
  expect(folder.cairn('identity').out.trim()).toBe(changed.out.trim());
  expect(folder.cairn('identity', '--set', 'shop-staging').out.trim()).toBe('shop-staging');
});
