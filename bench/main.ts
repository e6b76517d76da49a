/**
 * The benchmark: prints ratios, each beside its target. `npm run bench -- [--only PATTERN] [--reps N] [--json FILE]`
 *
 * A row that misses its target is said, and is no failure of the command: machines differ.
 */
import { spawnSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { parseArgs } from 'node:util';
import type { Group, Row, Sample } from './group.ts';
import { groups } from './groups.ts';
import { median } from './median.ts';
import type { GroupReport } from './run-group.ts';
import { formatHeader, formatResult, type Result } from './table.ts';

const { values: options } = parseArgs({
  options: { only: { type: 'string' }, reps: { type: 'string', default: '5' }, json: { type: 'string' } },
});
const root = resolve(import.meta.dirname, '..');

function runGroup(name: string): GroupReport {
  const args = [resolve(import.meta.dirname, 'run-group.ts'), name, options.reps];
  const env = { ...process.env, NODE_NO_WARNINGS: '1' };
  const { status, stdout, stderr } = spawnSync(process.execPath, args, { cwd: root, encoding: 'utf8', env });
  const line = stdout.trim().split('\n').at(-1) ?? '';
  if (status !== 0 || line === '') return { notMeasured: stderr.trim().split('\n').slice(0, 12).join('\n') };
  return JSON.parse(line) as GroupReport;
}

function build(): string | undefined {
  const { status, stdout, stderr } = spawnSync(process.execPath, ['scripts/build.ts'], { cwd: root, encoding: 'utf8' });
  return status === 0 ? undefined : `dist/ could not be built: ${stdout}${stderr}`.trim();
}

function resultOf(row: Row, report: GroupReport): Result {
  if ('notMeasured' in report) return { row, reason: report.notMeasured };
  const samples = report.repetitions.map((repetition) => repetition[row.name]).filter((sample) => sample !== undefined);
  if (samples.length === 0) return { row, reason: 'no repetition measured it' };
  const middle = (value: (sample: Sample) => number): number => median(samples.map(value));
  const unit = samples[0]!.unit;
  return {
    row,
    ratio: middle(({ ours, floor }) => ours / floor),
    sample: { ours: middle(({ ours }) => ours), floor: middle(({ floor }) => floor), unit },
  };
}

function isSelected(row: Row): boolean {
  return options.only === undefined || new RegExp(options.only, 'i').test(`${row.name}, ${row.against}`);
}

function isMet({ row: { target }, ratio }: Result): boolean {
  return target !== undefined && ratio !== undefined && ratio <= target;
}

const selected = Object.entries(groups).filter(([, { rows }]) => rows.some(isSelected));
mkdirSync(resolve(root, 'node_modules/.cache'), { recursive: true });
let isBuilt: { readonly fault: string | undefined } | undefined;

function measure(name: string, { needsBuild }: Group): GroupReport {
  if (needsBuild === true) {
    isBuilt ??= { fault: build() };
    if (isBuilt.fault !== undefined) return { notMeasured: isBuilt.fault };
  }
  return runGroup(name);
}

const results: Result[] = [];
console.log(formatHeader());
for (const [name, group] of selected) {
  const report = measure(name, group);
  for (const row of group.rows.filter(isSelected)) {
    const result = resultOf(row, report);
    results.push(result);
    console.log(formatResult(result));
  }
}

const unmeasured = results.filter(({ ratio }) => ratio === undefined).length;
const judged = results.filter(({ row, ratio }) => row.target !== undefined && ratio !== undefined);
const met = judged.filter(isMet).length;
console.log(`\n${met} met, ${judged.length - met} missed, ${unmeasured} not measured`);
if (options.json !== undefined) {
  const rows = results.map((result) => ({
    name: result.row.name,
    ratio: result.ratio ?? null,
    target: result.row.target ?? null,
    met: isMet(result),
    ...(result.reason !== undefined && { reason: result.reason }),
  }));
  writeFileSync(options.json, `${JSON.stringify(rows, undefined, 2)}\n`);
}
