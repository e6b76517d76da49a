/** The example workflows, killed with SIGKILL before and after each write of their histories, and resumed by other processes (P1, P2). */
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { crashProcesses, type CrashResult } from '../../src/testing/crash-kit/crash-processes.ts';
import { bundleScript } from '../../test/support/bundled-script.ts';
import { samplePoints } from '../../test/support/scale.ts';
import type { WorkflowCrashCase } from './crash-script.ts';

const top = mkdtempSync(join(tmpdir(), 'cairn-workflows-'));
afterAll(() => rmSync(top, { recursive: true, force: true }));

const workflows = import.meta.dirname;

/** Its commands may not be repeated: each that is in doubt is asked about. */
const unsafe = `name: unsafe
blocks:
  - { id: first, type: Shell, inputs: { command: 'echo "first $CAIRN_IDEMPOTENCY_KEY" >> ledger' } }
  - id: both
    type: Shell
    depends_on: [first]
    for_each: [a, b]
    for_each_mode: parallel
    inputs: { command: 'echo "\${each.value} $CAIRN_IDEMPOTENCY_KEY" >> ledger' }
  - { id: last, type: Shell, depends_on: [both], condition: "\${both.count} == 2", inputs: { command: 'echo "last $CAIRN_IDEMPOTENCY_KEY" >> ledger' } }
outputs: { done: "\${last.success}", each: "\${both.iterations[1].exit_code}" }
`;

interface Trial extends Omit<WorkflowCrashCase, 'workflows'> {
  readonly text?: string;
  /** What stands in the end of the state, or outside. */
  readonly leaves: readonly string[];
}

const trials: readonly Trial[] = [
  {
    name: 'approve-part',
    input: { part: 'method', size: 80 },
    answers: { 'becomes of it': 'hold', Why: 'too thin' },
    leaves: ['"decision":"hold","reason":"too thin"'],
  },
  {
    name: 'crash-recovery',
    input: { seconds: 0, parts: ['north', 'east'] },
    leaves: ['fetch east', 'fetch north', 'publish 2 files', '"fetched":2,"published":true'],
  },
  {
    name: 'interactive-approval',
    input: { project: 'demo' },
    answers: { 'Release it?': 'yes' },
    leaves: ['"approved":true', '{"project":"demo","environment":"staging","approved_with":"yes"}'],
  },
  {
    name: 'multi-step-questionnaire',
    answers: { 'Set up': 'yes', 'What kind': 'service', 'Name of': 'trail', 'Create it': 'yes' },
    leaves: ['"kind": "service"', '"name":"trail"'],
  },
  {
    name: 'nested-approval',
    input: { parts: { intro: 12, method: 80 } },
    answers: { 'Part intro': 'publish', 'Part method': 'drop', Why: 'too thin' },
    leaves: ['published/parts.txt:\nintro\n', '"decided":2,"list":"intro"'],
  },
  {
    name: 'release-checklist',
    input: { repository: 'repo' },
    hasRepository: true,
    answers: { 'Tag a release': 'yes', 'Which version': 'v1.2.3' },
    leaves: ['refs/tags/v1.2.3 tag', '"tagged":"v1.2.3"'],
  },
  { name: 'unsafe', text: unsafe, leaves: ['first ', '\na ', '\nb ', '\nlast ', '"done":true,"each":0'] },
];

test.each(trials)(
  'P1 P2 $name, killed at every commit point, ends as if it never was, with each effect once',
  { timeout: 180_000 },
  async ({ leaves, text, ...trial }) => {
    const folder = join(top, trial.name);
    mkdirSync(folder);
    const given = { ...trial, workflows: text === undefined ? workflows : folder };
    if (text !== undefined) writeFileSync(join(folder, `${trial.name}.yaml`), text);
    process.env['CRASH_CASE'] = JSON.stringify(given satisfies WorkflowCrashCase);
    // All cases load the same modules.
    process.env['NODE_COMPILE_CACHE'] = join(top, 'compiled');
    const report = await crashProcesses({
      script: await bundleScript(join(workflows, 'crash-script.ts')),
      folder,
      choose: samplePoints(2),
    });
    const { summary } = JSON.parse(readFileSync(join(folder, 'quiet', 'result.json'), 'utf8')) as CrashResult;
    expect(summary.status).toBe('completed');
    const left = `${summary.state}\n${JSON.parse(summary.outside ?? '""') as string}`;
    for (const part of leaves) expect(left.split(part)).toHaveLength(2);
    expect(report.points).toBeGreaterThan(10);
    expect(report.missed).toBeLessThan(Math.max(3, report.trials / 4));
    expect(report.faults).toEqual([]);
  },
);
