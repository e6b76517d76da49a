/** The example pipelines: free of findings, run to their end, and killed before and after each write of their histories (P1, P2). */
import { mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { checkDot, formatDot } from '../../src/dialects/dot/index.ts';
import { createNodeTypes } from '../../src/nodes/blocks/index.ts';
import { crashProcesses, type CrashResult } from '../../src/testing/crash-kit/crash-processes.ts';
import { bundleScript } from '../../test/support/bundled-script.ts';
import { samplePoints } from '../../test/support/scale.ts';

const top = mkdtempSync(join(tmpdir(), 'cairn-pipelines-'));
afterAll(() => rmSync(top, { recursive: true, force: true }));

test.each(['notes', 'panel', 'letter', 'release'])(
  '%s has nothing said of it, and stands in its canonical form',
  (name) => {
    const text = readFileSync(join(import.meta.dirname, `${name}.dot`), 'utf8');
    expect(checkDot(text, { nodeTypes: createNodeTypes(), source: name }).violations).toEqual([]);
    expect(formatDot(text)).toBe(text);
  },
);

test.each([
  [
    'notes',
    'notes of Release notes of version 2',
    '"failures":[{"led_to":"passed","reason":"there are no dates","stage":"review"},{"led_to":"draft","reason":"the goal gate review ended with fail: there are no dates","stage":"review"}]',
  ],
  ['panel', 'decided', '"notes":"2 of 3 branches succeeded"'],
  ['mend', 'for (const number of numbers) total += number;', '"gates":{"check":"success","review":"success"}'],
  ['release', 'Version 1.1.0 HEAD -> main, tag: v1.1.0\\nA module that adds', '"gates":{"check":"success"}'],
  ['letter', 'A letter to the neighbours', '"stage":"revise","thread":"writer"'],
])(
  'P1 P2 %s, killed at every commit point, ends as if it never was: after the choice, between a gate and its retry target, in a branch',
  { timeout: 300_000 },
  async (name, outside, inside) => {
    const folder = join(top, name);
    mkdirSync(folder);
    process.env['CRASH_CASE'] = name;
    process.env['NODE_COMPILE_CACHE'] = join(top, 'compiled');
    const script = await bundleScript(join(import.meta.dirname, 'crash-script.ts'));
    const report = await crashProcesses({ script, folder, choose: samplePoints(2) });
    const { summary } = JSON.parse(readFileSync(join(folder, 'quiet', 'result.json'), 'utf8')) as CrashResult;
    expect(summary.status).toBe('completed');
    expect(summary.outside).toContain(outside);
    expect(summary.state).toContain(inside);
    expect(report.points).toBeGreaterThan(10);
    expect(report.faults).toEqual([]);
  },
);
