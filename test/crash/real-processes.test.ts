/** Example graphs in real processes, killed with SIGKILL at every point and resumed by new ones over SQLite and over a folder (P1, P2). */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it, vi } from 'vitest';
import { bundleScript } from '../support/bundled-script.ts';
import { samplePoints } from '../support/scale.ts';
import { crashProcesses } from '../../src/testing/crash-kit/crash-processes.ts';

let folder = '';
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'cairn-crash-'));
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

it.each([
  ['publish', 'sqlite'],
  ['orders', 'sqlite'],
  ['publish', 'file'],
])(
  'P1 P2 %s over %s, killed for real at every point, ends as if it never was',
  { timeout: 400_000 },
  async (name, store) => {
    vi.stubEnv('CAIRN_CASE_STORE', store);
    const script = await bundleScript(join(import.meta.dirname, 'cases', `${name}.ts`));
    const report = await crashProcesses({ script, folder: join(folder, `${name}-${store}`), choose: samplePoints(10) });
    console.log(`${name} over ${store}: ${report.trials} processes killed`);
    expect(report.points).toBeGreaterThan(20);
    expect(report.missed).toBeLessThan(Math.max(3, report.trials / 4));
    expect(report.faults).toEqual([]);
  },
);
