/**
 * State that the parts of a conversation share within one attempt: the error that ended it, the calls in progress, and whether code runs
 * inside a step.
 */
import { AsyncLocalStorage } from 'node:async_hooks';
import { CairnError } from '../errors.ts';
import type { NodeContext } from '../graph/contracts/node-contract.ts';

/** Set while the function of a tool or of a repair runs as one step. Calls made in it are part of that step. */
const insideStep = new AsyncLocalStorage<'tool' | 'repair'>();

export class Attempt {
  readonly ctx: NodeContext;
  #failure: { readonly error: unknown } | undefined;
  #openCount = 0;
  #changeCount = 0;
  /** Callbacks of those who wait for a call to begin or end. */
  #waiting: (() => void)[] = [];

  constructor(ctx: NodeContext) {
    this.ctx = ctx;
  }

  /** Runs the function of a step. */
  inside<T>(kind: 'tool' | 'repair', run: () => T): T {
    return insideStep.run(kind, run);
  }

  get stepKind(): 'tool' | 'repair' | undefined {
    return insideStep.getStore();
  }

  /** @throws the error that ended this attempt. The SDK may have caught it where it was thrown, so it is thrown again */
  check(): void {
    if (this.#failure !== undefined) throw this.#failure.error;
  }

  /** Ends the attempt with one of our errors, even if somebody catches it. @returns the error */
  end(error: unknown): unknown {
    this.#failure ??= { error };
    this.ctx.fail(error);
    return error;
  }

  /** Ends the attempt. @throws NODE_CALL_REFUSED */
  refuse(call: string, reason: string): never {
    const node = this.ctx.nodePath.join('/');
    throw this.end(new CairnError('NODE_CALL_REFUSED', { call, node, reason }));
  }

  /** Makes a call that counts as in progress until it has its result. */
  async during<T>(call: () => Promise<T>): Promise<T> {
    this.#openCount += 1;
    this.#tell();
    try {
      return await call();
    } finally {
      this.#openCount -= 1;
      this.#tell();
    }
  }

  /** Waits until a call begins or ends. @returns false if no call is in progress and none began within one turn of the event loop */
  async progress(): Promise<boolean> {
    const before = this.#changeCount;
    if (this.#openCount > 0) await new Promise<void>((resolve) => this.#waiting.push(resolve));
    await new Promise<void>((resolve) => void setImmediate(resolve));
    return this.#changeCount > before;
  }

  #tell(): void {
    this.#changeCount += 1;
    for (const resolve of this.#waiting.splice(0)) resolve();
  }
}
