/** Collects all faults of a workflow, each with its place in the file (G7). */
import type { Violation } from '../../../graph/graph.ts';
import type { Path, YamlDocument } from './read-document.ts';

/** A fault as a reader reports it. */
export interface Fault {
  /** Id of the rule in docs/spec/yaml.md. */
  readonly rule: string;
  readonly message: string;
  readonly fix: string;
  /** Default `error`. */
  readonly severity?: 'error' | 'warning';
  /** Whether the key is at fault and not its value. */
  readonly atKey?: boolean;
  /** Offset of the fault in the text at that place. */
  readonly offset?: number;
}

export class Faults {
  readonly #document: YamlDocument;
  readonly #violations: Violation[] = [];

  constructor(document: YamlDocument) {
    this.#document = document;
  }

  /** Reports a fault at a path of the document. */
  add(path: Path, { rule, message, fix, severity = 'error', atKey = false, offset }: Fault): void {
    const place = this.#document.placeOf(path, { atKey, ...(offset === undefined ? {} : { offset }) });
    this.#violations.push(Object.freeze({ rule, severity, place, message, fix }));
  }

  /** Adds violations that have their places already. */
  take(violations: readonly Violation[]): void {
    this.#violations.push(...violations);
  }

  get hasErrors(): boolean {
    return this.#violations.some(({ severity }) => severity === 'error');
  }

  /** The violations in the order of the file. */
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
