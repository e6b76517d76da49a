/**
 * The log port: what whoever operates Cairn reads, an event at a time. Without one, nothing is logged. A logger of pino fits as it is, and so
 * does that of Fastify, or any other with these four methods.
 */

export type LogLevel = 'debug' | 'info' | 'warn' | 'error';

/** An error in the form that pino writes it. Secrets that the run knows are masked. */
export interface LoggedError {
  /** Name of its class. */
  readonly type: string;
  readonly code: string;
  readonly message: string;
  /** Name and message, and the frames of the user's own code below them. */
  readonly stack?: string;
  /** What to do next, of an error of this library. */
  readonly hint?: string;
}

/** What an event is about. There is no input, no output and no message of a conversation among it. */
export interface LogFields {
  /** What happened, in a word: `taken`, `completed`, `failed`, `retrying`. Spec E10.8 lists them. */
  readonly event: string;
  readonly run?: string;
  readonly graph?: string;
  /** Path of the node, and the step after a slash: `charge`, `order/charge`. */
  readonly node?: string;
  /** Number of the attempt, from 1. */
  readonly attempt?: number;
  /** Id of the worker that tells it. */
  readonly worker?: string;
  readonly err?: LoggedError;
  readonly [detail: string]: unknown;
}

/** Receives events. Calls must return at once. What they throw is ignored, because no run may fail for being watched. */
export interface Log {
  debug(fields: LogFields, msg: string): void;
  info(fields: LogFields, msg: string): void;
  warn(fields: LogFields, msg: string): void;
  error(fields: LogFields, msg: string): void;
}
