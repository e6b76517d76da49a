/** The secrets that a run has used. Values that the run takes in later are masked, whichever node they come from (N6.4). */
import { TextMask } from '../../state/secrecy/text-mask.ts';
import type { Intake } from '../../state/values/admit.ts';

/** Shorter secrets are masked only by the node that uses them: a secret `1` must not destroy every number in a run. */
const runWideLength = 8;

export class RunSecrets {
  /** What is applied to every value that the run takes in. Replaced when another secret becomes known. */
  intake: Intake | undefined;
  /** Undefined if there is nothing to mask. */
  mask: TextMask | undefined;
  readonly #base: Intake | undefined;
  /** Names by value, since one name may have had several values. */
  readonly #names = new Map<string, string>();

  /** @param resolved - secrets used before this process took the run up, by name */
  constructor(base: Intake | undefined, resolved: ReadonlyMap<string, string>) {
    this.#base = base;
    this.intake = base;
    for (const [name, value] of resolved) this.#note(name, value);
    this.#renew();
  }

  /** Adds a secret that was used. */
  learn(name: string, value: string): void {
    if (!this.#names.has(value) && this.#note(name, value)) this.#renew();
  }

  /** The secrets that are masked in the whole run. */
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
