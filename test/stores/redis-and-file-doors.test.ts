/** Doors over a Redis store and over a folder of journals: the command line as processes, and programs. */
import { join } from 'node:path';
import { afterAll, afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { AgentGraph, createWorker, END, openHistory, openStore, START, type CairnError } from '../../src/index.ts';
import { openFolder } from '../cli/cairn.ts';
import { isProving } from '../support/scale.ts';
import { until, within } from '../support/awaited.ts';
import { startRedis, type RedisUnderTest } from '../support/redis.ts';

// Processes of a loaded machine start slowly.
vi.setConfig({ testTimeout: 60_000 });

const found = await startRedis('--requirepass', 'p@ss word');
if (typeof found === 'string') console.warn(`The doors of a Redis store were not tested: ${found}`);

const greet = `name: greet
inputs: { who: { type: string, required: true } }
blocks:
  - { id: hello, type: EchoBlock, inputs: { message: "\${inputs.who}" } }
outputs: { said: { value: "\${blocks.hello.outputs.echoed}" } }
`;

const shout = `name: shout
blocks:
  - { id: ask, type: ConfirmOperation, inputs: { message: "Shout?", operation: shout } }
  - { id: say, type: Shell, depends_on: [ask], inputs: { command: "echo loud" } }
`;

const say = `name: say
blocks:
  - { id: say, type: Shell, inputs: { command: "echo loud" } }
`;

const counting = new AgentGraph({}, { id: 'counting' })
  .addNode('large', () => 'x'.repeat(400_000))
  .addNode('length', ({ state }) => state.outputs.large?.length)
  .addEdge(START, 'large')
  .addEdge('large', 'length')
  .addEdge('length', END);

/** What the commands do on any store. */
function useCommands(folder: ReturnType<typeof openFolder>): void {
  folder.write('greet.yaml', greet);
  expect(folder.cairn('run', 'greet.yaml', '--run-id', 'r', '--input', 'who=you').code).toBe(0);
  expect(folder.cairn('ls').out).toMatch(/r +completed +greet/);
  expect(folder.json('state', 'r', 'outputs.hello.echoed')).toMatch(/you$/);
  expect(folder.jsonLines('verify')).toMatchObject({ end: { isValid: true, runs: 1 }, rows: { length: 1 } });
  expect(folder.cairn('fork', 'r@1', '--run-id', 'f').code).toBe(0);
  expect(folder.cairn('log', 'f').out).toContain('f greet');
  // Each command is a process; the gate takes those that differ between stores.
  if (!isProving) return;
  expect(folder.cairn('export', 'r', 'r.cairn').code).toBe(0);
  expect(folder.cairn('rm', 'r', '--with-forks', '--yes').code).toBe(0);
  expect(folder.cairn('import', 'r.cairn').code).toBe(0);
  expect(folder.cairn('prune', '--all', '--yes').code).toBe(0);
  expect(folder.cairn('schedule', 'add', 'greet.yaml', '--cron', '0 2 * * *', '--input', 'who=all').code).toBe(0);
  expect(folder.cairn('schedule', 'list').out).toContain('greet');
  expect(folder.cairn('backup', 'copy').code).toBe(2);
  folder.write('shout.yaml', shout);
  expect(folder.cairn('run', 'shout.yaml', '--run-id', 'asking').out).toContain('Shout?');
  expect(folder.cairn('resume', 'asking').code).toBe(0);
}

/** What `doctor` prints, without its line breaks. */
const doctorOf = (folder: ReturnType<typeof openFolder>): string => folder.cairn('doctor').out.replaceAll(/\s+/g, ' ');

describe('doors of a folder of journals', () => {
  const folder = openFolder();
  beforeEach(() => vi.stubEnv('CAIRN_STORE', 'file:journals'));
  afterEach(() => vi.unstubAllEnvs());

  test('S4 the command line works over a folder as over a file, but leaves no run to another process', () => {
    useCommands(folder);
    expect(doctorOf(folder)).toContain('survives a power cut');
    const detached = folder.cairn('run', 'greet.yaml', '--input', 'who=me', '--detach');
    expect([detached.code, detached.err]).toEqual([2, expect.stringContaining('one process at a time')]);
  });

  test('S4 compile takes the URL of a folder, and what it opens is closed with the graph', async () => {
    const url = `file:${join(folder.path, 'program')}`;
    const graph = counting.compile({ store: url });
    const { runId, status } = await graph.invoke({});
    expect(status).toBe('completed');
    await graph.close();
    const store = openStore(url);
    expect(await openHistory(store).state(runId)).toMatchObject({ outputs: { length: 400_000 } });
    await store.close();
  });
});

describe.skipIf(typeof found === 'string')(
  `doors of a Redis store${typeof found === 'string' ? `: ${found}` : ''}`,
  () => {
    const server = found as RedisUnderTest;
    const folder = openFolder();
    beforeEach(() => {
      vi.stubEnv('CAIRN_STORE_PASSWORD', 'p@ss word');
      vi.stubEnv('CAIRN_STORE', server.url);
    });
    afterEach(async () => {
      vi.unstubAllEnvs();
      await server.empty();
    });
    afterAll(() => server.stop());

    test('S4 the command line works over a server as over a file, and another process goes on with a run', async () => {
      useCommands(folder);
      expect(doctorOf(folder)).toContain('survives a power cut, can be shared by processes');
      expect(folder.cairn('run', 'greet.yaml', '--run-id', 'd', '--input', 'who=me', '--detach').code).toBe(0);
      const worker = folder.start('worker', '--json');
      // The worker does it, or the process that --detach starts, whichever is first.
      await until('the run is completed', () => /d +completed +greet/.test(folder.cairn('ls').out), 20);
      worker.kill('SIGTERM');
    });

    test('S4 doctor says what the server does not promise, and how to have it', async () => {
      await server.run('CONFIG', 'SET', 'appendfsync', 'everysec');
      try {
        const out = doctorOf(folder);
        expect(out).toContain('appendfsync everysec: a power cut loses the last commits');
        expect(out).toContain('appendfsync always');
        folder.write('greet.yaml', greet);
        folder.write('say.yaml', say);
        expect(folder.cairn('run', 'greet.yaml', '--input', 'who=you').err).not.toContain('CAIRN_LESS_DURABLE');
        expect(folder.cairn('run', 'say.yaml').err).toMatch(/CAIRN_LESS_DURABLE.*write or external node/);
      } finally {
        await server.run('CONFIG', 'SET', 'appendfsync', 'always');
      }
    });

    test('O2 a stored text does what a file may only where the file is, and else what is granted', () => {
      folder.write('shout.yaml', shout);
      expect(folder.cairn('run', 'shout.yaml', '--run-id', 'foreign').out).toContain('Shout?');
      expect(folder.cairn('resume', 'foreign').code).toBe(0);
      const refused = openFolder().cairn('resume', 'foreign');
      expect(refused.err).toContain('PERMISSION_DENIED');
    });

    test('S4 a configuration of the folder names no server, and a wrong password is told without it', () => {
      const other = openFolder();
      vi.stubEnv('CAIRN_STORE', undefined);
      other.write('cairn.config.yaml', `store: ${server.url}\n`);
      expect(other.cairn('ls').err).toContain('stores of this machine only');
      vi.stubEnv('CAIRN_STORE', server.url);
      vi.stubEnv('CAIRN_STORE_PASSWORD', 'wrong-word');
      const wrong = folder.cairn('ls');
      expect(wrong.err).toContain('WRONGPASS');
      expect(wrong.err).not.toContain('wrong-word');
      vi.stubEnv('CAIRN_STORE', 'redis://db.example.org');
      expect(folder.cairn('ls').err).toContain('rediss://');
    });

    test('S4 compile and workers take the URL of a store, and what they open is closed with them', async () => {
      const graph = counting.compile({ store: server.url });
      const { runId: invoked, status } = await graph.invoke({});
      expect(status).toBe('completed');
      const { runId } = await graph.start({}, { detach: true });
      const rested = Promise.withResolvers<string>();
      const worker = createWorker({
        graphs: [graph],
        store: server.url,
        onRested: (run) => rested.resolve(run.runId),
      });
      expect(await within('the run is completed', rested.promise)).toBe(runId);
      await worker.stop();
      await graph.close();
      await expect(graph.engine.inspect(runId)).rejects.toMatchObject({ code: 'STORE_CLOSED' });
      const store = openStore(server.url);
      expect(await openHistory(store).state(invoked)).toMatchObject({ outputs: { length: 400_000 } });
      await store.close();
    });

    test('S4 a server that is not there is told in time, without the password', async () => {
      const store = openStore('redis://u:secret-word@127.0.0.1:1?connect_timeout=1');
      const error = await store.readIdentity().catch((thrown: unknown) => thrown as CairnError);
      expect(error).toMatchObject({ code: 'STORE_UNAVAILABLE' });
      expect(JSON.stringify(error) + String(error)).not.toContain('secret-word');
      await store.close();
    });
  },
);
