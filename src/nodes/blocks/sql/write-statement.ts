/** Builds a statement piece by piece. Names are quoted and values are bound. */
import type { BoundStatement } from './bind-params.ts';
import type { Engine } from './read-sql.ts';

export class StatementWriter {
  readonly #engine: Engine;
  readonly #pieces: string[] = [];
  readonly #values: unknown[] = [];

  constructor(engine: Engine) {
    this.#engine = engine;
  }

  /** Adds text of our own. */
  add(...pieces: readonly string[]): this {
    this.#pieces.push(...pieces);
    return this;
  }

  /** Binds a value and returns its placeholder. */
  bind(value: unknown): string {
    const count = this.#values.push(value);
    return this.#engine === 'sqlite' ? '?' : `$${count}`;
  }

  finish(): BoundStatement {
    const text = this.#pieces.join(' ');
    return { text, words: [text.slice(0, text.indexOf(' '))], marks: [], values: this.#values };
  }
}

/** Quotes a name, or several separated by dots. */
export function quoteName(name: string): string {
  return name
    .split('.')
    .map((part) => `"${part.replaceAll('"', '""')}"`)
    .join('.');
}

export function quoteNames(names: readonly string[]): string {
  return names.map(quoteName).join(', ');
}
