/** Collects what is wrong with a workflow, each with its place in the file: all of it, never only the first (G7). */
import type { Violation } from '../../../graph/graph.ts';
import type { Path, YamlDocument } from './read-document.ts';

/** A fault as a reader reports it. */
export interface Fault {
  /** Rule of docs/spec/yaml.md. */
  readonly rule: string;
  readonly message: string;
  readonly fix: string;
  /** Default `error`. */
  readonly severity?: 'error' | 'warning';
  /** Whether the key is at fault rather than its value. */
  readonly atKey?: boolean;
  /** Characters into the text that stands there. */
  readonly offset?: number;
}

export class Faults {
  readonly #document: YamlDocument;
  readonly #violations: Violation[] = [];

  constructor(document: YamlDocument) {
    this.#document = document;
  }

  /** Reports a fault of what stands at a path of the document. */
  add(path: Path, { rule, message, fix, severity = 'error', atKey = false, offset }: Fault): void {
    const place = this.#document.placeOf(path, { atKey, ...(offset === undefined ? {} : { offset }) });
    this.#violations.push(Object.freeze({ rule, severity, place, message, fix }));
  }

  /** Takes over violations that have their places already. */
  take(violations: readonly Violation[]): void {
    this.#violations.push(...violations);
  }

  get hasErrors(): boolean {
    return this.#violations.some(({ severity }) => severity === 'error');
  }

  /** In the order of the file. */
  get violations(): readonly Violation[] {
    return this.#violations
      .map((violation) => ({ violation, at: positionOf(violation.place) }))
      .toSorted((a, b) => a.at[0] - b.at[0] || a.at[1] - b.at[1])
      .map(({ violation }) => violation);
  }
}

function positionOf(place: string): readonly [number, number] {
  const [, line = '0', column = '0'] = /:(\d+):(\d+)$/.exec(place) ?? [];
  return [Number(line), Number(column)];
}
