/** `cairn ls` */
import {
  type ListedRun,
  listEachRun,
  listRuns,
  type ListRunsInput,
  type ListRunsOutput,
} from '../../operations/runs/list-runs.ts';
import { withReading } from '../../app/open-store/open-reading.ts';
import { perform } from '../../operations/contract/perform.ts';
import { type Command, ofOperation } from '../command.ts';
import { printJsonLines } from '../json-lines.ts';
import { boundYoungMemory } from '../young-memory.ts';
import { countEach, openProgress } from '../live/progress.ts';
import { noteNone, type Session } from '../session.ts';
import { printable } from '../../operations/format/terminal.ts';
import { toneOf } from '../text/tone.ts';
import { awaitedWords } from '../text/awaited-text.ts';
import { formatTable, type Cell } from '../text/text-table.ts';
import { countOf, deathWords } from '../../operations/format/amounts.ts';
import { formatAge } from '../../operations/format/time.ts';
import { runName } from '../../operations/runs/find-run.ts';

const columns = [
  { title: 'RUN', canShrink: true },
  { title: 'STATUS' },
  { title: 'GRAPH', canShrink: true },
  { title: 'HEAD', isRight: true },
  { title: 'AGE', isRight: true },
] as const;
const titleColumn = { title: 'TITLE', canShrink: true } as const;

function statusOf({ status: text }: ListedRun): Cell {
  const tones = { stopped: 'warn', held: 'warn', damaged: 'bad', answered: 'good' } as const;
  return { text, tone: text in tones ? tones[text as keyof typeof tones] : toneOf(text) };
}

interface Listed extends ListRunsOutput {
  readonly now: number;
}

function printRuns({ screen, commandLine }: Session, { runs, hasMore, now }: Listed): void {
  const hasTitles = runs.some(({ title }) => title !== undefined);
  const rows = underParents(runs).map(({ run, lines }) => [
    `${lines}${printable(runName(run.runId))}`,
    statusOf(run),
    printable(run.graphId),
    String(run.head),
    formatAge(now - run.createdAt),
    ...(hasTitles ? [printable(run.title ?? '')] : []),
  ]);
  screen.print(formatTable(hasTitles ? [...columns, titleColumn] : columns, rows, screen));
  for (const { runId, graphId, waitsForCode: wait } of runs)
    if (wait !== undefined)
      screen.print(
        `${printable(runId)} waits for code: no live worker can go on with ${printable(graphId)} ${printable(wait.version ?? wait.graphHash.slice(0, 12))}, for ${formatAge(now - wait.since)}`,
      );
  for (const { runId, awaits = [] } of runs)
    for (const awaited of awaits) screen.print(`${printable(runId)} waits for ${awaitedWords(awaited)}`);
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
    { line: 'cairn ls --group error --since 1d', does: 'why runs failed, and how many' },
    { line: 'cairn ls --group status --graph release-notes', does: 'how many runs have each status' },
    { line: 'cairn ls --all --json', does: 'everything, for a program: a JSON document a line' },
  ],
  async execute(session, input) {
    if (input.error !== undefined || input.node !== undefined || input.group === 'error')
      return listByError(session, input);
    return withReading(session, async (context) => {
      if (input.all === true) {
        const { all: _all, limit: _limit, ...filter } = input;
        const isOfAll = Object.keys(filter).length === 0;
        const progress = await openProgress(session.screen, context, { done: 'listed', isOfAll });
        return listAll(session, countEach(listEachRun(context, input), progress), context.now());
      }
      const output = await perform(listRuns, context, input);
      if (session.isJson) session.printJson(output);
      else if (output.counts !== undefined) printCounts(session, output.counts);
      else if (output.runs.length === 0) await noteNone(session, 'No runs here');
      else printRuns(session, { ...output, now: context.now() });
      return 0;
    });
  },
};

/** Why runs failed is in their states. */
async function listByError(session: Session, input: ListRunsInput): Promise<number> {
  const { withHistory } = await import('../../app/open-store/with-history.ts');
  return withHistory(session, async (context) => {
    const output = await perform(listRuns, context, input);
    const { groups = [], counts, runs } = output;
    if (session.isJson) session.printJson(output);
    else if (counts !== undefined) printCounts(session, counts);
    else if (groups.length > 0) printGroups(session, groups);
    else if (runs.length === 0) await noteNone(session, 'No such failed runs');
    else printRuns(session, { ...output, now: context.now() });
    return 0;
  });
}

const groupColumns = [
  { title: 'RUNS', isRight: true },
  { title: 'ERROR' },
  { title: 'MESSAGE', canShrink: true },
  { title: 'NEWEST', canShrink: true },
] as const;

function printGroups({ screen }: Session, groups: NonNullable<ListRunsOutput['groups']>): void {
  const rows = groups.map(({ count, code, message, runs }) =>
    [String(count), code, message, runName(runs[0] ?? '')].map(printable),
  );
  screen.print(formatTable(groupColumns, rows, screen));
}

function printCounts({ screen }: Session, counts: NonNullable<ListRunsOutput['counts']>): void {
  const rows = counts.map(({ status, count }) => [String(count), status]);
  screen.print(formatTable([{ title: 'RUNS', isRight: true }, { title: 'STATUS' }], rows, screen));
}

/** So many runs are one table, in which forks stand below their parents; longer lists are printed page by page. */
const pageRuns = 500;

async function listAll(session: Session, runs: ReturnType<typeof listEachRun>, now: number): Promise<number> {
  boundYoungMemory();
  if (session.isJson) {
    await printJsonLines(session, runs);
    return 0;
  }
  let page: ListedRun[] = [];
  let count = 0;
  for await (const run of runs) {
    count += 1;
    if (page.push(run) < pageRuns) continue;
    printRuns(session, { runs: page, hasMore: false, now });
    page = [];
  }
  if (count === 0) await noteNone(session, 'No runs here');
  else if (page.length > 0) printRuns(session, { runs: page, hasMore: false, now });
  if (count > pageRuns) session.screen.note(session.screen.paint('dim', `Listed ${countOf(count, 'run')}.`));
  return 0;
}

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
