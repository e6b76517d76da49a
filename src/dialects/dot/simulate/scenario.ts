/** Scenarios of a simulation: how each attempt of a stage ends, and what people answer. */
import type { Layout } from '../model/layout.ts';
import { type Pipeline, type PipelineEdge, typeOfShape } from '../model/pipeline.ts';
import type { StageEnding, StageHandler } from '../run/stage/attempts.ts';
import { CairnError } from '../../../errors.ts';
import { readReport, stageStatuses, type StageOutcome } from '../run/stage/stage-outcome.ts';
import { NodeFailure } from '../../../graph/contracts/node-contract.ts';

// Records which stages and edges of a pipeline the runs of a simulation reached.

export interface UncoveredEdge {
  readonly from: string;
  readonly to: string;
  readonly label: string;
  readonly condition: string;
  /** The place as `file:line:column`. */
  readonly place: string;
}

export interface Coverage {
  readonly stages: { readonly count: number; readonly missed: readonly string[] };
  readonly edges: { readonly count: number; readonly missed: readonly UncoveredEdge[] };
}

/** The stages and edges that the runs so far reached. */
export class Covered {
  readonly #pipeline: Pipeline;
  readonly #layout: Layout;
  readonly stages: Set<string> = new Set();
  readonly edges: Set<number> = new Set();

  constructor(pipeline: Pipeline, layout: Layout) {
    this.#pipeline = pipeline;
    this.#layout = layout;
  }

  get count(): number {
    return this.stages.size + this.edges.size;
  }

  /** Whether nothing more can be reached. */
  get isWhole(): boolean {
    return this.count === this.#pipeline.stages.size + this.#pipeline.edges.length;
  }

  /**
   * @param begun - the stages of one run that began: one that is cancelled does not end
   * @param endings - those that ended
   */
  add(begun: ReadonlySet<string>, endings: readonly StageEnding[]): void {
    for (const { edge } of endings) if (edge !== undefined) this.edges.add(edge);
    for (const stage of begun) {
      this.stages.add(stage);
      // The edges to branches are all taken, without a choice. Their first stages tell whether the branches began.
      const branches = this.#layout.branches.get(stage);
      for (const { index, to } of branches === undefined ? [] : (this.#layout.outgoing.get(stage) ?? []))
        if (to === branches?.join || begun.has(to)) this.edges.add(index);
    }
  }
}

export function coverageOf({ stages, edges }: Pipeline, covered: Covered, placeOf: (at: number) => string): Coverage {
  const missed = ({ from, to, attributes, at }: PipelineEdge): UncoveredEdge => ({
    from,
    to,
    label: attributes.text('label'),
    condition: attributes.text('condition'),
    place: placeOf(at),
  });
  return {
    stages: { count: stages.size, missed: [...stages.keys()].filter((id) => !covered.stages.has(id)) },
    edges: { count: edges.length, missed: edges.filter(({ index }) => !covered.edges.has(index)).map(missed) },
  };
}

/** How one attempt of a stage ends, or the answer to one question. */
export type ScriptedEnd =
  | { readonly outcome: StageOutcome }
  /** The attempt throws, as for a command that fails. It is tried again while its policy allows attempts. */
  | { readonly error: string }
  /** Null means that nobody answers in time. */
  | { readonly answer: string | null };

/** One scripted run of a pipeline. */
export interface Scenario {
  readonly name: string;
  /** Input of the run: `goal` and the parameters. */
  readonly input?: Readonly<Record<string, unknown>>;
  /** Ends by stage, one for each attempt. The last one holds for all later attempts. Stages that are not listed succeed. */
  readonly stages: Readonly<Record<string, readonly ScriptedEnd[]>>;
}

type Keyed = Readonly<Record<string, unknown>>;

/**
 * Reads scenarios from data such as a YAML file: one scenario, a list, or a mapping with the list as `scenarios`.
 * @param source - name of the data in messages
 * @throws USAGE_INVALID with the first thing that cannot be read
 */
export function readScenarios(data: unknown, source: string): readonly Scenario[] {
  const whole = isKeyed(data) && 'scenarios' in data ? data['scenarios'] : data;
  const list: readonly unknown[] = Array.isArray(whole) ? whole : [whole];
  return list.map((one, index) => readScenario(one, `${source}${list.length > 1 ? `, scenario ${index + 1}` : ''}`));
}

function readScenario(value: unknown, place: string): Scenario {
  if (!isKeyed(value)) throw refused(place, 'a scenario has a name and stages, each with a list of outcomes');
  const { name = place, input, stages = {}, ...rest } = value;
  const [odd] = Object.keys(rest);
  if (odd !== undefined) throw refused(place, `${odd} is none of name, input, stages`);
  if (typeof name !== 'string') throw refused(place, 'name must be a text');
  if (input !== undefined && !isKeyed(input)) throw refused(place, 'input must be a mapping');
  if (!isKeyed(stages)) throw refused(place, 'stages must be a mapping from stages to lists of outcomes');
  const read = Object.entries(stages).map(([stage, ends]): [string, readonly ScriptedEnd[]] => [
    stage,
    (Array.isArray(ends) ? (ends as readonly unknown[]) : [ends]).map((end) => readEnd(end, `${place}, ${stage}`)),
  ]);
  return { name, stages: Object.fromEntries(read), ...(input !== undefined && { input }) };
}

function readEnd(value: unknown, place: string): ScriptedEnd {
  if (typeof value === 'string' && (stageStatuses as readonly string[]).includes(value))
    return { outcome: withReason(readReport({ outcome: value }) as StageOutcome) };
  // YAML reads `Yes` as a string, `true` as a boolean and `3` as a number. All of them may be answers.
  if (['string', 'number', 'boolean'].includes(typeof value)) return { answer: String(value) };
  if (!isKeyed(value)) throw refused(place, 'expected an outcome, an answer, or a mapping');
  if ('error' in value) return { error: textOf(value['error']) };
  if ('answer' in value) return { answer: value['answer'] === null ? null : textOf(value['answer']) };
  const report = readReport(value);
  if ('fault' in report) throw refused(place, report.fault);
  return { outcome: withReason(report) };
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value);
}

function withReason(outcome: StageOutcome): StageOutcome {
  const { status, failureReason } = outcome;
  const isBad = status === 'fail' || status === 'retry';
  return isBad && failureReason === undefined ? { ...outcome, failureReason: `the scenario says ${status}` } : outcome;
}

function isKeyed(value: unknown): value is Keyed {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function refused(place: string, reason: string): CairnError {
  return new CairnError('USAGE_INVALID', { reason: `${place}: ${reason}` });
}

// Handlers that end as a scenario says. They replace the handlers that would have effects outside.

/** Types of stages that do no work of their own: they end as the stages around them do. */
const derived: ReadonlySet<string> = new Set(['start', 'exit', 'conditional', 'parallel', 'parallel.fan_in']);

/** Whether a scenario decides how stages of this type end. */
export function isScripted(type: string): boolean {
  return !derived.has(type);
}

export interface ScriptedStages {
  readonly handlers: Readonly<Record<string, StageHandler>>;
  /** The answer to a stage's next question. Undefined means that the scenario has none, null that nobody answers in time. */
  readonly nextAnswer: (stage: string) => string | null | undefined;
  /** Stages for which the scenario has more ends than there were attempts. */
  readonly unused: () => readonly string[];
}

/** @param types - types for which the user has handlers */
export function scriptStages({ stages }: Scenario, types: readonly string[]): ScriptedStages {
  const counts = new Map<string, number>();
  const next = (stage: string): ScriptedEnd | undefined => {
    const count = counts.get(stage) ?? 0;
    counts.set(stage, count + 1);
    const ends = stages[stage] ?? [];
    return ends[count] ?? ends.at(-1);
  };
  const scripted: StageHandler = {
    effect: 'read',
    isStandIn: true,
    isIdempotent: () => true,
    run: ({ parts: { stage } }) => outcomeOf(next(stage.id)),
  };
  const replaced = [...new Set([...typeOfShape.values(), ...types])].filter(
    (type) => isScripted(type) && type !== 'wait.human',
  );
  return {
    handlers: Object.fromEntries(replaced.map((type) => [type, scripted])),
    nextAnswer: (stage) => {
      const end = next(stage);
      if (end === undefined || 'answer' in end) return end?.answer;
      return 'outcome' in end ? (end.outcome.preferredLabel ?? null) : null;
    },
    unused: () =>
      Object.entries(stages).flatMap(([stage, ends]) => ((counts.get(stage) ?? 0) < ends.length ? [stage] : [])),
  };
}

function outcomeOf(end: ScriptedEnd | undefined): StageOutcome {
  if (end === undefined) return { status: 'success' };
  if ('outcome' in end) return end.outcome;
  if ('error' in end) throw new NodeFailure(end.error, { code: 'SIMULATED', applied: 'ended' });
  return end.answer === null
    ? { status: 'fail', failureReason: 'nobody answers' }
    : { status: 'success', preferredLabel: end.answer };
}
