/** The attributes that statements set, gathered while a file is read: defaults by `node [...]` and `edge [...]`, and those of one stage. */
import type { AttributeSyntax } from '../text/syntax.ts';
import type { Given, Values } from './attribute-values.ts';

/** Most different attributes that `node [...]` and `edge [...]` may set. All of them hold for each stage or edge. */
export const defaultsMax = 200;

const none: readonly AttributeSyntax[] = [];

/** The defaults that hold from a statement on. Stages and edges keep those that they took: later ones are set in a copy. */
export class Defaults {
  #values: Map<string, Given>;
  #isTaken: boolean;

  constructor(outer?: Values) {
    this.#values = (outer ?? new Map<string, Given>()) as Map<string, Given>;
    this.#isTaken = outer !== undefined;
  }

  take(): Values {
    this.#isTaken = true;
    return this.#values;
  }

  /** Sets one. Returns false if there are too many. */
  set({ key, value }: AttributeSyntax): boolean {
    if (this.#values.size >= defaultsMax && !this.#values.has(key)) return false;
    if (this.#isTaken) this.#values = new Map(this.#values);
    this.#isTaken = false;
    this.#values.set(key, { value, valueAt: undefined });
    return true;
  }
}

/** The attributes written for a stage or the graph. Those of a single statement stay the list that the parser made. */
export class Written {
  #all: readonly AttributeSyntax[] = none;
  #own: AttributeSyntax[] | undefined;

  get all(): readonly AttributeSyntax[] {
    return this.#all;
  }

  add(attributes: readonly AttributeSyntax[]): void {
    if (this.#all.length === 0) this.#all = attributes;
    else {
      this.#all = this.#own ??= [...this.#all];
      for (const attribute of attributes) this.#own.push(attribute);
    }
  }
}
