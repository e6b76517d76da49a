/** Every limit of the engine, by name, with its default (E8). Hitting one is RUN_LIMIT or VALUE_TOO_LARGE. */
import { CairnError } from '../errors.ts';

/** Limits of one engine. Units last in the names. */
export interface Limits {
  /** Values over this many encoded bytes go to the blob store. */
  readonly inlineBytes: number;
  /** The most one value may take, encoded. */
  readonly valueBytes: number;
  /** Depth of nesting of one value. */
  readonly valueDepth: number;
  /** Open waits of one run. */
  readonly openWaits: number;
  /** Depth of child runs. */
  readonly childDepth: number;
  /** Recorded steps of one activation. */
  readonly steps: number;
  /** Commits that may be pending while pure and read work runs ahead (E4). */
  readonly pendingCommits: number;
  /** Bytes that may be pending. */
  readonly pendingBytes: number;
  /** Bytes of a run id, a node id, a step name. */
  readonly idBytes: number;
  /** Deadline of a `write` or `external` attempt whose node names no timeout (O2). */
  readonly effectMs: number;
  /** Grace between a cooperative and a forced cancel. */
  readonly cancelGraceMs: number;
  /** Due times nearer than this are held by the process; a run with only later ones is paused. */
  readonly holdTimersMs: number;
  /** How often an owner looks for messages from other processes. */
  readonly messagePollMs: number;
}

/** The limits that hold where none is given: docs/spec/engine.md, E8. */
export const defaultLimits: Limits = {
  inlineBytes: 256 * 1024,
  valueBytes: 64 * 1024 * 1024,
  valueDepth: 500,
  openWaits: 10_000,
  childDepth: 32,
  steps: 100_000,
  pendingCommits: 256,
  pendingBytes: 8 * 1024 * 1024,
  idBytes: 512,
  effectMs: 10 * 60_000,
  cancelGraceMs: 5_000,
  holdTimersMs: 10_000,
  messagePollMs: 500,
};

/** All limits: those given, and the defaults of the others. @throws CONFIG_INVALID one that does not exist, or is no number (G9) */
export function limitsOf(given: Partial<Limits> = {}): Limits {
  for (const [name, value] of Object.entries(given)) {
    const reason = !Object.hasOwn(defaultLimits, name)
      ? `there is no such limit; there are ${Object.keys(defaultLimits).join(', ')}`
      : value >= 0
        ? undefined
        : 'a limit is a number, 0 or more';
    if (reason !== undefined) throw new CairnError('CONFIG_INVALID', { path: `limits.${name}`, reason });
  }
  return { ...defaultLimits, ...given };
}
