/** Pieces on their way from a step to who reads them outside: what reads is not called by what writes, so it is not inside the step. */

export class PartQueue<Part> {
  readonly #parts: Part[] = [];
  #wake = Promise.withResolvers<void>();
  #isOver = false;
  /** Whether anything was ever put in. */
  hasBegun = false;

  push(part: Part): void {
    this.hasBegun = true;
    this.#parts.push(part);
    this.#wake.resolve();
  }

  end(): void {
    this.#isOver = true;
    this.#wake.resolve();
  }

  /** Resolves when there is something to read, or nothing more will come. */
  ready(): Promise<void> {
    return this.#wake.promise;
  }

  async *read(): AsyncGenerator<Part, void> {
    for (;;) {
      await this.#wake.promise;
      this.#wake = Promise.withResolvers();
      // What comes while a part is read is read in the same go.
      while (this.#parts.length > 0) yield this.#parts.shift() as Part;
      if (this.#isOver) return;
    }
  }
}
