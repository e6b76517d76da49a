/** The workflow of the guide whose blobs are in S3: its process is killed, and the next one reads what the first one put there. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { pathToFileURL } from 'node:url';
import { afterAll, expect, test } from 'vitest';
import { packageDoors } from '../support/package-doors.ts';
import { startS3 } from '../support/s3-server.ts';

const folder = mkdtempSync(join(tmpdir(), 'cairn-s3-guide-'));
const guide = readFileSync(join(import.meta.dirname, '../../docs/guide/stores.md'), 'utf8');
const [, code = ''] = /^```ts file=invoice-in-s3\.ts\n(.*?)^```$/msu.exec(guide) ?? [];
const door = pathToFileURL(packageDoors['cairn-workflows'] ?? '').href;
writeFileSync(join(folder, 'report.ts'), code.replace("'cairn-workflows'", `'${door}'`));
const program = `
  import { openReport } from './report.ts';
  const app = openReport(process.argv[2]);
  const { engine } = app;
  const known = await engine.ports.store.readRun({ tenant: engine.ports.tenant, runId: 'report' });
  let result;
  if (known) {
    const [wait] = await engine.waits('report');
    await engine.answer('report', wait.waitId, 'yes');
    result = await (await engine.resume('report')).result();
  } else result = await app.invoke({}, { runId: 'report' });
  console.log(JSON.stringify([result.status, result.state.outputs.measure ?? null]));
  setInterval(() => {}, 1_000);
`;
writeFileSync(join(folder, 'run.ts'), program);

const server = await startS3();
afterAll(async () => {
  rmSync(folder, { recursive: true, force: true });
  if (typeof server !== 'string') await server.stop();
});

test.skipIf(typeof server === 'string')(
  `P1 blobs in S3 of the guide outlive a killed process${typeof server === 'string' ? `: ${server}` : ''}`,
  { timeout: 60_000 },
  async () => {
    if (typeof server === 'string') return;
    const env = {
      ...process.env,
      AWS_REGION: 'us-east-1',
      AWS_ENDPOINT_URL_S3: server.endpoint,
      AWS_ACCESS_KEY_ID: 'S3RVER',
      AWS_SECRET_ACCESS_KEY: 'S3RVER',
    };
    const lineOfKilled = async (): Promise<unknown> => {
      const args = [
        '--disable-warning=ExperimentalWarning',
        join(folder, 'run.ts'),
        `sqlite:${join(folder, 'runs.db')}`,
      ];
      const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'], env });
      const ended = once(child, 'exit');
      try {
        const [line] = (await Promise.race([once(createInterface(child.stdout), 'line'), ended])) as [unknown];
        return typeof line === 'string' ? JSON.parse(line) : `it ended with ${String(line)}`;
      } finally {
        child.kill('SIGKILL');
        await ended;
      }
    };
    expect(await lineOfKilled()).toEqual(['paused', null]);
    expect(readdirSync(join(server.folder, 'cairn/default/blobs')).length).toBeGreaterThan(0);
    expect(await lineOfKilled()).toEqual(['completed', 17 * 50_000]);
  },
);
