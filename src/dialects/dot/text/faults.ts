/** Collects all faults of a DOT file, each with its line and column. */
import type { Violation } from '../../../graph/graph.ts';
import { FaultLimit, shortFault } from '../../fault-limit.ts';

/** One fault as a reader reports it. */
export interface DotFault {
  /** Rule of docs/spec/dot.md. */
  readonly rule: string;
  readonly message: string;
  readonly fix: string;
  /** Default `error`. */
  readonly severity?: 'error' | 'warning';
  /** Whether the source line is shown with a caret below the place. Default false. */
  readonly showsSource?: boolean;
}

/** Most characters of a source line in an excerpt. */
const excerptMax = 100;

export class DotFaults {
  readonly #text: string;
  readonly #source: string;
  /** Offsets at which lines begin. Computed when the first place is needed. */
  #lines: readonly number[] | undefined;
  readonly #limit = new FaultLimit();
  readonly #found: { readonly at: number; readonly violation: Violation }[] = [];

  /** @param source - name of the file, used in places */
  constructor(text: string, source: string) {
    this.#text = text;
    this.#source = source;
  }

  /** @param at - offset of the faulty character */
  add(at: number, { rule, message, fix, severity = 'error', showsSource = false }: DotFault): void {
    if (!this.#limit.take(severity)) return;
    const withSource = showsSource ? `${message}\n${this.#excerpt(at)}` : message;
    const violation = shortFault({ rule, severity, place: this.placeOf(at), message: withSource, fix });
    this.#found.push({ at, violation });
  }

  /** Adds violations that have their places already, behind those of the text. */
  take(violations: readonly Violation[]): void {
    for (const violation of violations)
      if (this.#limit.take(violation.severity))
        this.#found.push({ at: this.#text.length, violation: shortFault(violation) });
  }

  get hasErrors(): boolean {
    return this.#limit.hasErrors;
  }

  /** All violations, in the order of the file. */
  get violations(): readonly Violation[] {
    return this.#limit.withRest(this.#found.toSorted((a, b) => a.at - b.at).map(({ violation }) => violation));
  }

  /** The place as `file:line:column`, both counted from 1. */
  placeOf(at: number): string {
    const line = this.#lineOf(at);
    return `${this.#source}:${line + 1}:${at - this.#lineStart(line) + 1}`;
  }

  /** The source line, with a caret below the place. */
  #excerpt(at: number): string {
    const line = this.#lineOf(at);
    const start = Math.max(this.#lineStart(line), at - excerptMax / 2);
    const found = this.#text.indexOf('\n', at);
    const end = Math.min(found < 0 ? this.#text.length : found, start + excerptMax);
    const excerpt = this.#text.slice(start, end).replaceAll(/\s/g, ' ');
    const margin = `  ${line + 1} | `;
    return `${margin}${excerpt}\n${' '.repeat(margin.length + at - start)}^`;
  }

  #lineStart(line: number): number {
    return this.#starts()[line] ?? 0;
  }

  #lineOf(at: number): number {
    const starts = this.#starts();
    let low = 0;
    let high = starts.length - 1;
    while (low < high) {
      const middle = Math.ceil((low + high) / 2);
      if ((starts[middle] as number) <= at) low = middle;
      else high = middle - 1;
    }
    return low;
  }

  #starts(): readonly number[] {
    if (this.#lines !== undefined) return this.#lines;
    const starts = [0];
    for (let at = this.#text.indexOf('\n'); at >= 0; at = this.#text.indexOf('\n', at + 1)) starts.push(at + 1);
    this.#lines = starts;
    return starts;
  }
}
