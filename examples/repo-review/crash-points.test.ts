/** The review killed with SIGKILL before and after each write of its history and each call, and resumed by another process (P1, P2). */
import { mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, it } from 'vitest';
import { bundleScript } from '../../test/support/bundled-script.ts';
import { samplePoints } from '../../test/support/scale.ts';
import { crashProcesses, type CrashResult } from '../../src/testing/crash-kit/crash-processes.ts';

const top = mkdtempSync(join(tmpdir(), 'cairn-repo-review-'));
afterAll(() => rmSync(top, { recursive: true, force: true }));

it(
  'P1 P2 killed at every model and tool call, it ends as if it never was, and no answer is bought twice but one in flight',
  { timeout: 600_000 },
  async () => {
    const folder = join(top, 'trials');
    mkdirSync(folder);
    const report = await crashProcesses({
      script: await bundleScript(join(import.meta.dirname, 'crash-script.ts')),
      folder,
      choose: samplePoints(3),
    });
    const { summary } = JSON.parse(readFileSync(join(folder, 'quiet', 'result.json'), 'utf8')) as CrashResult;
    const outside = JSON.parse(summary.outside ?? '{}') as {
      readonly answers: number;
      readonly report: string;
    };
    expect(outside.answers).toBe(4);
    expect(outside.report).toContain('## Text is run as code');
    expect(report.points).toBeGreaterThan(15);
    expect(report.missed).toBeLessThan(report.trials / 2);
    expect(report.faults).toEqual([]);
  },
);
