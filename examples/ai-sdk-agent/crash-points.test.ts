/** The agent of the AI SDK killed with SIGKILL at each commit and call, and resumed by another process: a bill and a bank outside count (P1, P2). */
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { bundleScript } from '../../test/support/bundled-script.ts';
import { samplePoints } from '../../test/support/scale.ts';
import { crashProcesses, type CrashResult } from '../../src/testing/crash-kit/crash-processes.ts';
import { answer } from './plain.ts';
import { readLines } from './outside.ts';

const folder = mkdtempSync(join(tmpdir(), 'cairn-ai-sdk-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

test(
  'U1 U5 P1 P2 killed at every point, it pays each refund once, and buys at most the call in flight again',
  { timeout: 300_000 },
  async () => {
    process.env['NODE_COMPILE_CACHE'] = join(folder, 'compiled');
    const report = await crashProcesses({
      script: await bundleScript(join(import.meta.dirname, 'crash-script.ts')),
      folder,
      choose: samplePoints(3),
    });
    const { summary } = JSON.parse(readFileSync(join(folder, 'quiet', 'result.json'), 'utf8')) as CrashResult;
    expect(summary.state).toContain('Both orders are refunded, 65 in all.');
    expect(summary.outside).toBe('["A-17 40","B-23 25"]');
    expect(report.faults).toEqual([]);
    expect(report.points).toBeGreaterThan(20);
  },
);

test('U1 the plain agent says the same, and pays without a key', async () => {
  process.env['OUTSIDE'] = mkdtempSync(join(folder, 'plain-'));
  expect(await answer()).toBe('Both orders are refunded, 65 in all.');
  expect([readLines('bill').length, readLines('bank')]).toEqual([4, ['no key A-17 40', 'no key B-23 25']]);
});
