/** Example graphs in real processes, killed with SIGKILL at every point and resumed by new ones over SQLite, a folder and Redis (P1, P2). */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it, vi } from 'vitest';
import { startRedis } from '../support/redis.ts';
import { bundleScript } from '../support/bundled-script.ts';
import { isProving, samplePoints } from '../support/scale.ts';
import { crashProcesses } from '../../src/testing/crash-kit/crash-processes.ts';

const server = await startRedis();
if (typeof server === 'string') console.warn(`Processes over Redis were not killed: ${server}`);
let folder = '';
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'cairn-crash-'));
});
afterAll(async () => {
  rmSync(folder, { recursive: true, force: true });
  if (typeof server !== 'string') await server.stop();
});

it.each([
  ['publish', 'sqlite'],
  ['orders', 'sqlite'],
  ['publish', 'file'],
  ...(isProving ? [['orders', 'file']] : []),
  ...(typeof server === 'string' ? [] : [['publish', 'redis'], ...(isProving ? [['orders', 'redis']] : [])]),
])(
  'P1 P2 %s over %s, killed for real at every point, ends as if it never was',
  { timeout: 400_000 },
  async (name = '', store = '') => {
    vi.stubEnv('CAIRN_CASE_STORE', store === 'redis' && typeof server !== 'string' ? server.url : store);
    const script = await bundleScript(join(import.meta.dirname, 'cases', `${name}.ts`));
    const report = await crashProcesses({ script, folder: join(folder, `${name}-${store}`), choose: samplePoints(4) });
    console.log(`${name} over ${store}: ${report.trials} processes killed`);
    expect(report.points).toBeGreaterThan(20);
    expect(report.missed).toBeLessThan(Math.max(3, report.trials / 4));
    expect(report.faults).toEqual([]);
  },
);
