/** `cairn run` */
import { perform } from '../../operations/declare/perform.ts';
import { spawn } from 'node:child_process';
import type { App } from '../../app/open-app.ts';
import { CairnError } from '../../errors.ts';
import type { FieldsOf, RunStanding } from '../../operations/declare/operation.ts';
import { startRun, type StartRunInput } from '../../operations/runs/start-run.ts';
import { workflowsField } from '../app-fields.ts';
import type { Command } from '../command.ts';
import { formatViolation } from '../failure.ts';
import { follow } from '../live/follow.ts';
import { readInput, withTypedTexts } from '../read-input.ts';
import { storeOptions, type Session } from '../session.ts';
import { printable } from '../text/printable.ts';
import { dryRunPipeline } from './dry-run.ts';

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

/** Starts a separate process that goes on with the run and outlives this one. */
function resumeInBackground(session: Session, runId: string): void {
  const [node, script = ''] = process.argv as [string, string?];
  spawn(node, [...process.execArgv, script, 'resume', runId, '--json', ...storeOptions(session)], {
    cwd: session.cwd,
    detached: true,
    stdio: 'ignore',
  }).unref();
}

export const runRunCommand: Command<RunArguments> = {
  name: startRun.name,
  summary: startRun.summary,
  fields,
  details:
    'FILE is a workflow in YAML or DOT, the name of one that is known, or a module that exports a compiled graph as graph, workflow, default, or as its only graph. In a terminal, questions are asked on the spot; elsewhere the run stops at them and the commands that answer are printed.',
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
  execute(session, args) {
    const { input: _parts, inputFile: _file, workflows, dryRun, simulate, ...rest } = args;
    if (dryRun === true || simulate !== undefined) {
      const input = (readInput(args) ?? {}) as Readonly<Record<string, unknown>>;
      return dryRunPipeline(session, { file: args.file, scenarioFiles: simulate, input }, workflows);
    }
    const start = async (app: App): Promise<RunStanding | undefined> => {
      if (args.detach === true && app.place.kind === 'memory')
        throw new CairnError('USAGE_INVALID', {
          reason: 'a store in memory is seen by this command alone, and another process is to advance the run',
          hint: 'Name a file: --store PATH',
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
      resumeInBackground(session, runId);
      if (session.isJson) session.printJson({ runId, isNew });
      else session.screen.print(`started ${printable(runId)}; see: ${session.commandLine('log', runId)}`);
      return undefined;
    };
    return follow(session, start, { workflows, makesStore: true });
  },
};
