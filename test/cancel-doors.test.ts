/** What follows a cancel, through each door: its status meanwhile, its reason, and giving up on it. */
import type { ChildProcess } from 'node:child_process';
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test, vi } from 'vitest';
import { openApp } from '../src/app/open-app.ts';
import { bearerTokens } from '../src/http/authorize.ts';
import { createHandler } from '../src/http/handler.ts';
import { openFolder, type Folder } from './cli/cairn.ts';
import { until } from './support/awaited.ts';
import { connectStdio, createWorkspace } from './mcp/mcp-kit.ts';

// Processes of a loaded machine start slowly.
vi.setConfig({ testTimeout: 120_000 });

const module = fileURLToPath(new URL('./cli/booking.ts', import.meta.url));

interface Door {
  /** Cancels a run whose graph has something to do then, which takes time. */
  readonly begin: (run: string, reason: string) => Promise<string>;
  readonly cancel: (run: string, more: { readonly reason?: string; readonly force?: true }) => Promise<string>;
  readonly statusOf: (run: string) => Promise<string>;
  readonly close: () => Promise<void>;
}

/** The command line. The process that cancels stays with what follows, so others look at it and give up on it. */
function commandLine(folder: Folder): Promise<Door> {
  const statusOf = (run: string): string => (folder.json('show', run) as { view: { status: string } }).view.status;
  const begun: ChildProcess[] = [];
  return Promise.resolve({
    begin: async (run, reason) => {
      begun.push(folder.start('cancel', run, '--reason', reason));
      await until(`${run} is cancelling`, () => statusOf(run) === 'cancelling', 50);
      return 'cancelling';
    },
    cancel: (run, { reason, force }) => {
      const words = [...(reason === undefined ? [] : ['--reason', reason]), ...(force === true ? ['--force'] : [])];
      return Promise.resolve((folder.json('cancel', run, ...words) as { status: string }).status);
    },
    statusOf: (run) => Promise.resolve(statusOf(run)),
    close: () => {
      for (const child of begun) child.kill('SIGKILL');
      return Promise.resolve();
    },
  });
}

async function overHttp(folder: Folder): Promise<Door> {
  const app = await openApp({ cwd: folder.path, storeUrl: undefined });
  const token = 'token-of-ann-0123456789';
  const handler = createHandler({
    app,
    authorize: bearerTokens([{ token, principal: 'ann', kind: 'person', scopes: ['read', 'run'] }]),
  });
  const call = async (path: string, body?: object): Promise<string> => {
    const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' };
    const method = body === undefined ? 'GET' : 'POST';
    const init = { method, headers, ...(body !== undefined && { body: JSON.stringify(body) }) };
    const reply = await handler(new Request(`http://localhost/v1/runs/${path}`, init));
    return ((await reply.json()) as { status: string }).status;
  };
  return {
    begin: (run, reason) => call(`${run}/cancel`, { reason }),
    cancel: (run, options) => call(`${run}/cancel`, options),
    statusOf: (run) => call(run),
    close: async () => {
      handler.close();
      await app.close();
    },
  };
}

async function overMcp(folder: Folder): Promise<Door> {
  const workspace = createWorkspace();
  const store = `sqlite:${join(folder.path, 'runs.db')}`;
  const { call } = await connectStdio(workspace, {}, [
    '--store',
    store,
    '--config',
    join(folder.path, 'cairn.config.json'),
  ]);
  return {
    begin: async (run, reason) => String((await call('cancel_run', { run_id: run, reason }))['status']),
    cancel: async (run, options) => String((await call('cancel_run', { run_id: run, ...options }))['status']),
    statusOf: async (run) => String((await call('get_run', { run_id: run }))['status']),
    close: () => workspace.remove(),
  };
}

test.each([
  ['the command line', commandLine],
  ['HTTP', overHttp],
  ['MCP', overMcp],
])(
  'E7.4 over %s a run is cancelling while what follows its cancel goes on, and a forced cancel gives up on that',
  async (_, open) => {
    const folder = openFolder();
    folder.write('cairn.config.json', JSON.stringify({ store: 'sqlite:runs.db', modules: [module] }));
    const begin = (run: string): void => {
      expect(folder.cairn('run', module, '--run-id', run, '--input', `folder=${folder.path}`)).toMatchObject({
        code: 0,
      });
    };
    begin('held');
    begin('free');
    begin('left-out');
    const door = await open(folder);
    try {
      folder.write('hold', '');
      expect(await door.begin('held', 'she is ill')).toBe('cancelling');
      expect(await door.statusOf('held')).toBe('cancelling');
      // A second one changes nothing.
      expect(await door.cancel('held', {})).toBe('cancelling');
      expect(await door.cancel('held', { force: true })).toBe('cancelled');
      rmSync(join(folder.path, 'hold'));
      expect(await door.cancel('left-out', { force: true })).toBe('cancelled');
      expect(await door.cancel('free', { reason: 'she is ill' })).toBe('cancelled');
    } finally {
      await door.close();
    }
    expect(folder.cairn('log', 'held', '--json').out).toContain('"gaveUp":"release"');
    const released = (run: string): unknown =>
      (folder.json('state', run) as { outputs: { release?: string } }).outputs.release;
    expect([released('free'), released('left-out'), released('held')]).toEqual([
      'released: she is ill',
      undefined,
      undefined,
    ]);
  },
);
