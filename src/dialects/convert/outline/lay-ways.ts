/**
 * The ways through steps that each say when they start, as a walk from step to step: what is known of the steps before decides which comes
 * next. A step that leads on differently, depending on what came before it, is written once for each.
 */
import { CairnError } from '../../../errors.ts';
import type { Notes } from './notes.ts';
import { failure, finish, type Step, type Target, freeId, decidedBy, plainStep } from './outline.ts';

/** What became of a step. Undefined: it was skipped. */
export type Ended = string | undefined;

/** The end of a step that failed before it started. */
const unstarted = 'unstarted';

export interface LaidStep {
  readonly step: Omit<Step, 'ends'>;
  readonly ends: readonly { readonly on: string; readonly isFatal: boolean }[];
  /** The steps on whose ends it depends whether this one starts. */
  readonly reads: readonly string[];
  /** Whether another step has always ended when this one starts. */
  readonly isAfter: (other: string) => boolean;
  /** What decides, for a question, where it is not known. */
  readonly condition: string;
  /** Whether its failure is passed over. */
  readonly isPassedOver?: boolean;
  /** `fail`: it fails in place of starting. `ask`: only a run can tell. */
  readonly starts: (ended: (id: string) => Ended) => 'yes' | 'no' | 'fail' | 'ask';
}

/** The most places on all ways together. */
const placesMax = 20_000;
/** The most steps: the search goes as deep. */
const stepsMax = 1_000;

export interface Ways {
  readonly first: Target;
  readonly steps: readonly Step[];
}

/**
 * Lays the ways through steps. @param steps - each behind those that it reads. @param name - of their workflow, for messages. @throws
 * GRAPH_INVALID there are too many ways
 */
export function layWays(steps: readonly LaidStep[], name: string, notes: Notes): Ways {
  const laying = new Laying(steps, notes);
  const first = steps.length > stepsMax ? finish : laying.from(0, new Map());
  if (steps.length > stepsMax || laying.isTooLarge) throw tooManyWays(name);
  return { first, steps: laying.written() };
}

function tooManyWays(name: string): CairnError {
  const message = 'it has too many ways to be written one by one';
  const fix = 'split it into workflows that are converted one by one';
  return new CairnError('GRAPH_INVALID', {
    graphId: name,
    violations: [{ rule: 'CV4', severity: 'error', place: name, message, fix }],
  });
}

class Laying {
  readonly #steps: readonly LaidStep[];
  readonly #notes: Notes;
  /** For each place, the steps whose ends still matter. */
  readonly #matters: readonly ReadonlySet<string>[];
  readonly #known = new Map<string, Target>();
  /** Steps by what they do and where they lead. */
  readonly #made = new Map<string, Step>();
  readonly #ids: Set<string>;
  readonly #used = new Set<string>();
  /** How many copies of a step are written. */
  readonly #copies = new Map<string, number>();
  /** What was noted of the order of two steps: it is the same on every way. */
  readonly #ordered = new Set<string>();

  constructor(steps: readonly LaidStep[], notes: Notes) {
    this.#steps = steps;
    this.#notes = notes;
    this.#ids = new Set(steps.map(({ step }) => step.id));
    const matters: ReadonlySet<string>[] = [];
    let later: ReadonlySet<string> = new Set();
    for (const step of steps.toReversed()) matters.unshift((later = new Set([...later, ...step.reads])));
    this.#matters = matters;
  }

  get isTooLarge(): boolean {
    return this.#known.size > placesMax;
  }

  written(): readonly Step[] {
    return [...this.#made.values()];
  }

  from(place: number, ended: ReadonlyMap<string, Ended>): Target {
    const laid = this.#steps[place];
    if (laid === undefined || this.isTooLarge) return finish;
    const key = JSON.stringify([place, [...(this.#matters[place] ?? [])].map((id) => ended.get(id) ?? null)]);
    const known = this.#known.get(key);
    if (known !== undefined) return known;
    const target = this.#target(laid, place, ended);
    this.#known.set(key, target);
    return target;
  }

  #target(laid: LaidStep, place: number, ended: ReadonlyMap<string, Ended>): Target {
    const starts = laid.starts((id) => ended.get(id));
    if (starts === 'fail') return this.#failed(laid, place, ended);
    const skipped = (): Target => this.from(place + 1, new Map(ended).set(laid.step.id, undefined));
    if (starts === 'no') return skipped();
    this.#noteOrder(laid, ended);
    const ends = laid.ends.map(({ on, isFatal }) => ({
      on,
      to: isFatal ? failure : this.from(place + 1, new Map(ended).set(laid.step.id, on)),
    }));
    const id = this.#make({ ...laid.step, ends });
    return starts === 'yes' ? id : this.#ask(laid, id, skipped());
  }

  /** A step that fails before it starts fails the run, unless its failure is passed over. */
  #failed({ step, isPassedOver = false }: LaidStep, place: number, ended: ReadonlyMap<string, Ended>): Target {
    return isPassedOver ? this.from(place + 1, new Map(ended).set(step.id, unstarted)) : failure;
  }

  #ask({ step, condition }: LaidStep, yes: Target, no: Target): Target {
    const ways = new Map([
      ['yes', yes],
      ['no', no],
    ]);
    this.#notes.lost(
      'CONDITION',
      step.place,
      `whether ${step.id} runs hangs on ${condition}, which a run cannot tell here; a person is asked`,
      'decide by an exit code, a verdict or an answer',
    );
    const id = `${step.id}_if`;
    return this.#make({ ...plainStep, id, place: step.place, ...decidedBy(`Does this hold? ${condition}`, ways) });
  }

  #make(step: Step): string {
    const key = JSON.stringify([step.id, step.ends]);
    const made = this.#made.get(key);
    if (made !== undefined) return made.id;
    const isFirst = !this.#used.has(step.id);
    const id = isFirst ? this.#firstId(step.id) : this.#copyId(step.id);
    this.#used.add(step.id).add(id);
    this.#ids.add(id);
    if (!isFirst)
      this.#notes.changed(
        'NAME',
        step.place,
        `${step.id} is written as ${id} too, where something else follows it`,
        'nothing',
      );
    // A name on record is that of one step.
    const { renamedFrom, ...rest } = step;
    this.#made.set(key, { ...rest, id, ...(isFirst && renamedFrom !== undefined && { renamedFrom }) });
    return id;
  }

  /** Steps have their own ids; questions that stand in for conditions get free ones. */
  #firstId(id: string): string {
    return this.#steps.some(({ step }) => step.id === id) ? id : freeId(id, this.#ids);
  }

  /** Counted on from the last copy, since there may be thousands. */
  #copyId(id: string): string {
    let count = (this.#copies.get(id) ?? 1) + 1;
    while (this.#ids.has(`${id}_${count}`)) count += 1;
    this.#copies.set(id, count);
    return `${id}_${count}`;
  }

  /** One after the other runs what could run side by side. */
  #noteOrder({ step, isAfter }: LaidStep, ended: ReadonlyMap<string, Ended>): void {
    for (const [other, end] of ended) {
      const pair = `${step.id} runs after ${other}, not beside it`;
      if (end === undefined || this.#ordered.has(pair) || isAfter(other)) continue;
      this.#ordered.add(pair);
      this.#notes.lost('PARALLEL', step.place, pair, 'nothing, or use a parallel stage');
    }
  }
}
