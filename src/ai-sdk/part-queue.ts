/** A queue of pieces from a step to a reader outside of it. The reader does not run inside the writer's calls, so it is not inside the step. */

export class PartQueue<Part> {
  readonly #parts: Part[] = [];
  #wake = Promise.withResolvers<void>();
  #isOver = false;
  /** Whether anything was ever added. */
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

  /** Resolves when there is something to read, or when nothing more will come. */
  ready(): Promise<void> {
    return this.#wake.promise;
  }

  async *read(): AsyncGenerator<Part, void> {
    for (;;) {
      await this.#wake.promise;
      this.#wake = Promise.withResolvers();
      // Parts added while another is being read are yielded in the same pass.
      while (this.#parts.length > 0) yield this.#parts.shift() as Part;
      if (this.#isOver) return;
    }
  }
}
