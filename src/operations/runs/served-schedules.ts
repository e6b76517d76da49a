/** Schedules by their names, as a server lists, pauses, resumes and triggers them. The operation `schedule` reads files too, so it is for commands and programs. */
import { CairnError } from '../../errors.ts';
import { described, objectOf, texts } from '../contract/output-shapes.ts';
import type { HistoryContext, RoutedOperation, WorkContext } from '../contract/operation.ts';
import {
  listSchedules as readSchedules,
  schedule,
  schedulesShape,
  type ScheduleContext,
  type ScheduleOutput,
  type ShownSchedule,
} from './schedules.ts';

export interface SchedulesOutput {
  readonly schedules: readonly ShownSchedule[];
}

/** Engines alone, and tenants beside the first, have none. */
function hasSchedules(context: object): context is ScheduleContext {
  return 'schedules' in context && context.schedules !== undefined;
}

export interface ListSchedulesInput {
  readonly name?: string;
}

export const listSchedules: RoutedOperation<ListSchedulesInput, SchedulesOutput, HistoryContext> = {
  name: 'list_schedules',
  summary: 'list the schedules: when they are due next, what they started, and whether they are paused',
  input: { name: { type: 'text', description: 'only this one' } },
  output: 'the schedules',
  outputSchema: objectOf({ schedules: schedulesShape }),
  isReadOnly: true,
  scope: 'read',
  route: 'GET /schedules',
  async run(context, { name }) {
    const schedules = hasSchedules(context) ? await readSchedules(context) : [];
    return { schedules: schedules.filter((one) => name === undefined || one.name === name) };
  },
};

export interface ChangeScheduleInput {
  readonly name: string;
  readonly action: string;
  readonly by?: string;
}

export const changeSchedule: RoutedOperation<ChangeScheduleInput, ScheduleOutput, WorkContext> = {
  name: 'change_schedule',
  summary: 'pause a schedule, let it go on, or have it start a run now',
  input: {
    name: { type: 'text', description: 'the schedule', isRequired: true },
    action: { type: 'text', description: 'what to do', isRequired: true, choices: ['pause', 'resume', 'trigger'] },
    by: { type: 'text', description: 'who asks, for the record', isActor: true },
  },
  output: 'the schedule',
  outputSchema: objectOf(
    { schedules: schedulesShape },
    { starts: described(texts, 'runs that it starts as soon as a worker comes to it') },
  ),
  isReadOnly: false,
  scope: 'admin',
  route: 'POST /schedules',
  /** @throws RUN_NOT_FOUND there is no such schedule */
  async run(context, { name, action, by }) {
    if (!hasSchedules(context)) throw new CairnError('RUN_NOT_FOUND', { runId: name });
    return schedule.run(context, { action, target: name, ...(by !== undefined && { by }) });
  },
};
