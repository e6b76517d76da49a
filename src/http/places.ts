/** Places that callers take for a while: so many in all, and so many for each, so that none takes those of the others. */
import type { Caller } from './authorize.ts';
import { HttpRefused } from './problem.ts';

/** Tells callers apart. */
export const keyOf = ({ tenant = '', principal }: Caller): string => JSON.stringify([tenant, principal]);

export class Places {
  readonly #taken = new Map<string, number>();
  #total = 0;

  /** @returns gives the place back, once. @throws 429 there is none */
  take(caller: string, own: number, all: number, what: string): () => void {
    const taken = this.#taken.get(caller) ?? 0;
    const most = taken >= own ? own : this.#total >= all ? all : undefined;
    if (most !== undefined) {
      const whose = most === own && taken >= own ? 'of yours ' : '';
      throw new HttpRefused(429, `there are ${most} ${what} ${whose}already`, { 'retry-after': '5' });
    }
    this.#taken.set(caller, taken + 1);
    this.#total += 1;
    let isTaken = true;
    return () => {
      if (!isTaken) return;
      isTaken = false;
      this.#total -= 1;
      const left = (this.#taken.get(caller) ?? 1) - 1;
      if (left === 0) this.#taken.delete(caller);
      else this.#taken.set(caller, left);
    };
  }
}
