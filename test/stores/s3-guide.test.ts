/** The workflow of the guide whose blobs are in S3: its process is killed, and the next one reads what the first one put there. */
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { openGuideProgram } from '../support/guide-program.ts';
import { startS3 } from '../support/s3-server.ts';

const program = openGuideProgram(
  'stores.md',
  `
  import { openReport } from './invoice-in-s3.ts';
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
`,
);

const server = await startS3();
afterAll(async () => {
  program.remove();
  if (typeof server !== 'string') await server.stop();
});

test.skipIf(typeof server === 'string')(
  `P1 blobs in S3 of the guide outlive a killed process${typeof server === 'string' ? `: ${server}` : ''}`,
  { timeout: 60_000 },
  async () => {
    if (typeof server === 'string') return;
    const environment = {
      AWS_REGION: 'us-east-1',
      AWS_ENDPOINT_URL_S3: server.endpoint,
      AWS_ACCESS_KEY_ID: 'S3RVER',
      AWS_SECRET_ACCESS_KEY: 'S3RVER',
    };
    const store = `sqlite:${join(program.folder, 'runs.db')}`;
    expect(await program.firstLine([store], environment)).toEqual(['paused', null]);
    expect(readdirSync(join(server.folder, 'cairn/default/blobs')).length).toBeGreaterThan(0);
    expect(await program.firstLine([store], environment)).toEqual(['completed', 17 * 50_000]);
  },
);
