/** `cairn run` */
import type { DryRun } from '../../app/simulate/dry-run.ts';
import type { SimulationReport } from '../../app/simulate/simulate-pipeline.ts';
import { withApp, follow } from '../live/follow.ts';
import type { Screen } from '../screen.ts';
import { splitPassword } from '../../app/open-store/store-url.ts';
import { type Session, storeOptions, withoutStore } from '../session.ts';
import { workflowsField, type Command, ofOperation } from '../command.ts';
import { formatViolation } from '../report-failure.ts';
import { printable } from '../../operations/format/terminal.ts';
import type { Tone } from '../text/tone.ts';
import { wrap } from '../text/width.ts';
import { perform } from '../../operations/contract/perform.ts';
import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import type { App } from '../../app/open-app.ts';
import { CairnError } from '../../errors.ts';
import type { FieldsOf, RunStanding } from '../../operations/contract/operation.ts';
import { startRun, type StartRunInput } from '../../operations/runs/start-run.ts';
import { readInput, withTypedTexts } from '../files.ts';

// `cairn run --dry-run`: the ways through a pipeline, as scenarios take them or as they are found.

/** No store is opened: nothing of a dry run is recorded. */
function dryRunPipeline(session: Session, run: DryRun, workflows: readonly string[] | undefined): Promise<number> {
  return withApp(
    withoutStore(session),
    async (app) => {
      const { dryRun } = await import('../../app/simulate/dry-run.ts');
      const report = await dryRun(app, session.cwd, run);
      if (session.isJson) session.printJson(report);
      else printReport(report, session.screen);
      return 0;
    },
    { workflows },
  );
}

const tones: Readonly<Record<string, Tone>> = { success: 'good', failed: 'bad' };

function printReport(
  { runs, coverage: { stages, edges }, untried, endless }: SimulationReport,
  { print, paint, rowWidth }: Screen,
): void {
  for (const { name, status, path, reason, unused } of runs) {
    const steps = path.map(({ stage, outcome }) => (outcome === 'success' ? stage : `${stage} (${outcome})`));
    print(
      `${printable(name)}: ${paint(tones[status] ?? 'warn', status)}${reason === undefined ? '' : `, ${printable(reason)}`}`,
      ...wrap(`  ${printable(steps.join(' -> '))}`, rowWidth),
      ...unused.map((stage) => paint('dim', `  more was said of ${printable(stage)} than it was asked for`)),
    );
  }
  print('', `stages: ${stages.count - stages.missed.length} of ${stages.count}`);
  if (stages.missed.length > 0) print(`  not come to: ${printable(stages.missed.join(', '))}`);
  print(`edges:  ${edges.count - edges.missed.length} of ${edges.count}`);
  for (const { from, to, label, condition, place } of edges.missed)
    print(
      `  not taken: ${printable(`${from} -> ${to} ${condition === '' ? label : `[${condition}]`}`.trimEnd())}  ${paint('dim', printable(place))}`,
    );
  for (const circle of endless)
    print(paint('warn', `without end: ${printable([...circle, ...circle.slice(0, 1)].join(' -> '))}`));
  if (untried > 0)
    print(
      paint(
        'warn',
        `${untried} more ways were found and not tried: a search makes no more runs; say what to try with --simulate`,
      ),
    );
}

interface RunArguments extends Omit<StartRunInput, 'input'> {
  readonly input?: Readonly<Record<string, unknown>>;
  readonly inputFile?: string;
  readonly workflows?: readonly string[];
  readonly dryRun?: boolean;
  readonly simulate?: readonly string[];
}

const fields: FieldsOf<RunArguments> = {
  ...startRun.input,
  input: {
    type: 'assignments',
    description: 'a part of the input, by its dotted path; a value is JSON where it parses as such',
  },
  inputFile: { type: 'text', description: 'the input as JSON in a file; - is standard input' },
  workflows: workflowsField,
  dryRun: { type: 'flag', description: 'of a pipeline: run nothing; say which ways there are through it' },
  simulate: { type: 'texts', description: 'of a dry run: files of scenarios that say how stages end' },
  detach: { type: 'flag', description: 'record the run, let a process of its own advance it, and return' },
};

type Loaded = Pick<App, 'loadGraph'> & { readonly input: unknown };

/** Loads the graph and its input. The file is read once for both. */
async function load(app: App, { texts, screen }: Session, args: RunArguments): Promise<Loaded> {
  const input = readInput(args);
  const loaded = await app.loadGraph(args.file, args.export);
  const { workflow, graph } = loaded;
  for (const warning of (workflow ?? graph).warnings) screen.note(...formatViolation(warning, screen));
  return {
    loadGraph: () => Promise.resolve(loaded),
    input: workflow === undefined ? input : withTypedTexts(input ?? {}, workflow, texts['input'] ?? []),
  };
}

/**
 * Options that name the workflow's file. A store that was typed with `--store` is not trusted to say where its workflows are (N8.2), so a
 * command that goes on with the run must name the file again.
 */
function wordsOfFile({ trustsStore, cwd }: Session, args: RunArguments): readonly string[] {
  if (trustsStore || !existsSync(resolve(cwd, args.file))) return [];
  return ['--file', args.file, ...(args.export === undefined ? [] : ['--export', args.export])];
}

/** Starts a separate process that goes on with the run and outlives this one. */
function resumeInBackground(session: Session, runId: string, ofFile: readonly string[]): void {
  const [node, script = ''] = process.argv as [string, string?];
  const { password } = splitPassword(session.storeUrl ?? '');
  spawn(node, [...process.execArgv, script, 'resume', runId, '--json', ...ofFile, ...storeOptions(session)], {
    cwd: session.cwd,
    ...(password !== undefined && { env: { ...process.env, CAIRN_STORE_PASSWORD: password } }),
    detached: true,
    stdio: 'ignore',
  }).unref();
}

export const runRunCommand: Command<RunArguments> = {
  ...ofOperation(startRun),
  fields,
  details:
    'FILE is a workflow in YAML or DOT, the name of one that is known, or a module that exports a graph, workflow or flow, compiled or not, as graph, workflow, default, or as the only one. In a terminal, questions are asked on the spot; elsewhere the run stops at them and the commands that answer are printed.',
  examples: [
    { line: 'cairn run deploy.yaml --input project=cairn', does: 'run a workflow' },
    {
      line: 'cairn run release.ts --input repository=. --input options.dryRun=true',
      does: 'run a graph with some input',
    },
    { line: 'cairn run release.ts --run-id release-1.2.0', does: 'run it once, however often the command is called' },
    {
      line: 'cairn run release.dot --dry-run --simulate outcomes.yaml',
      does: 'what a pipeline would do, and what that covers',
    },
    { line: 'cat input.json | cairn run release.ts --input-file - --json', does: 'for programs' },
  ],
  runsConfig: true,
  execute(plain, args) {
    const ofFile = wordsOfFile(plain, args);
    // Every command that is printed to resume the run names its file where that is needed.
    const session: Session = {
      ...plain,
      commandLine: (...words) =>
        plain.commandLine(...words, ...(words[0] === 'resume' && !words.includes('--file') ? ofFile : [])),
    };
    const { input: _parts, inputFile: _file, workflows, dryRun, simulate, ...rest } = args;
    if (dryRun === true || simulate !== undefined) {
      const input = (readInput(args) ?? {}) as Readonly<Record<string, unknown>>;
      return dryRunPipeline(session, { file: args.file, scenarioFiles: simulate, input }, workflows);
    }
    const start = async (app: App): Promise<RunStanding | undefined> => {
      const store = app.store;
      if (args.detach === true && !store.capabilities.isShared)
        throw new CairnError('USAGE_INVALID', {
          reason: `${store.name} is open in one process at a time, and another process is to advance the run`,
          hint: 'Name a file that several can open: --store PATH',
        });
      const { loadGraph, input } = await load(app, session, args);
      const { runId, isNew, result } = await perform(
        startRun,
        { ...app, loadGraph },
        { ...rest, ...(input !== undefined && { input }) },
      );
      if (!isNew && !session.isJson)
        session.screen.note(`Run ${printable(runId)} was started before; this is the same run.`);
      if (result !== undefined) return result;
      // A host was woken by the start.
      if (app.config.host === undefined) resumeInBackground(session, runId, ofFile);
      if (session.isJson) session.printJson({ runId, isNew });
      else session.screen.print(`started ${printable(runId)}; see: ${session.commandLine('log', runId)}`);
      return undefined;
    };
    return follow(session, start, { workflows, makesStore: true });
  },
};
