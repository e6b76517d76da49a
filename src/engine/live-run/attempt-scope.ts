/**
 * In whose code the process is: of which attempt of a node, or of a step that it called. Whatever that code starts, such as a timer or a
 * promise that nobody awaits, stays in its scope, so that an error that nobody caught is the error of an attempt (E6.9).
 */
import { AsyncLocalStorage } from 'node:async_hooks';
import type { Amounts, AtMost } from '../../graph/amounts.ts';
import type { Account } from '../../state/tree.ts';
import type { Activation, AttemptLabel, Scope, ScopedRun } from './loop.ts';

// The costs of attempts in progress. They are in memory, and recorded together with the end of the attempt.

type Limited = Activation['node']['limit'];

/** An account that gets an attempt's cost in addition to those of its visit and its run: the account of a step. */
export interface Payer {
  account: Account | undefined;
}

/** The costs of one attempt of a visit or step. */
export class Charge {
  readonly activation: Activation;
  /** Undefined if the attempt is the visit's own. */
  readonly step: Payer | undefined;
  /** The most that it spends, which is reserved while it runs. */
  readonly atMost: AtMost | undefined;
  spent: Amounts | undefined;
  /** Whether its end is recorded or never will be, so that it can spend nothing more. */
  isOver = false;

  constructor(activation: Activation, step?: Payer, atMost?: AtMost) {
    this.activation = activation;
    this.step = step;
    this.atMost = atMost;
  }
}

/** An error that nobody caught, and the attempt in whose scope it arose. */
export interface StrayError extends AttemptLabel {
  /** Whether the attempt fails because of it. If not, it had ended before: then the error is a warning of its run. */
  readonly isFailing: boolean;
  /** The error with its stack, without secrets. Undefined if the run is not advanced here any more, so that its secrets are not known. */
  readonly text: string | undefined;
}

/**
 * The scope of one attempt. Timers and connections that outlive the attempt keep it in memory, so when the attempt has ended it lets go of
 * everything but its label.
 */
export class AttemptScope implements AttemptLabel, Scope {
  readonly runId: string;
  readonly node: readonly string[];
  readonly visit: number;
  readonly step: string | undefined;
  readonly attempt: number;
  readonly #run: WeakRef<ScopedRun>;
  /** The scope of the node's function. */
  readonly #outer: Scope | undefined;
  /** The limits whose places the step has. */
  readonly #limit: Limited | undefined;
  #activation: Activation | undefined;
  #charge: Charge | undefined;
  #fail: ((error: unknown) => boolean) | undefined;

  /** @param fail - fails the attempt; says whether it was still running */
  constructor(
    run: { readonly runId: string; readonly weakLoop: WeakRef<ScopedRun> },
    activation: Activation,
    attempt: number,
    fail: (error: unknown) => boolean,
    inside?: { readonly step: string; readonly charge: Charge; readonly limit?: Limited },
  ) {
    this.runId = run.runId;
    this.#run = run.weakLoop;
    this.node = activation.path;
    this.visit = activation.visit;
    this.attempt = attempt;
    this.step = inside?.step;
    this.#charge = inside?.charge;
    this.#limit = inside?.limit;
    this.#outer = inside === undefined ? undefined : activation.scope;
    this.#activation = inside === undefined ? activation : undefined;
    this.#fail = fail;
  }

  /** The activation, until its attempt has ended. */
  get activation(): Activation | undefined {
    return this.#outer === undefined ? this.#activation : this.#outer.activation;
  }

  /** The account of the step; undefined outside of steps. A step that has ended can spend nothing more. */
  get charge(): Charge | undefined {
    const { activation } = this;
    if (this.step === undefined || activation === undefined) return undefined;
    if (this.#charge !== undefined) return this.#charge;
    const over = new Charge(activation);
    over.isOver = true;
    return over;
  }

  /** The limits of which it has places: those of the step, or else of the node. */
  get limit(): Limited | undefined {
    return this.#limit ?? this.activation?.node.limit;
  }

  /** Takes an error that nobody caught. */
  take(error: unknown): StrayError {
    const { runId, node, visit, step, attempt } = this;
    const label = { runId, node, visit, step, attempt };
    const isFailing = this.#fail?.(error) === true;
    const run = this.#run.deref();
    if (!isFailing) run?.warn(label, error);
    return { ...label, isFailing, text: run?.describe(error) };
  }

  /** The attempt has ended. */
  end(): void {
    this.#activation = undefined;
    this.#charge = undefined;
    this.#fail = undefined;
  }
}

const current = new AsyncLocalStorage<AttemptScope | undefined>();

/** Calls a function in the scope of an attempt. */
export function callInScope<T>(scope: AttemptScope, call: () => T): T {
  return current.run(scope, call);
}

/** Calls what is nobody's attempt. A worker may be woken by what an attempt did, and goes on to work on other runs. */
export function callOutsideScopes<T>(call: () => T): T {
  return current.getStore() === undefined ? call() : current.run(undefined, call);
}

/**
 * Gives an error that nobody caught to the attempt in whose scope it arose. Call it where the process is told of it: on
 * `unhandledRejection` and `uncaughtException`. @returns undefined if it arose in no attempt
 */
export function takeStrayError(error: unknown): StrayError | undefined {
  return current.getStore()?.take(error);
}

/** The attempt in whose scope this is called, or was, if it has ended. */
export function currentAttempt(): AttemptLabel | undefined {
  return current.getStore();
}

/** The account of the step in whose scope a call of an activation is made; undefined outside of its steps. */
export function stepChargeOf(activation: Activation): Charge | undefined {
  const scope = current.getStore();
  return scope?.activation === activation ? scope.charge : undefined;
}

/** The limits of which a call of an activation has places already: those of the step that it is made in, or of the node. */
export function limitAround(activation: Activation): Limited | undefined {
  const scope = current.getStore();
  return scope?.activation === activation ? scope.limit : activation.node.limit;
}

/**
 * Whether a call is made inside of a step's function. Such a call must not wait, because a step is recorded as a whole and cannot be
 * resumed in the middle.
 */
export function isInsideStepOf(activation: Activation): boolean {
  const scope = current.getStore();
  return scope?.step !== undefined && scope.activation === activation;
}
