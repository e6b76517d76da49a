/** The outcome of a stage: what handlers return, what is recorded, and what a stage may report of itself. */
import { isReserved } from '../context/context-keys.ts';
import type { Turn } from '../prompt/conversation.ts';

export const stageStatuses = ['success', 'partial_success', 'retry', 'fail', 'skipped'] as const;
export type StageStatus = (typeof stageStatuses)[number];

/** The result of a handler. */
export interface StageOutcome {
  readonly status: StageStatus;
  /** Label of the edge to take. */
  readonly preferredLabel?: string;
  /** Ids of stages to go to, the preferred one first. */
  readonly suggestedNextIds?: readonly string[];
  /** Values to write into the context. */
  readonly contextUpdates?: Readonly<Record<string, unknown>>;
  readonly notes?: string;
  /** Reason for `fail` or `retry`. */
  readonly failureReason?: string;
  /** The whole answer of a model. */
  readonly response?: string;
  /** For a parallel stage: how the goal gates in its branches ended. */
  readonly gates?: Readonly<Record<string, StageStatus>>;
  /** For a parallel stage: the failures in its branches. */
  readonly failures?: readonly StageFailure[];
}

/** The outcome of a stage, with what only its node knows. */
export interface StageEnd extends StageOutcome {
  /** Whether it was a stage for a model. */
  readonly hasAsked?: boolean;
  readonly turn?: Turn;
}

/** A stage that failed, and the stage at which the run went on. Null means that it did not. */
export interface StageFailure {
  readonly stage: string;
  readonly reason: string;
  readonly led_to: string | null;
}

/** The output recorded for a stage's node: its outcome without the context updates, which the context holds. */
export interface StageOutput {
  readonly outcome: StageStatus;
  readonly preferred_label?: string;
  readonly suggested_next_ids?: readonly string[];
  readonly notes?: string;
  readonly failure_reason?: string;
  readonly response?: string;
  /** The retry target to which the run jumps, because no edge takes the failure. */
  readonly jump?: string;
  readonly gates?: Readonly<Record<string, StageStatus>>;
}

/** Returns what a handler returned if it is an outcome. Otherwise returns a failure that says what is wrong with it. */
export function checkedOutcome(returned: unknown): StageOutcome {
  const given = returned as StageOutcome | null;
  if (typeof given !== 'object' || given === null)
    return { status: 'fail', failureReason: `its handler returned ${inShort(returned)}, which is no outcome` };
  if (isStatus(given.status)) return given;
  return { status: 'fail', failureReason: `its handler ${strange(given.status)}` };
}

/** The outcome that a person says a stage had whose effect was in doubt. Without one the stage succeeded. @throws it is none */
export function saidOutcome(said: unknown): StageOutcome {
  const given = (said ?? { status: 'success' }) as StageOutcome;
  if (isSuccess(given.status) || given.status === 'skipped') return given;
  throw new TypeError(
    `${inShort(said)} is no outcome of a stage that did its work, like { "status": "success" }; for one that failed, say fail`,
  );
}

function isStatus(status: unknown): status is StageStatus {
  return (stageStatuses as readonly unknown[]).includes(status);
}

function strange(status: unknown): string {
  return `gave the outcome ${inShort(status)}, which is none of ${stageStatuses.join(', ')}`;
}

/** A value as a message shows it: its JSON, at most 100 characters of it. */
export function inShort(value: unknown): string {
  const json = JSON.stringify(value) ?? String(value);
  return json.length > 100 ? `${json.slice(0, 100)}…` : json;
}

export function isSuccess(status: unknown): boolean {
  return status === 'success' || status === 'partial_success';
}

/** Reads a stage's report, such as the JSON at the end of an answer. The fault says why it is none. */
export function readReport(report: Readonly<Record<string, unknown>>): StageOutcome | { readonly fault: string } {
  const { outcome: status, notes, suggested_next_ids: ids, context_updates: updates, failure_reason: reason } = report;
  const label = report['preferred_label'] ?? report['preferred_next_label'];
  if (!isStatus(status))
    return { fault: `its outcome is ${inShort(status)}, which is none of ${stageStatuses.join(', ')}` };
  if (label !== undefined && typeof label !== 'string') return { fault: 'preferred_label must be a text' };
  if (ids !== undefined && !(Array.isArray(ids) && ids.every((id) => typeof id === 'string')))
    return { fault: 'suggested_next_ids must be a list of texts' };
  if (updates !== undefined && (typeof updates !== 'object' || updates === null || Array.isArray(updates)))
    return { fault: 'context_updates must be a mapping' };
  const taken = Object.keys(updates ?? {}).find((key) => isReserved(key));
  if (taken !== undefined) return { fault: `it may not write ${taken} into the context: that belongs to the engine` };
  return {
    status,
    ...(label !== undefined && label !== '' && { preferredLabel: label }),
    ...(ids !== undefined && { suggestedNextIds: ids }),
    ...(updates !== undefined && { contextUpdates: updates as Readonly<Record<string, unknown>> }),
    ...(typeof notes === 'string' && { notes }),
    ...(typeof reason === 'string' && { failureReason: reason }),
  };
}

/** Most places near the end of an answer at which a report is looked for. */
const triesMax = 20;

const fence = '```';

/** The report at the end of an answer: JSON with an `outcome`, plain or in a fenced block. Undefined if there is none. */
export function reportIn(answer: string): Readonly<Record<string, unknown>> | undefined {
  const whole = answer.trimEnd();
  const text = whole.endsWith(fence) ? whole.slice(0, -fence.length).trimEnd() : whole;
  let begin = text.length;
  for (let tries = 0; tries < triesMax && begin > 0; tries += 1) {
    begin = text.lastIndexOf('{', begin - 1);
    if (begin < 0) return undefined;
    const found = parsed(text.slice(begin));
    if (found !== undefined && 'outcome' in found) return found;
  }
  return undefined;
}

function parsed(text: string): Readonly<Record<string, unknown>> | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null ? (value as Readonly<Record<string, unknown>>) : undefined;
  } catch {
    return undefined;
  }
}
