/** Experiments over HTTP: as data, over workflows that the server knows, without waiting for their end. */
import { expect, test } from 'vitest';
import { AgentGraph, createMemoryStore, END, START } from '../index.ts';
import { createHandler } from './handler.ts';

test('EX10 a detached experiment is answered while it runs, is shown, and a second call of its name waits for its end', async () => {
  let release: () => void = () => undefined;
  const gate = new Promise<void>((resolve) => (release = resolve));
  let isRecorded = false;
  const app = new AgentGraph({}, { id: 'desk' })
    .addNode('slow', () => (isRecorded ? gate.then(() => 1) : 1), { effectClass: 'pure' })
    .addEdge(START, 'slow')
    .addEdge('slow', END)
    .compile({ store: createMemoryStore() });
  await app.invoke({}, { runId: 'r' });
  isRecorded = true;
  const handler = createHandler({
    graphs: [app],
    authorize: () => ({ principal: 'ann', kind: 'person', scopes: ['read', 'run', 'fork'] }),
  });
  const call = async (path: string, body?: unknown): Promise<unknown> => {
    const init = body === undefined ? {} : { method: 'POST', body: JSON.stringify(body) };
    const headers = { 'content-type': 'application/json' };
    return (await handler(new Request(`http://localhost/v1/${path}`, { ...init, headers }))).json();
  };
  const definition = { name: 'later', workflow: 'desk', dataset: { runs: ['r'] }, arms: { same: {} } };
  const begun = await call('experiments', { definition, detach: true, minEqual: 1 });
  expect(begun).toMatchObject({ name: 'later', items: 1, isRunning: true, isFailing: false });
  expect(await call('experiments')).toMatchObject({ experiments: [{ name: 'later', status: 'running', items: 1 }] });
  const whole = call('experiments', { definition, minEqual: 1 });
  release();
  expect(await whole).toMatchObject({ name: 'later', isRunning: false, isFailing: false, missed: [] });
  expect(await call('experiments')).toMatchObject({ experiments: [{ status: 'completed', baseline: { equal: 1 } }] });
  handler.close();
  await app.close();
});
