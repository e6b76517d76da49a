/** Open questions, as a server gives them: the first page often, those behind it less often. Pure, but for the asking. */
import type { Waits } from './types.ts';

export interface WaitsPage extends Waits {
  readonly cursor?: string;
}

/** Pages that are walked: more open questions than anybody goes through. */
const pagesMax = 10;
/** Of many, the rest is requested less often than the first page. */
const walkMs = 15_000;

export class WaitPages {
  readonly #pageAt: (cursor: string | undefined) => Promise<WaitsPage>;
  /** What is behind the first page. */
  #older: WaitsPage | undefined;
  #walkedAt = 0;

  constructor(pageAt: (cursor: string | undefined) => Promise<WaitsPage>) {
    this.#pageAt = pageAt;
  }

  /** All that waits. @param isForced - whether the pages behind the first are requested now, however young they are */
  async read(isForced: boolean, now: number): Promise<WaitsPage> {
    const first = await this.#pageAt(undefined);
    if (first.cursor === undefined) this.#older = undefined;
    else if (isForced || this.#older === undefined || now - this.#walkedAt > walkMs) {
      this.#older = await this.#walk(first.cursor);
      this.#walkedAt = now;
    }
    return this.#older === undefined ? first : withoutTwice(join(first, this.#older));
  }

  async #walk(start: string): Promise<WaitsPage | undefined> {
    let all: WaitsPage | undefined;
    let cursor: string | undefined = start;
    for (let page = 1; page < pagesMax && cursor !== undefined; page += 1) {
      const next = await this.#pageAt(cursor);
      all = all === undefined ? next : join(all, next);
      ({ cursor } = next);
    }
    return all;
  }
}

const join = (first: WaitsPage, next: WaitsPage): WaitsPage => ({
  ...next,
  waits: [...first.waits, ...next.waits],
  waiting: [...first.waiting, ...next.waiting],
  answered: [...first.answered, ...next.answered],
});

/** What closed in the first page moves the others up into it. */
function withoutTwice(all: WaitsPage): WaitsPage {
  return { ...all, waits: [...new Map(all.waits.map((wait) => [`${wait.runId} ${wait.waitId}`, wait])).values()] };
}
