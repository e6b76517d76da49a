/** A signal that a run waits for and that does not fit is refused at each door; one that fits is taken (W5.6). */
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test, vi } from 'vitest';
import { openApp } from '../src/app/open-app.ts';
import type { CairnError } from '../src/errors.ts';
import { bearerTokens } from '../src/http/authorize.ts';
import { createHandler } from '../src/http/handler.ts';
import { openFolder, type Folder } from './cli/cairn.ts';
import { connectStdio, createWorkspace } from './mcp/mcp-kit.ts';

// Processes of a loaded machine start slowly.
vi.setConfig({ testTimeout: 120_000 });

const module = fileURLToPath(new URL('./cli/receiving.ts', import.meta.url));

interface Door {
  /** Sends the signal `paid` to the run `r`. Returns what it is told of a refusal, or `sent`. */
  readonly send: (value: unknown) => Promise<string>;
  readonly close: () => Promise<void>;
}

async function library(folder: Folder): Promise<Door> {
  const app = await openApp({ cwd: folder.path, storeUrl: undefined });
  return {
    send: (value) =>
      app.engine.signal('r', 'paid', value).then(
        () => 'sent',
        (error: CairnError) => `${error.code} ${error.message}`,
      ),
    close: () => app.close(),
  };
}

function commandLine(folder: Folder): Promise<Door> {
  return Promise.resolve({
    send: (value) => {
      const { code, err } = folder.cairn('signal', 'r', 'paid', JSON.stringify(value));
      return Promise.resolve(code === 0 ? 'sent' : err);
    },
    close: () => Promise.resolve(),
  });
}

async function overHttp(folder: Folder): Promise<Door> {
  const app = await openApp({ cwd: folder.path, storeUrl: undefined });
  const token = 'token-of-ann-0123456789';
  const handler = createHandler({
    app,
    authorize: bearerTokens([{ token, principal: 'ann', kind: 'person', scopes: ['read', 'run', 'answer'] }]),
  });
  return {
    send: async (value) => {
      const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' };
      const body = JSON.stringify({ name: 'paid', value });
      const reply = await handler(new Request('http://localhost/v1/runs/r/signals', { method: 'POST', headers, body }));
      return reply.ok ? 'sent' : `${reply.status} ${await reply.text()}`;
    },
    close: async () => {
      handler.close();
      await app.close();
    },
  };
}

async function overMcp(folder: Folder): Promise<Door> {
  const workspace = createWorkspace();
  const config = join(folder.path, 'cairn.config.json');
  const store = `sqlite:${join(folder.path, 'runs.db')}`;
  const { call } = await connectStdio(workspace, {}, ['--store', store, '--config', config]);
  return {
    send: async (value) => {
      const reply = await call('send_signal', { run_id: 'r', name: 'paid', value });
      return reply.isError === true ? JSON.stringify(reply) : 'sent';
    },
    close: () => workspace.remove(),
  };
}

test.each([
  ['the library', library],
  ['the command line', commandLine],
  ['HTTP', overHttp],
  ['MCP', overMcp],
])('W5.6 P6 over %s a signal that does not fit is refused with the reason, and the run waits on', async (_, open) => {
  const folder = openFolder();
  folder.write('cairn.config.json', JSON.stringify({ store: 'sqlite:runs.db', modules: [module] }));
  expect(folder.cairn('run', module, '--run-id', 'r')).toMatchObject({ code: 0 });
  const door = await open(folder);
  try {
    const refused = await door.send({ amount: 'much' });
    expect(refused).toContain('SIGNAL_INVALID');
    expect(refused).toMatch(/signal paid of node paid does not fit its schema.*amount/su);
    expect(await door.send({ amount: 5 })).toBe('sent');
  } finally {
    await door.close();
  }
  expect(folder.json('resume', 'r')).toMatchObject({ status: 'completed' });
  expect(folder.json('state', 'r')).toMatchObject({ outputs: { paid: { amount: 5 } } });
});
