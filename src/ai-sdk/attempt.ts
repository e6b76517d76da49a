/** What the parts of one conversation share in an attempt: the error that has ended it, the calls that are open, and whether they are inside a step. */
import { AsyncLocalStorage } from 'node:async_hooks';
import { CairnError } from '../errors.ts';
import type { NodeContext } from '../graph/contracts/node-contract.ts';

/** Set while the function of a tool or a repair runs that is one step: what is called there is a part of it. */
const insideStep = new AsyncLocalStorage<'tool' | 'repair'>();

export class Attempt {
  readonly ctx: NodeContext;
  #failure: { readonly error: unknown } | undefined;
  #openCount = 0;
  #changeCount = 0;
  /** Who waits for a change. */
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

  /** @throws the error that has ended this attempt: the SDK may have caught it where it came from */
  check(): void {
    if (this.#failure !== undefined) throw this.#failure.error;
  }

  /** An error of ours ends the attempt, whoever catches it. Returns it. */
  end(error: unknown): unknown {
    this.#failure ??= { error };
    this.ctx.fail(error);
    return error;
  }

  /** @throws NODE_CALL_REFUSED, and ends the attempt */
  refuse(call: string, reason: string): never {
    const node = this.ctx.nodePath.join('/');
    throw this.end(new CairnError('NODE_CALL_REFUSED', { call, node, reason }));
  }

  /** Makes a call that is open until it has its result. */
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

  /** Waits until a call begins or ends. False: none is open, and none has begun in a whole turn of the event loop. */
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
