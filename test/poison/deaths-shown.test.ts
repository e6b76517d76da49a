import { join } from 'node:path';
import { expect, test } from 'vitest';
import { createDefaultEngine } from '../../src/app/default-engine.ts';
import { openFolder } from '../cli/cairn.ts';
import { healthy } from './graphs.ts';

const folder = openFolder();

test('O6 log, ls, show, post-mortem and doctor say how many processes in a row ended while they advanced a run', async () => {
  const store = `sqlite:${join(folder.path, 'd.db')}`;
  const engine = createDefaultEngine({ store });
  await engine.start(healthy.graph, {}, { runId: 'lost', detach: true });
  await engine.start(healthy.graph, {}, { runId: 'new', detach: true });
  engine.know(healthy.graph);
  for (const workerId of ['one', 'two', 'three'])
    await engine.ports.store.claimRun({ tenant: 'default', runId: 'lost', workerId, leaseMs: 0 });
  const words = '2 processes in a row ended while advancing it';
  for (const args of [['ls'], ['log', 'lost'], ['show', 'lost'], ['post-mortem', 'lost']])
    expect(folder.cairn(...args, '--store', store).out).toContain(words);
  expect(folder.cairn('ls', '--store', store).out).not.toContain(`new: ${words}`);
  expect(folder.cairn('doctor', '--store', store).out).toContain('lost (2)');
  // What settles clears the count, and a run that nobody has begun is not begun again.
  const [taken] = await engine.takeUp({ limit: 9, except: ['lost'] });
  await (await taken?.handle)?.result();
  expect(folder.cairn('log', 'new', '--store', store).out).not.toContain('begun again');
  await (await engine.resume('lost', { graph: healthy.graph })).result();
  expect(folder.cairn('log', 'lost', '--store', store).out).not.toContain('ended while advancing');
  await engine.close();
});
