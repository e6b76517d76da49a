/** `cairn schedule` */
import type { App } from '../../app/open-app.ts';
import { perform } from '../../operations/contract/perform.ts';
import type { FieldsOf } from '../../operations/contract/operation.ts';
import {
  schedule,
  type ScheduleInput,
  type ScheduleOutput,
  type ShownSchedule,
} from '../../operations/runs/schedules.ts';
import { workflowsField, type Command, ofOperation } from '../command.ts';
import { noteNone, type Session } from '../session.ts';
import { withApp } from '../live/follow.ts';
import { readInput, withTypedTexts } from '../files.ts';
import { printable } from '../../operations/format/terminal.ts';
import { formatTable } from '../text/text-table.ts';
import { formatTime } from '../../operations/format/time.ts';

interface ScheduleArguments extends Omit<ScheduleInput, 'input'> {
  readonly input?: Readonly<Record<string, unknown>>;
  readonly inputFile?: string;
  readonly workflows?: readonly string[];
}

const fields: FieldsOf<ScheduleArguments> = {
  ...schedule.input,
  input: { type: 'assignments', description: 'a part of what each run is given, by its dotted path' },
  inputFile: { type: 'text', description: 'the input as JSON in a file; - is standard input' },
  workflows: workflowsField,
};

const columns = [
  { title: 'SCHEDULE', canShrink: true },
  { title: 'WHEN', canShrink: true },
  { title: 'NEXT' },
  { title: 'LAST STARTED', canShrink: true },
  { title: 'FILE', canShrink: true },
] as const;

function rowOf(schedule: ShownSchedule): readonly string[] {
  const { name, cron, timezone, nextAt, status, file, pausedAt } = schedule;
  const next =
    pausedAt !== undefined ? `paused ${formatTime(pausedAt)}` : nextAt === undefined ? status : formatTime(nextAt);
  return [name, `${cron} ${timezone}`, next, lastOf(schedule), file ?? ''].map(printable);
}

function lastOf({ started, error, skipped, waiting }: ShownSchedule): string {
  if (error !== undefined) return `failed: ${error}`;
  if (waiting !== undefined) return `waits to start ${waiting.at(-1)}`;
  const skippedAt = skipped?.times.at(-1);
  if (started.length === 0 && skipped !== undefined && skippedAt !== undefined)
    return `left out ${formatTime(skippedAt)}: ${skipped.because === 'paused' ? 'it was paused' : 'the run before goes on'}`;
  return started.at(-1) ?? '';
}

const doneWords: Readonly<Record<string, string>> = {
  remove: 'ended',
  pause: 'paused',
  resume: 'goes on:',
};

/** What an update changed: `cron: 0 2 * * * → 0 3 * * *`. */
function changeLines({ changes = {} }: ScheduleOutput): readonly string[] {
  const said = (name: string, value: unknown): string => {
    if (name === 'endsAt' && typeof value === 'number') return formatTime(value);
    return typeof value === 'string' ? value : value === undefined ? 'default' : JSON.stringify(value);
  };
  return Object.entries(changes).map(([name, { before, after }]) =>
    printable(`  ${name}: ${said(name, before)} → ${said(name, after)}`),
  );
}

async function print(session: Session, action: string, output: ScheduleOutput): Promise<void> {
  const { screen, commandLine } = session;
  const { schedules, created, changes, starts = [] } = output;
  if (action === 'list') {
    if (schedules.length === 0) await noteNone(session, 'No schedules here');
    else screen.print(formatTable(columns, schedules.map(rowOf), screen));
    return;
  }
  for (const { name, runId } of schedules) {
    if (action === 'add') {
      const done = changes !== undefined ? 'changed' : created === false ? 'was there' : 'scheduled';
      screen.print([`${done}: ${printable(name)}, run ${printable(runId)}`, ...changeLines(output)]);
    } else if (starts.length > 0)
      screen.print(
        `${printable(name)} starts ${starts.length === 1 ? printable(starts[0] ?? '') : `${starts.length} runs`}`,
      );
    else
      screen.print(
        `${doneWords[action] ?? action} ${printable(name)}${action === 'remove' ? '; what it started goes on' : ''}`,
      );
  }
  if (action === 'add' || starts.length > 0) screen.note(`A worker meets its times: ${commandLine('worker')}`);
}

/** Reads the input as `run` does: a value that the workflow declares as text stays as typed. */
async function typed(
  app: App,
  { texts }: Session,
  { action, target, export: exportName }: Pick<ScheduleArguments, 'action' | 'target' | 'export'>,
  value: unknown,
): Promise<unknown> {
  if (action !== 'add' || target === undefined || texts['input'] === undefined) return value;
  const { workflow } = await app.loadGraph(target, exportName);
  return workflow === undefined ? value : withTypedTexts(value, workflow, texts['input']);
}

export const scheduleCommand: Command<ScheduleArguments> = {
  ...ofOperation(schedule),
  fields,
  details:
    'Adding a schedule of a name again changes it, and says what is different. A schedule is a run that sleeps: log shows its due times, inbox until when it sleeps. A worker has to be there to meet them. What it starts is read from the file at each due time; the id of the run follows from the time, so each is started once. --missed says what becomes of times that nobody met within a minute: the newest is started (last, the default), none (skip), or all.',
  examples: [
    { line: `cairn schedule add report.yaml --cron '0 2 * * *' --timezone Europe/Berlin`, does: 'each night at two' },
    {
      line: `cairn schedule add report.ts --name weekly --cron '0 8 * * 1' --missed all`,
      does: 'none is left out',
    },
    {
      line: 'cairn schedule add report.ts --cron @daily --webhook "$URL failed secret:KEY"',
      does: 'tell of runs that fail',
    },
    { line: 'cairn schedule list', does: 'when each is due next, and what it started last' },
    { line: 'cairn schedule pause weekly', does: 'leave out its times, until cairn schedule resume weekly' },
    { line: 'cairn schedule trigger weekly', does: 'start a run now' },
    {
      line: 'cairn schedule backfill weekly --from 30d --overlap queue',
      does: 'start what was missed, one after another',
    },
    { line: 'cairn schedule remove weekly', does: 'end it' },
  ],
  runsConfig: true,
  execute(session, { input, inputFile, workflows, ...options }) {
    const value = readInput({ ...(input && { input }), ...(inputFile !== undefined && { inputFile }) });
    const open = { workflows, makesStore: options.action === 'add' };
    return withApp(
      session,
      async (app) => {
        const ofRuns = await typed(app, session, options, value);
        const output = await perform(schedule, app, { ...options, ...(ofRuns !== undefined && { input: ofRuns }) });
        if (session.isJson) session.printJson(output);
        else await print(session, options.action, output);
        return 0;
      },
      open,
    );
  },
};
