/** Scenarios of a simulation: how each attempt of a stage ends, and what people answer. */
import { CairnError } from '../../../errors.ts';
import { readReport, stageStatuses, type StageOutcome } from '../run/stage/stage-outcome.ts';

/** How one attempt of a stage ends, or the answer to one question. */
export type ScriptedEnd =
  | { readonly outcome: StageOutcome }
  /** The attempt throws, as for a command that fails. It is tried again while attempts are left. */
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

function readScenario(given: unknown, place: string): Scenario {
  if (!isKeyed(given)) throw refused(place, 'a scenario has a name and stages, each with a list of outcomes');
  const { name = place, input, stages = {}, ...rest } = given;
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

function readEnd(given: unknown, place: string): ScriptedEnd {
  if (typeof given === 'string' && (stageStatuses as readonly string[]).includes(given))
    return { outcome: withReason(readReport({ outcome: given }) as StageOutcome) };
  // YAML reads `Yes` as a string, `true` as a boolean and `3` as a number. All of them may be answers.
  if (['string', 'number', 'boolean'].includes(typeof given)) return { answer: String(given) };
  if (!isKeyed(given)) throw refused(place, 'expected an outcome, an answer, or a mapping');
  if ('error' in given) return { error: textOf(given['error']) };
  if ('answer' in given) return { answer: given['answer'] === null ? null : textOf(given['answer']) };
  const report = readReport(given);
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
