/** The series of `/metrics`: their names, what they count, and what they are labelled with (E10.9). */

export interface Series {
  readonly kind: 'counter' | 'gauge' | 'histogram';
  readonly help: string;
  /** Names of its labels. `graph` is as many as there are graphs; a run is never a label. */
  readonly labels: readonly string[];
}

/** A series that engines feed. */
export interface EngineSeries extends Series {
  /** Its name in `/metrics`. */
  readonly name: string;
}

/** Series by the names that engines count under. What is measured in ms is told in seconds, as is usual there. */
export const engineSeries: Readonly<Record<string, EngineSeries>> = {
  'cairn.claims': counter('cairn_claims_total', 'Runs claimed by this process.'),
  'cairn.takeovers': counter('cairn_takeovers_total', 'Runs claimed whose last owner ended without giving them back.'),
  'cairn.suspects': counter('cairn_suspects_total', 'Runs advanced apart, since they lost several owners in a row.'),
  'cairn.leases.lost': counter('cairn_leases_lost_total', 'Runs lost to another worker while they were advanced.'),
  'cairn.runs.ended': counter('cairn_runs_ended_total', 'Runs that ended in this process.', 'status'),
  'cairn.attempts': counter('cairn_attempts_total', 'Attempts of nodes that ended in this process.', 'status'),
  'cairn.retries': counter('cairn_retries_total', 'Attempts of nodes and steps that failed and are made again.'),
  'cairn.waits': counter('cairn_waits_opened_total', 'Waits that were opened: questions, timers, signals.'),
  'cairn.checkpoints': counter('cairn_checkpoints_total', 'Checkpoints that became durable.'),
  'cairn.checkpoint.bytes': counter('cairn_checkpoint_bytes_total', 'Bytes of these checkpoints, before compression.'),
  'cairn.spent': counter(
    'cairn_spent_total',
    'What attempts have spent, by unit: tokens of models, and what they cost.',
    'unit',
  ),
  'cairn.loop.blocked': counter('cairn_loop_blocked_seconds_total', 'Time for which nodes held the event loop.'),
  'cairn.checkpoint.save': histogram('cairn_checkpoint_save_seconds', 'How long the store took for a commit.'),
  'cairn.checkpoint.load': histogram('cairn_checkpoint_load_seconds', 'How long it took to read a run’s state.'),
};

/** Series of this process as such. */
export const processSeries: Readonly<Record<string, Series>> = {
  cairn_build_info: gauge('The version of Cairn, as a label of the number 1.', 'version'),
  cairn_runs_held: gauge('Runs that this process advances now.'),
  cairn_loop_busy_seconds_total: { ...gauge('Time for which the event loop has been at work.'), kind: 'counter' },
  process_cpu_seconds_total: { ...gauge('CPU time of this process.'), kind: 'counter' },
  process_resident_memory_bytes: gauge('Memory of this process.'),
  process_start_time_seconds: gauge('When this process was started, as Unix time.'),
};

/** Series of the whole store. `cairn serve` alone tells them, since those of several processes must not be added up. */
export const storeSeries: Readonly<Record<string, Series>> = {
  cairn_runs_open: gauge('Runs that have not ended.', 'status'),
  cairn_waits_open: gauge('Open waits: questions, timers, signals.'),
  cairn_waits_overdue: gauge('Open waits whose time has passed.'),
  cairn_backlog_runs: gauge('Runs that could go on now, if a worker had room: due, answered, signalled or abandoned.'),
  cairn_backlog_age_seconds: gauge('For how long the oldest of them could have gone on.'),
  cairn_workers: gauge('Workers that are alive.'),
  cairn_store_bytes: gauge('Room that the store takes, where it can tell.'),
  cairn_store_up: gauge('Whether the store answered: 1 or 0.'),
};

function counter(name: string, help: string, ...labels: readonly string[]): EngineSeries {
  return { name, kind: 'counter', help, labels: ['graph', ...labels] };
}

function histogram(name: string, help: string): EngineSeries {
  return { name, kind: 'histogram', help, labels: ['graph'] };
}

function gauge(help: string, ...labels: readonly string[]): Series {
  return { kind: 'gauge', help, labels };
}
