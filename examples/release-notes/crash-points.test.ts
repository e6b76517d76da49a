/** The example killed with SIGKILL before and after each write of its history, and resumed by another process (P1, P2). */
import { mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, it } from 'vitest';
import { bundleScript } from '../../test/support/bundled-script.ts';
import { samplePoints } from '../../test/support/scale.ts';
import { crashProcesses, type CrashResult } from '../../src/testing/crash-kit/crash-processes.ts';
import { makeRepository } from './test-repository.ts';

const top = mkdtempSync(join(tmpdir(), 'cairn-release-notes-'));
afterAll(() => rmSync(top, { recursive: true, force: true }));

it(
  'P1 P2 killed at every commit point, it ends as if it never was, with each effect once',
  { timeout: 180_000 },
  async () => {
    process.env['REPOSITORY'] = makeRepository(join(top, 'repo'), 'Add a stone', 'Fix a stone');
    const folder = join(top, 'trials');
    mkdirSync(folder);
    const report = await crashProcesses({
      script: await bundleScript(join(import.meta.dirname, 'crash-script.ts')),
      folder,
      choose: samplePoints(3),
    });
    const { summary } = JSON.parse(readFileSync(join(folder, 'quiet', 'result.json'), 'utf8')) as CrashResult;
    expect(summary.outside).toBe('["draft Added","draft Fixed","publish"]');
    expect(report.points).toBeGreaterThan(20);
    expect(report.missed).toBeLessThan(Math.max(3, report.trials / 4));
    expect(report.faults).toEqual([]);
  },
);
