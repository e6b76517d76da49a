/** Opens, finds and ends schedules by name. */
import type { Engine, RunMeta } from '../../engine/api.ts';
import { newFrame } from '../../engine/admit/new-frame.ts';
import { defaultLimits } from '../../engine/limits.ts';
import { CairnError } from '../../errors.ts';
import type { Graph } from '../../graph/graph.ts';
import type { RunRow } from '../../ports/store.ts';
import { readCron } from './cron-times.ts';
import { missedPolicies, type MissedPolicy, type ScheduleSettings } from './schedule-graph.ts';

/** Options of a schedule. @typeParam Input - what the graph takes */
export interface ScheduleOptions<Input = unknown> {
  /** Cron expression: five fields, or six with seconds first (`0 2 * * *`), or `@daily` and the like. */
  readonly cron: string;
  /** Time zone, an IANA name such as `Europe/Berlin`. Default `UTC`. */
  readonly timezone?: string;
  /** Input of each run that is started. */
  readonly input?: Input;
  /** Name of the schedule, with which the ids of its runs begin: letters, digits, `_` and `-`. Default: the graph's id. */
  readonly name?: string;
  /** What to do about due times that were missed by more than a minute. Default `last`: start a run for the newest of them. */
  readonly missed?: MissedPolicy;
  /** The most runs that `all` starts at once, for the newest times. Default 100. */
  readonly limit?: number;
}

/** The most schedules with one name, one after another. */
const generationsMax = 10_000;

/** Validates the options. @throws CONFIG_INVALID an option is invalid; INPUT_INVALID the graph would refuse the input each time */
export async function readSettings(graph: Graph, options: ScheduleOptions): Promise<ScheduleSettings> {
  const { cron, timezone = 'UTC', input = {}, name = graph.id, missed = 'last', limit = 100 } = options;
  if (!/^[\w-]{1,100}$/.test(name))
    throw invalid('name', `${JSON.stringify(name)} is not made of letters, digits, _ and -`);
  if (!missedPolicies.includes(missed)) throw invalid('missed', `it is one of ${missedPolicies.join(', ')}`);
  if (!(Number.isSafeInteger(limit) && limit >= 1 && limit <= 1000))
    throw invalid('limit', 'it is a whole number from 1 to 1,000');
  readCron(cron, timezone);
  await newFrame(graph, input, defaultLimits, undefined);
  return { name, cron, timezone, missed, limit, input };
}

function invalid(path: string, reason: string): CairnError {
  return new CairnError('CONFIG_INVALID', { path, reason });
}

export interface OpenedSchedule {
  readonly runId: string;
  /** False if the schedule existed already, with the same settings. */
  readonly created: boolean;
}

const runIdOf = (name: string, generation: number): string =>
  generation === 1 ? `${name}.schedule` : `${name}.schedule.${generation}`;

const isOver = ({ status }: RunRow): boolean => status === 'completed' || status === 'cancelled' || status === 'failed';

/** The newest active schedule with this name, and how many there were before it. */
async function findGeneration(
  { ports }: Engine,
  name: string,
): Promise<{ readonly generation: number; readonly run?: RunRow }> {
  for (let generation = 1; generation <= generationsMax; generation += 1) {
    const run = await ports.store.readRun({ tenant: ports.tenant, runId: runIdOf(name, generation) });
    if (run === undefined || !isOver(run)) return { generation, ...(run !== undefined && { run }) };
  }
  throw invalid('name', `there were ${generationsMax} schedules of the name ${name}`);
}

/**
 * Records the run of a schedule. Opening it twice with the same settings gives the same schedule, also from two processes at once.
 * @param replaces - whether to end and replace a schedule with this name and other settings
 * @throws CONFIG_INVALID there is a schedule with this name and other settings
 */
export async function openSchedule(
  engine: Engine,
  graph: Graph,
  settings: ScheduleSettings,
  { meta, replaces = false }: { readonly meta?: RunMeta; readonly replaces?: boolean } = {},
): Promise<OpenedSchedule> {
  for (;;) {
    const { generation, run } = await findGeneration(engine, settings.name);
    const runId = runIdOf(settings.name, generation);
    // A schedule that is opened again at each start of a program may have met its last time.
    if (run === undefined && generation === 1) refuseIfPast(settings, engine.ports.clock.now());
    try {
      const { created } = await engine.start(graph, settings, {
        runId,
        detach: true,
        ...(meta !== undefined && { meta }),
      });
      return { runId, created };
    } catch (error) {
      if (!CairnError.is(error, 'RUN_EXISTS')) throw error;
      if (!replaces || run === undefined)
        throw invalid(
          'name',
          `there is a schedule ${settings.name} with other settings: end or replace it, or take another name`,
        );
      await engine.cancel(runId);
      await ended(engine, runId);
    }
  }
}

/** @throws CONFIG_INVALID each year that the expression names is over */
function refuseIfPast({ cron, timezone }: ScheduleSettings, now: number): void {
  if (readCron(cron, timezone).next(now) === undefined)
    throw invalid('cron', `${JSON.stringify(cron)} never comes again: its last time has passed`);
}

/** Ends a schedule. The runs that it started go on. @returns the id of its run. @throws RUN_NOT_FOUND there is none with this name */
export async function endSchedule(engine: Engine, name: string): Promise<string> {
  const { run } = await findGeneration(engine, name);
  if (run === undefined) throw new CairnError('RUN_NOT_FOUND', { runId: `of a schedule ${name}` });
  await engine.cancel(run.runId);
  return run.runId;
}

/** Waits until the schedule has ended; a worker that holds its run ends it within a moment. */
async function ended({ ports }: Engine, runId: string): Promise<void> {
  const { store, tenant, clock } = ports;
  for (let looks = 0; looks < 100; looks += 1) {
    const run = await store.readRun({ tenant, runId });
    if (run === undefined || isOver(run)) return;
    await new Promise<void>((resolve) => void clock.setTimer(100, resolve));
  }
  throw new CairnError('CLAIM_TAKEN', { runId, owner: 'a worker', remainingMs: 0 });
}
