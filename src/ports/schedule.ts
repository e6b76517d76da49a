/** Says when a run is to be taken up, and from which queue. A store only sorts by it; what queues and keys mean is up to their users. */

/** The schedule that a run is started with. */
export interface Schedule {
  /** Name of the run's queue. A worker may serve only some queues. Default: the empty name. */
  readonly queue?: string;
  /** Whose run it is, for sharing a queue fairly. A store only keeps it. */
  readonly key?: string;
  /** An integer. Among the runs that are due, higher priorities go first. Default 0. */
  readonly priority?: number;
  /** Epoch ms. `claimNext` does not claim the run earlier. Default: the time of the run's first checkpoint. */
  readonly dueAt?: number;
}

/** What a run may be started with: nothing shares a queue by keys yet, so a key is refused and not ignored. */
export type StartSchedule = Omit<Schedule, 'key'>;

/** A run's schedule with defaults filled in. */
export interface RunSchedule extends Schedule {
  readonly queue: string;
  readonly priority: number;
  readonly dueAt: number;
}

/** The schedule of a newly admitted run, with defaults filled in. */
export function scheduleOf(admission: {
  readonly schedule?: Schedule;
  readonly checkpoint: { readonly at: number };
}): RunSchedule {
  const { queue = '', key, priority = 0, dueAt = admission.checkpoint.at } = admission.schedule ?? {};
  return { queue, priority, dueAt, ...(key === undefined ? {} : { key }) };
}

/** Whether a run may be taken up. One that was not put off always may, also if the clock was set back since it was admitted. */
export function isDueBy(
  { schedule, createdAt }: { readonly schedule: Pick<RunSchedule, 'dueAt'>; readonly createdAt: number },
  at: number,
): boolean {
  return schedule.dueAt <= at || schedule.dueAt <= createdAt;
}

const parts: Readonly<Record<keyof Schedule, (part: unknown) => boolean>> = {
  queue: (part) => typeof part === 'string',
  key: (part) => typeof part === 'string',
  priority: Number.isSafeInteger,
  dueAt: Number.isSafeInteger,
};

/** Whether a value from outside is a schedule without unknown keys. A misspelt key would otherwise be ignored silently. */
export function isSchedule(value: unknown): value is Schedule {
  if (typeof value !== 'object' || value === null) return false;
  return Object.entries(value).every(
    ([name, part]) => Object.hasOwn(parts, name) && parts[name as keyof Schedule](part),
  );
}

/** Whether a run may be started with it. */
export function isStartSchedule(value: unknown): value is StartSchedule {
  return isSchedule(value) && value.key === undefined;
}
