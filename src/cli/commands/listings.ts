/** `cairn completion`: prints what shells need to complete command lines. */
import { type ListedRun, listRuns, type ListRunsInput, type ListRunsOutput } from '../../operations/runs/list-runs.ts';
import { withReading } from '../../app/open-store/open-reading.ts';
import { perform } from '../../operations/contract/perform.ts';
import { type Command, noteNone, type Session, ofOperation } from '../session.ts';
import {
  bashCompletion,
  completedCommands,
  type CompletedCommand,
  fishCompletion,
  zshCompletion,
} from '../completion/shells.ts';
import { printable } from '../../operations/format/terminal.ts';
import { toneOf, formatTable, type Cell } from '../text/terminal-text.ts';
import { describeWorker } from '../../app/process/process-ids.ts';
import { listWorkers, type ListWorkersInput, type ListWorkersOutput } from '../../operations/store/list-workers.ts';
import { deathWords, countOf } from '../../operations/format/amounts.ts';
import { formatAge } from '../../operations/format/time.ts';
import { listWaits, type ListWaitsInput, type ListWaitsOutput } from '../../operations/waits/list-waits.ts';
import { nodeNameOf, type OpenQuestion } from '../../operations/waits/find-wait.ts';
import { runName } from '../../operations/runs/find-run.ts';
import { formatDue, formatWait, purposeOf } from '../text/wait-text.ts';

interface CompletionArguments {
  readonly shell: string;
}

const scripts: Readonly<Record<string, (commands: readonly CompletedCommand[]) => string>> = {
  bash: bashCompletion,
  zsh: zshCompletion,
  fish: fishCompletion,
};

/** Ids that mean nothing to a shell. A store may come from anywhere, and bash expands the words it is offered. */
const plainId = /^[\p{L}\p{N}_][\p{L}\p{N}_.:@/+-]*$/u;

/** The most runs to offer, newest first. */
const runsMax = 50;

/** @param commands - all there are, this one included */
export function createCompletionCommand(commands: () => readonly Command[]): Command<CompletionArguments> {
  return {
    name: 'completion',
    summary: 'print what a shell needs to complete commands, options and runs',
    fields: {
      shell: {
        type: 'text',
        description: 'the shell',
        isRequired: true,
        isPositional: true,
        choices: [...Object.keys(scripts), 'runs'],
      },
    },
    details:
      'The scripts ask for runs by: cairn completion runs, which prints the newest, a line each. It runs no configuration that is code.',
    examples: [
      { line: 'source <(cairn completion bash)', does: 'in ~/.bashrc; for zsh alike in ~/.zshrc, behind compinit' },
      { line: 'cairn completion fish > ~/.config/fish/completions/cairn.fish', does: 'for fish, once' },
    ],
    async execute(session, { shell }) {
      const script = scripts[shell]?.(completedCommands(commands()));
      if (script !== undefined) {
        session.screen.print(script.trimEnd());
        return 0;
      }
      const { runs } = await withReading(session, (context) => perform(listRuns, context, { limit: runsMax }));
      session.screen.print(runs.map(({ runId }) => runId).filter((runId) => plainId.test(runId)));
      return 0;
    },
  };
}

// `cairn ls`

const columns = [
  { title: 'RUN', canShrink: true },
  { title: 'STATUS' },
  { title: 'GRAPH', canShrink: true },
  { title: 'HEAD', isRight: true },
  { title: 'AGE', isRight: true },
] as const;

function statusOf({ status: text }: ListedRun): Cell {
  const tones = { stopped: 'warn', held: 'warn', damaged: 'bad', answered: 'good' } as const;
  return { text, tone: text in tones ? tones[text as keyof typeof tones] : toneOf(text) };
}

interface Listed extends ListRunsOutput {
  readonly now: number;
}

function printRuns({ screen, commandLine }: Session, { runs, hasMore, now }: Listed): void {
  const rows = underParents(runs).map(({ run, lines }) => [
    `${lines}${printable(runName(run.runId))}`,
    statusOf(run),
    printable(run.graphId),
    String(run.head),
    formatAge(now - run.createdAt),
  ]);
  screen.print(formatTable(columns, rows, screen));
  for (const { runId, graphId, waitsForCode: wait } of runs)
    if (wait !== undefined)
      screen.print(
        `${printable(runId)} waits for code: no live worker can go on with ${printable(graphId)} ${printable(wait.graphHash.slice(0, 12))}, for ${formatAge(now - wait.since)}`,
      );
  for (const { runId, deaths } of runs)
    if (deaths !== undefined) screen.print(screen.paint('warn', `${printable(runId)}: ${deathWords(deaths)}`));
  if (hasMore) screen.note(screen.paint('dim', `There are more: ${commandLine('ls', '--all')}`));
}

export const lsCommand: Command<ListRunsInput> = {
  ...ofOperation(listRuns),
  details:
    'A run that is "queued" was not taken up yet: a worker does. One that is "stopped" is running by its record, but nobody works on it: its process has died; resume it. One that is "answered" can be resumed. One that is "held" was restored from a backup: release it first. Of a run whose workers ended while they advanced it, the same one after another, it says how many. A run "waits for code" if it could go on, and no live worker has its graph, or all refused it. Of one that is "damaged" the store holds something else than was written.',
  examples: [
    { line: 'cairn ls', does: 'the newest runs' },
    { line: 'cairn ls --status paused,failed --graph release-notes', does: 'what needs attention' },
    { line: 'cairn ls --all --json', does: 'everything, for a program' },
  ],
  execute(session, input) {
    return withReading(session, async (context) => {
      const output = await perform(listRuns, context, input);
      if (session.isJson) session.printJson(output);
      else if (output.runs.length === 0) await noteNone(session, 'No runs here');
      else printRuns(session, { ...output, now: context.now() });
      return 0;
    });
  },
};

// `cairn workers`

const workerColumns = [
  { title: 'WORKER', canShrink: true },
  { title: 'STATE' },
  { title: 'SERVES', canShrink: true },
  { title: 'RUNS', isRight: true },
  { title: 'HEARD OF', isRight: true },
] as const;

function stateOf({ isAlive, isStopping }: ListWorkersOutput['workers'][number]): Cell {
  if (isAlive) return isStopping === true ? { text: 'stopping', tone: 'warn' } : { text: 'alive', tone: 'good' };
  return isStopping === true ? { text: 'stopped', tone: 'dim' } : { text: 'gone', tone: 'bad' };
}

function workOf({ only, queues, graphs }: ListWorkersOutput['workers'][number]): string {
  const ids = only ?? ['everything', ...graphs.map(({ graphId }) => graphId)];
  return printable([...ids, ...(queues ?? []).map((queue) => `queue ${queue}`)].join(', '));
}

function printWorkers({ screen }: Session, { workers }: ListWorkersOutput, now: number): void {
  const rows = workers.map((worker) => [
    printable(describeWorker(worker.workerId)),
    stateOf(worker),
    workOf(worker),
    `${worker.runs.length}/${worker.concurrency}`,
    formatAge(now - worker.seenAt),
  ]);
  screen.print(formatTable(workerColumns, rows, screen));
  for (const { workerId, runs, isAlive } of workers)
    if (runs.length > 0) {
      const verb = isAlive ? 'holds' : 'held';
      screen.print(
        `${printable(describeWorker(workerId))} ${verb} ${runs.map((runId) => printable(runId)).join(', ')}`,
      );
    }
}

/** How many runs wait for a worker, and for how long: a backlog that grows needs another worker. */
function printBacklog({ screen }: Session, { backlog: { ready, oldestMs = 0 } }: ListWorkersOutput): void {
  if (ready === 0) return;
  const age = formatAge(oldestMs);
  screen.print(screen.paint('warn', `${countOf(ready, 'run')} ready for a worker, the oldest for ${age}`));
}

export const workersCommand: Command<ListWorkersInput> = {
  ...ofOperation(listWorkers),
  details:
    'Workers tell the store that they are alive, what they serve and hold, three times a lease. One that was not heard of for a lease is gone: others take over what it held. "everything": it takes up runs of any graph whose text is recorded, or that its folder has.',
  examples: [
    { line: 'cairn workers', does: 'who is alive' },
    { line: 'cairn workers --all --json', does: 'also who stopped or died within a day, for a program' },
  ],
  execute(session, input) {
    return withReading(session, async (context) => {
      const output = await perform(listWorkers, context, input);
      if (session.isJson) session.printJson(output);
      else {
        if (output.workers.length === 0) await noteNone(session, 'No worker is alive');
        else printWorkers(session, output, context.now());
        printBacklog(session, output);
      }
      return 0;
    });
  },
};

// `cairn inbox`

const waitColumns = [
  { title: 'RUN', canShrink: true },
  { title: 'NODE', canShrink: true },
  { title: 'WAITS FOR', canShrink: true },
  { title: 'UNTIL' },
] as const;

function rowOf(wait: OpenQuestion, now: number): readonly string[] {
  const until = wait.dueAt === undefined ? '' : formatDue(wait.dueAt, now);
  return [printable(runName(wait.runId)), printable(nodeNameOf(wait)), printable(purposeOf(wait)), until];
}

/** A line for each run that needs a resume and nothing else. */
function printAnswered({ screen, commandLine }: Session, { waits, waiting, answered }: ListWaitsOutput): void {
  if (answered.length > 0 && waits.length + waiting.length > 0) screen.print('');
  for (const { runId, graphId } of answered)
    screen.print(`${printable(graphId)} is answered; go on: ${screen.paint('good', commandLine('resume', runId))}`);
}

function printWaits(session: Session, output: ListWaitsOutput, now: number): void {
  const { screen, commandLine } = session;
  const { waits, hasMore, waiting, answered } = output;
  for (const [index, wait] of waits.entries()) {
    if (index > 0) screen.print('');
    for (const line of formatWait(session, wait, { now, graphId: wait.graphId })) screen.print(line);
  }
  if (waiting.length > 0) {
    if (waits.length > 0) screen.print('');
    screen.print(
      ...formatTable(
        waitColumns,
        waiting.map((wait) => rowOf(wait, now)),
        screen,
      ),
    );
  }
  printAnswered(session, output);
  const most = Math.max(waits.length, waiting.length, answered.length);
  if (hasMore)
    screen.note(screen.paint('dim', `There are more: ${commandLine('inbox', '--limit', String(most * 10))}`));
}

export const inboxCommand: Command<ListWaitsInput> = {
  ...ofOperation(listWaits),
  examples: [
    { line: 'cairn inbox', does: 'all open questions, and which runs wait for signals and times' },
    { line: 'cairn inbox 0198c2f4 --all', does: 'everything that one run waits for' },
  ],
  execute(session, input) {
    return withReading(session, async (context) => {
      const output = await perform(listWaits, context, input);
      if (session.isJson) session.printJson(output);
      else if (output.waits.length + output.waiting.length + output.answered.length === 0)
        await noteNone(session, 'Nothing is open');
      else printWaits(session, output, context.now());
      return 0;
    });
  },
};

// Runs as people look for them: each fork under the run that it was forked from.

/** A run, and the lines that lead to it from its ancestors above it in the list; empty without any. */
interface PlacedRun {
  readonly run: ListedRun;
  readonly lines: string;
}

/** Runs keep their order; a fork whose parent is among them is moved below it, after that one's earlier forks. */
export function underParents(runs: readonly ListedRun[]): readonly PlacedRun[] {
  const listed = new Set(runs.map(({ runId }) => runId));
  const parentOf = ({ parent }: ListedRun): string | undefined =>
    parent !== undefined && listed.has(parent.runId) ? parent.runId : undefined;
  const forks = Map.groupBy(runs, parentOf);
  const placed: PlacedRun[] = [];
  const waiting: PlacedRun[] = (forks.get(undefined) ?? []).map((run) => ({ run, lines: '' })).toReversed();
  for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
    placed.push(next);
    const before = next.lines.replace('├ ', '│ ').replace('└ ', '  ');
    const children = forks.get(next.run.runId) ?? [];
    const last = children.length - 1;
    waiting.push(
      ...children.map((run, index) => ({ run, lines: `${before}${index < last ? '├ ' : '└ '}` })).toReversed(),
    );
  }
  return placed;
}
