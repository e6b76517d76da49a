/** The identity of the store's data, kept in its file and copied with it. */

import type { Prepare, Statement } from '../tables/prepare.ts';
import { asBytes, readText } from '../tables/text-columns.ts';

export class StoreIdentity {
  readonly #select: Statement | undefined;
  readonly #update: Statement;

  /** @param layout - version of the file's tables; the first versions had no identity */
  constructor(prepare: Prepare, layout: number) {
    this.#select = layout < 3 ? undefined : prepare(`select ${asBytes('identity')} from store where one = 1`);
    this.#update = prepare('update store set identity = ? where one = 1');
  }

  read(): string {
    const row = this.#select?.().get() as { readonly identity: Uint8Array } | undefined;
    return row === undefined ? '' : readText(row.identity);
  }

  write(identity: string): void {
    this.#update().run(identity);
  }
}
