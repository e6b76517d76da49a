/** A run is started with its first signal at each door, takes each signal once, and one that has ended takes none (W5.7). */
import { join } from 'node:path';
import { expect, test, vi } from 'vitest';
import { openApp } from '../src/app/open-app.ts';
import { openCairn } from '../src/app/open-cairn.ts';
import { CairnError } from '../src/errors.ts';
import { bearerTokens } from '../src/http/authorize.ts';
import { createClient } from '../src/http/client.ts';
import { createHandler } from '../src/http/handler.ts';
import { openFolder, type Folder } from './cli/cairn.ts';
import { connectStdio, createWorkspace } from './mcp/mcp-kit.ts';

// Processes of a loaded machine start slowly.
vi.setConfig({ testTimeout: 120_000 });

const asking = `name: asks
blocks:
  - { id: q, type: Prompt, inputs: { prompt: "Go?" } }
`;

interface Door {
  /** Sends the signal under this id. Returns whether the run is new, or the code of the refusal. */
  readonly send: (id: string) => Promise<boolean | string>;
  readonly close: () => Promise<void>;
}

async function library(folder: Folder): Promise<Door> {
  const cairn = await openCairn({ cwd: folder.path });
  return {
    send: (id) =>
      cairn.signalWithStart({ workflow: 'asks.yaml', runId: 'r', name: 'item', value: 1, id }).then(
        ({ isNew }) => isNew,
        (error: unknown) => CairnError.from(error).code,
      ),
    close: () => cairn.close(),
  };
}

function commandLine(folder: Folder): Promise<Door> {
  return Promise.resolve({
    send: (id) => {
      const { code, out, err } = folder.cairn('signal-with-start', 'asks.yaml', 'r', 'item', '1', '--id', id, '--json');
      return Promise.resolve(
        code === 0
          ? (JSON.parse(out) as { isNew: boolean }).isNew
          : ((JSON.parse(err) as { error: { code: string } }).error.code ?? err),
      );
    },
    close: () => Promise.resolve(),
  });
}

async function overHttp(folder: Folder): Promise<Door> {
  const app = await openApp({ cwd: folder.path, storeUrl: undefined, workflows: [folder.path] });
  const token = 'token-of-ann-0123456789';
  const authorize = bearerTokens([{ token, principal: 'ann', kind: 'person', scopes: ['read', 'run', 'answer'] }]);
  const handler = createHandler({ app, authorize, advance: 'elsewhere' });
  const client = createClient('http://localhost', token, {
    fetch: (url, init) => handler(new Request(url, init)),
  });
  return {
    send: (id) =>
      client.signalWithStart({ workflow: 'asks', runId: 'r', name: 'item', value: 1, id }).then(
        ({ isNew }) => isNew,
        (error: unknown) => CairnError.from(error).code,
      ),
    close: async () => {
      handler.close();
      await app.close();
    },
  };
}

async function overMcp(folder: Folder): Promise<Door> {
  const workspace = createWorkspace();
  const store = `sqlite:${join(folder.path, 'runs.db')}`;
  const { call } = await connectStdio(workspace, {}, ['--store', store, '--workflows', folder.path]);
  const send = async (workflow: string, id: string): Promise<boolean | string> => {
    const given = { workflow, run_id: 'r', name: 'item', value: 1, id };
    const reply = (await call('signal_with_start', given)) as { readonly is_new?: boolean; readonly code?: string };
    return reply.is_new ?? reply.code ?? JSON.stringify(reply);
  };
  return {
    send: async (id) => {
      // A model names a workflow, and no file.
      expect(await send('./asks.yaml', id)).toBe('WORKFLOW_NOT_FOUND');
      return send('asks', id);
    },
    close: () => workspace.remove(),
  };
}

test.each([
  ['the library', library],
  ['the command line', commandLine],
  ['HTTP, by the client', overHttp],
  ['MCP', overMcp],
])('W5.7 at %s: started once, signalled once by its id, and refused when it has ended', async (_, open) => {
  const folder = openFolder();
  folder.write('asks.yaml', asking);
  folder.write('cairn.config.json', JSON.stringify({ store: 'sqlite:runs.db', workflows: ['.'] }));
  const door = await open(folder);
  try {
    expect(await door.send('a')).toBe(true);
    expect([await door.send('a'), await door.send('b')]).toEqual([false, false]);
    expect(folder.cairn('cancel', 'r')).toMatchObject({ code: 0 });
    expect([await door.send('c'), await door.send('a')]).toEqual(['RUN_ENDED', false]);
  } finally {
    await door.close();
  }
});
