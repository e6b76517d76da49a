/** The secrets that a run has resolved: what it takes in afterwards holds none of them, whichever node it comes from (N6.4). */
import { TextMask } from '../../state/secrecy/text-mask.ts';
import type { Intake } from '../../state/values/admit.ts';

/** Shorter ones are masked by the node that receives them alone: a secret `1` must not destroy every number of a run. */
const runWideLength = 8;

export class RunSecrets {
  /** What every value of the run goes through that is taken in; another one with each secret that becomes known. */
  intake: Intake | undefined;
  /** Undefined: there is nothing to mask, and nothing is looked at. */
  mask: TextMask | undefined;
  readonly #base: Intake | undefined;
  /** Names by value: a name may have had several. */
  readonly #names = new Map<string, string>();

  /** @param resolved - before this process took the run up, by name */
  constructor(base: Intake | undefined, resolved: ReadonlyMap<string, string>) {
    this.#base = base;
    this.intake = base;
    for (const [name, value] of resolved) this.#note(name, value);
    this.#renew();
  }

  /** A secret was resolved. */
  learn(name: string, value: string): void {
    if (!this.#names.has(value) && this.#note(name, value)) this.#renew();
  }

  /** Those that are masked run-wide. */
  known(): readonly (readonly [name: string, value: string])[] {
    return [...this.#names].map(([value, name]) => [name, value]);
  }

  #note(name: string, value: string): boolean {
    if (value.length < runWideLength) return false;
    this.#names.set(value, name);
    return true;
  }

  #renew(): void {
    if (this.#names.size === 0) return;
    this.mask = new TextMask(this.known());
    this.intake = { keepsOut: this.#base?.keepsOut, mask: this.mask };
  }
}
