/** Doors of a store whose large values are in a bucket: the command line, as processes, and programs. */
import { once } from 'node:events';
import { existsSync, readdirSync, renameSync } from 'node:fs';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { afterAll, afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { AgentGraph, END, openCairn, openHistory, openStore, START } from '../../src/index.ts';
import { backUp, restore } from '../../src/store.ts';
import { openFolder } from '../cli/cairn.ts';
import { until } from '../support/awaited.ts';
import { isProving } from '../support/scale.ts';
import { makeOlder } from '../support/s3-server.ts';
import { startS3Thread, type S3InThread } from '../support/s3-thread.ts';

vi.setConfig({ testTimeout: 60_000 });

const started = await startS3Thread();
if (typeof started === 'string') console.log(`the doors of a store with blobs in S3 were not tested: ${started}`);
const server = started as S3InThread;
afterAll(async () => {
  if (typeof started !== 'string') await server.stop();
});

const large = 'a large text '.repeat(30_000);
const report = `name: report
inputs: { text: { type: string, required: true } }
blocks:
  - { id: say, type: EchoBlock, inputs: { message: "\${inputs.text}" } }
  - { id: ok, type: ConfirmOperation, depends_on: [say], inputs: { operation: send, message: "Send it?" } }
outputs: { said: { value: "\${blocks.say.outputs.echoed}" } }
`;
const bucketUrl = (prefix: string): string =>
  `s3://${server.bucket}/${prefix}?region=us-east-1&endpoint=${encodeURIComponent(server.endpoint)}`;
/** The hashes of what is in the bucket. */
const blobsUnder = (prefix: string): readonly string[] => {
  const folder = join(server.folder, prefix, 'default', 'blobs');
  return existsSync(folder) ? readdirSync(folder).filter((name) => name.endsWith('_object')) : [];
};

const secret = 'wJalrXUtnFEMI/K7MDENG';
beforeEach(() => {
  vi.stubEnv('AWS_ACCESS_KEY_ID', 'S3RVER');
  vi.stubEnv('AWS_SECRET_ACCESS_KEY', 'S3RVER');
});
afterEach(() => vi.unstubAllEnvs());

describe.skipIf(typeof started === 'string')('the command line over blobs in S3', () => {
  const folder = openFolder();
  folder.write('report.yaml', report);
  folder.write('input.json', JSON.stringify({ text: large }));
  const run = (...more: readonly string[]): ReturnType<typeof folder.cairn> =>
    folder.cairn('run', 'report.yaml', '--run-id', 'r', '--input-file', 'input.json', ...more);

  test('C5 a run with a large value goes through all commands with the bucket that CAIRN_BLOBS names', () => {
    const other = ['--store', 'sqlite:other.db'];
    vi.stubEnv('CAIRN_BLOBS', bucketUrl('main'));
    expect(run()).toMatchObject({ code: 0, err: expect.not.stringContaining('[') as string });
    expect(blobsUnder('main').length).toBeGreaterThan(0);
    expect(existsSync(join(folder.path, '.cairn', 'blobs'))).toBe(false);
    expect(folder.cairn('answer', 'r', 'yes', '--resume')).toMatchObject({ code: 0 });
    expect(folder.json('state', 'r', 'outputs.say.echoed')).toContain(large);
    expect(folder.cairn('show', 'r')).toMatchObject({ code: 0 });
    expect(folder.jsonLines('verify')).toMatchObject({ end: { isValid: true }, rows: [{ faults: [] }] });
    expect(folder.cairn('doctor').out.replaceAll(/\s+/gu, ' ')).toContain(
      `ok blobs large values are in s3://${server.bucket}/main`,
    );

    // A copy beside which the bucket means nothing: its large values are files.
    expect(folder.json('backup', 'copy.backup')).toMatchObject({ runs: 1, faults: [] });
    expect(folder.cairn('restore', 'copy.backup', ...other)).toMatchObject({ code: 0 });
    expect(readdirSync(join(folder.path, 'other.blobs'))).not.toEqual([]);
    expect(folder.json('state', 'r', 'outputs.say.echoed', ...other)).toContain(large);

    // There and back as text: into files, and into another part of the bucket.
    expect(folder.cairn('export', 'r', 'r.cairn').code).toBe(0);
    const imported = folder.json('import', 'r.cairn', '--store', 'sqlite:third.db') as { runId: string };
    expect(folder.json('state', imported.runId, 'outputs.say.echoed', '--store', 'sqlite:third.db')).toContain(large);
    const fourth = ['--store', 'sqlite:fourth.db', '--blobs', bucketUrl('fourth')];
    expect(folder.cairn('import', 'r.cairn', '--run-id', 'again', ...fourth).code).toBe(0);
    expect(blobsUnder('fourth')).toEqual(blobsUnder('main'));

    makeOlder(server.folder, 2 * 24 * 3_600_000);
    const count = blobsUnder('main').length;
    expect(folder.json('rm', 'r', '--yes')).toMatchObject({ blobs: count });
    expect(blobsUnder('main')).toEqual([]);
    expect(blobsUnder('fourth')).toHaveLength(count);
  });

  test('C5 where two stores have their blobs in one place, neither removes those of the other, and says so', () => {
    const at = (name: string): readonly string[] => ['--store', `sqlite:${name}.db`, '--blobs', bucketUrl('shared')];
    expect(run(...at('one')).code).toBe(0);
    const count = blobsUnder('shared').length;
    folder.write('input.json', JSON.stringify({ text: `${large}!` }));
    expect(run(...at('two')).code).toBe(0);
    folder.write('input.json', JSON.stringify({ text: large }));
    const both = blobsUnder('shared').length;
    expect(both).toBeGreaterThan(count);
    makeOlder(server.folder, 2 * 24 * 3_600_000);
    const { code, out, err } = folder.cairn('rm', 'r', '--yes', '--json', ...at('two'));
    expect([code, JSON.parse(out)]).toEqual([0, expect.objectContaining({ blobs: 0 })]);
    expect(err).toMatch(/CAIRN_SHARED_BUCKET.*s3:\/\/runs\/shared has blobs of more than one store/u);
    expect(blobsUnder('shared')).toHaveLength(both);
    expect(folder.jsonLines('verify', ...at('one'))).toMatchObject({ end: { isValid: true } });
  });

  test.skipIf(!isProving)(
    'C5 a process that is detached, a server over HTTP and one over MCP use the bucket that --blobs names (in npm run prove)',
    async () => {
      const at = ['--store', 'sqlite:served.db', '--blobs', bucketUrl('served')];
      expect(run('--detach', ...at).code).toBe(0);
      await until('the run pauses', () => folder.cairn('ls', ...at).out.includes('paused'), 50);
      expect(existsSync(join(folder.path, 'served.blobs'))).toBe(false);

      const serve = folder.start('serve', '--http', '0', '--json', ...at);
      const [line] = (await once(serve.stdout as Readable, 'data')) as [Buffer];
      const { url, token } = JSON.parse(String(line)) as { readonly url: string; readonly token: string };
      const headers = { authorization: `Bearer ${token}` };
      const reply = await fetch(`${url}/v1/checkpoints/r/state?path=outputs.say.echoed`, { headers });
      expect([reply.status, await reply.text()]).toEqual([200, expect.stringContaining(large)]);
      serve.kill('SIGTERM');
      await once(serve, 'close');

      const mcp = folder.start('mcp', ...at);
      let printed = '';
      mcp.stdout?.on('data', (bytes) => (printed += String(bytes)));
      const call = async (id: number, method: string, params: object): Promise<void> => {
        mcp.stdin?.write(`${JSON.stringify({ jsonrpc: '2.0', id, method, params })}\n`);
        await until(method, () => printed.includes(`"id":${id}}`) || printed.includes(`"id":${id},`), 20);
      };
      const clientInfo = { name: 'test', version: '1' };
      await call(1001, 'initialize', { protocolVersion: '2025-06-18', capabilities: {}, clientInfo });
      await call(1002, 'tools/call', { name: 'get_checkpoint_info', arguments: { checkpoint_id: 'r@head' } });
      expect(printed).toContain('"completed_blocks":["say"]');
      mcp.stdin?.end();
      await once(mcp, 'close');
    },
  );

  test('C5 a store that is opened without its bucket says what is missing, where it looked, and what to set', () => {
    const at = ['--store', 'sqlite:lost.db'];
    expect(run(...at, '--blobs', bucketUrl('lost')).code).toBe(0);
    const state = folder.cairn('state', 'r', 'outputs.say.echoed', ...at);
    expect(state.code).toBe(5);
    expect(state.err).toMatch(
      /no blob [0-9a-f]{64} in file:.*lost\.blobs \[BLOB_NOT_FOUND\]\n.*--blobs or CAIRN_BLOBS/u,
    );
    expect(folder.cairn('verify', ...at)).toMatchObject({
      code: 5,
      out: expect.stringContaining('lost.blobs') as string,
    });
    expect(folder.cairn('backup', 'lost.backup', ...at).err).toContain('--blobs');
    expect(folder.cairn('state', 'r', 'outputs.say.echoed', ...at, '--blobs', bucketUrl('lost')).code).toBe(0);
  });

  test('C5 a bucket that is not there, or does not answer, is STORE_UNAVAILABLE by its name, at each command', () => {
    const at = ['--store', 'sqlite:gone.db'];
    expect(run(...at, '--blobs', bucketUrl('gone')).code).toBe(0);
    const none = bucketUrl('gone').replace('s3://runs', 's3://nobodys');
    for (const command of [
      ['state', 'r', 'outputs.say.echoed'],
      ['verify'],
      ['backup', 'gone.backup'],
      ['export', 'r', 'x'],
      ['doctor'],
    ]) {
      const { code, out, err } = folder.cairn(...command, ...at, '--blobs', none);
      expect([command[0], code]).toEqual([command[0], 6]);
      expect(out + err).toMatch(/s3:\/\/nobodys\/gone/u);
      expect(out + err).not.toContain('BLOB_NOT_FOUND');
    }
    const silent = `s3://runs/gone?region=us-east-1&endpoint=${encodeURIComponent('http://127.0.0.1:9')}`;
    const { code, out } = folder.cairn('doctor', ...at, '--blobs', silent);
    expect([code, out]).toEqual([6, expect.stringMatching(/BAD +blobs .*s3:\/\/runs\/gone/u)]);
  });

  test.each([
    [`s3://AKIAEXAMPLE:${secret}@runs/x`, 'credentials'],
    [`s3://AKIAEXAMPLE:abc@runs`, 'credentials'],
    [`s3://runs?endpoint=https://AKIAEXAMPLE:${secret}@host`, 'credentials'],
    [`s3://runs?secretAccessKey=${secret}`, 'secretAccessKey is not known'],
    ['s3://runs?endpoint=ftp://host', 'endpoint is the URL of a server'],
    ['s3://', 'a bucket is named s3://BUCKET/PREFIX'],
    ['gs://runs', 's3://BUCKET/PREFIX, or in a folder, file:FOLDER'],
  ])('P6 the setting %s is refused, and no secret is repeated', (url, reason) => {
    const { code, out, err } = folder.cairn('show', 'r', '--store', 'sqlite:main.db', '--blobs', url);
    expect([code, err]).toEqual([2, expect.stringContaining(reason)]);
    expect(out + err).not.toMatch(/wJalr|AKIAEXAMPLE/u);
  });

  test('P6 a configuration names a folder for blobs, and no bucket: its author may be somebody else', () => {
    const own = openFolder();
    own.write('report.yaml', report);
    own.write('input.json', JSON.stringify({ text: large }));
    own.write('cairn.config.yaml', 'blobs: file:values\n');
    expect(own.cairn('run', 'report.yaml', '--run-id', 'r', '--input-file', 'input.json').code).toBe(0);
    expect(readdirSync(join(own.path, 'values'))).not.toEqual([]);
    expect(own.json('state', 'r', 'outputs.say.echoed')).toContain(large);
    own.write('cairn.config.yaml', 'blobs: s3://theirs\n');
    for (const command of [
      ['show', 'r'],
      ['resume', 'r'],
    ])
      expect(own.cairn(...command)).toMatchObject({ code: 2, err: expect.stringContaining('CAIRN_BLOBS') as string });
  });
});

describe.skipIf(typeof started === 'string')('programs over blobs in S3', () => {
  const folder = openFolder();

  test('C5 compile, openStore, openHistory, openCairn, backUp and restore take the URL of a bucket', async () => {
    const [blobs, path] = [bucketUrl('program'), join(folder.path, 'program.db')];
    const app = new AgentGraph({}, { id: 'large' })
      .addNode('draw', () => large)
      .addEdge(START, 'draw')
      .addEdge('draw', END)
      .compile({ store: `sqlite:${path}`, blobs });
    const { runId } = await app.invoke({});
    await app.engine.close();
    expect(existsSync(path.replace('.db', '.blobs'))).toBe(false);

    const store = openStore(`sqlite:${path}`, { blobs });
    expect(store.blobs.name).toBe('s3://runs/program');
    expect((await openHistory(store).state(runId)).outputs['draw']).toBe(large);
    await store.close();
    const plain = openStore(`sqlite:${path}`);
    expect((await openHistory(plain, { blobs }).state(runId)).outputs['draw']).toBe(large);
    await plain.close();
    const cairn = await openCairn({ cwd: folder.path, store: `sqlite:${path}`, blobs });
    expect((await cairn.verify()).isValid).toBe(true);
    await cairn.close();

    const file = join(folder.path, 'program.backup');
    expect(await backUp(`sqlite:${path}`, file, { blobs })).toMatchObject({ faults: [] });
    renameSync(path, `${path}.old`);
    expect(await restore(file, `sqlite:${path}`, { blobs: bucketUrl('restored') })).toMatchObject({ faults: [] });
    expect(blobsUnder('restored')).toEqual(blobsUnder('program'));
  });

  test('P6 the URL is checked before a store is made', () => {
    const path = join(folder.path, 'unmade.db');
    expect(() => openStore(`sqlite:${path}`, { blobs: 's3://' })).toThrow(/s3:\/\/BUCKET/u);
    expect(() => openStore(`sqlite:${path}`, { blob: 's3://runs' } as never)).toThrow(/knows no option "blob"/u);
    expect(existsSync(path)).toBe(false);
  });
});
