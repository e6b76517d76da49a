/** Every bound of the engine, by name, with its default (E8). Exceeding one is RUN_LIMIT or VALUE_TOO_LARGE. */
import { CairnError } from '../errors.ts';

/** The bounds of an engine. Units come last in the names. */
export interface Bounds {
  /** Encoded values with more bytes than this are stored as blobs. */
  readonly inlineBytes: number;
  /** The most bytes of one encoded value. */
  readonly valueBytes: number;
  /** The deepest nesting of a value. */
  readonly valueDepth: number;
  /** The most open waits of a run. */
  readonly openWaits: number;
  /** The deepest nesting of child runs. */
  readonly childDepth: number;
  /** The most recorded steps of an activation. */
  readonly steps: number;
  /** The most commits that may be pending while `pure` and `read` work runs ahead of them (E4). */
  readonly pendingCommits: number;
  /** The most bytes that may be pending. */
  readonly pendingBytes: number;
  /** The most bytes of a run id, a node id or a step name. */
  readonly idBytes: number;
  /** Deadline of a `write` or `external` attempt whose node has no timeout (O2). */
  readonly effectMs: number;
  /** Time between asking work to stop and ending it by force. */
  readonly cancelGraceMs: number;
  /** A process waits for due times that are nearer than this. If all are later, the run is paused. */
  readonly holdTimersMs: number;
  /** The same while a question is open that a person can answer. No effect if larger than `holdTimersMs`. */
  readonly holdQuestionsMs: number;
  /** How often the owner of a run checks for messages from other processes. */
  readonly messagePollMs: number;
}

/** How long a claim holds without renewal, by default. */
export const defaultLeaseMs = 10_000;

/** The default bounds: docs/spec/engine.md, E8. */
export const defaultBounds: Bounds = {
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
  holdQuestionsMs: 10_000,
  messagePollMs: 500,
};

/** These bounds, with defaults for the others. @throws CONFIG_INVALID an unknown bound, or a value that is not a number (G9) */
export function boundsOf(overrides: Partial<Bounds> = {}): Bounds {
  for (const [name, value] of Object.entries(overrides)) {
    const reason = !Object.hasOwn(defaultBounds, name)
      ? `there is no such bound; there are ${Object.keys(defaultBounds).join(', ')}`
      : value >= 0
        ? undefined
        : 'a bound is a number, 0 or more';
    if (reason !== undefined) throw new CairnError('CONFIG_INVALID', { path: `bounds.${name}`, reason });
  }
  return { ...defaultBounds, ...overrides };
}
