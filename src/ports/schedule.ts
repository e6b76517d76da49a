/** When a run is to be taken up, and from which queue. A store orders by it; what a queue or a key stands for is for its users to say. */

/** What is said of it at admission. */
export interface Schedule {
  /** The line it stands in: a worker may serve some and leave others. Default is the empty name. */
  readonly queue?: string;
  /** Whom it is for, where the turns of a queue are shared out. A store only keeps it. */
  readonly key?: string;
  /** A whole number: of the runs that are due, higher ones go first. Default 0. */
  readonly priority?: number;
  /** Epoch ms: `claimNext` leaves it alone before. Default is the time of the run's first checkpoint. */
  readonly dueAt?: number;
}

/** What holds for a run. */
export interface RunSchedule extends Schedule {
  readonly queue: string;
  readonly priority: number;
  readonly dueAt: number;
}

/** What holds for a run that is admitted so. */
export function scheduleOf(admission: {
  readonly schedule?: Schedule;
  readonly checkpoint: { readonly at: number };
}): RunSchedule {
  const { queue = '', key, priority = 0, dueAt = admission.checkpoint.at } = admission.schedule ?? {};
  return { queue, priority, dueAt, ...(key === undefined ? {} : { key }) };
}

const parts: Readonly<Record<keyof Schedule, (part: unknown) => boolean>> = {
  queue: (part) => typeof part === 'string',
  key: (part) => typeof part === 'string',
  priority: Number.isSafeInteger,
  dueAt: Number.isSafeInteger,
};

/** Whether a value from outside is a schedule and nothing else: a misspelt part would be passed over in silence. */
export function isSchedule(value: unknown): value is Schedule {
  if (typeof value !== 'object' || value === null) return false;
  return Object.entries(value).every(
    ([name, part]) => Object.hasOwn(parts, name) && parts[name as keyof Schedule](part),
  );
}
