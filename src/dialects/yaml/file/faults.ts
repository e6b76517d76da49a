/** Collects all faults of a workflow, each with its place in the file (G7). */
import type { Violation } from '../../../graph/graph.ts';
import { FaultLimit, shortFault } from '../../fault-limit.ts';
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
  #document: YamlDocument;
  readonly #limit = new FaultLimit();
  readonly #violations: Violation[] = [];

  constructor(document: YamlDocument) {
    this.#document = document;
  }

  /** Goes on with another form of the same file. */
  of(document: YamlDocument): this {
    this.#document = document;
    return this;
  }

  /** Reports a fault at a path of the document. */
  add(path: Path, { rule, message, fix, severity = 'error', atKey = false, offset }: Fault): void {
    if (!this.#limit.take(severity)) return;
    const place = this.#document.placeOf(path, { atKey, ...(offset === undefined ? {} : { offset }) });
    this.#violations.push(shortFault({ rule, severity, place, message, fix }));
  }

  /** Adds violations that have their places already. */
  take(violations: readonly Violation[]): void {
    for (const violation of violations)
      if (this.#limit.take(violation.severity)) this.#violations.push(shortFault(violation));
  }

  get hasErrors(): boolean {
    return this.#limit.hasErrors;
  }

  /** The violations in the order of the file. */
  get violations(): readonly Violation[] {
    const ordered = this.#violations
      .map((violation) => ({ violation, at: positionOf(violation.place) }))
      .toSorted((a, b) => a.at[0] - b.at[0] || a.at[1] - b.at[1])
      .map(({ violation }) => violation);
    return this.#limit.withRest(ordered);
  }
}

function positionOf(place: string): readonly [number, number] {
  const [, line = '0', column = '0'] = /:(\d+):(\d+)$/.exec(place) ?? [];
  return [Number(line), Number(column)];
}
