/** How a stage ended: what handlers return, what is recorded of it, and what a stage may say of itself. */
import { isReserved } from './context-keys.ts';
import type { Turn } from './conversation.ts';

export const stageStatuses = ['success', 'partial_success', 'retry', 'fail', 'skipped'] as const;
export type StageStatus = (typeof stageStatuses)[number];

/** What a handler returns. */
export interface StageOutcome {
  readonly status: StageStatus;
  /** Label of the edge that is to be taken. */
  readonly preferredLabel?: string;
  /** Stages to go to, the one it would like best first. */
  readonly suggestedNextIds?: readonly string[];
  /** Values for the context. */
  readonly contextUpdates?: Readonly<Record<string, unknown>>;
  readonly notes?: string;
  /** Of `fail` and `retry`. */
  readonly failureReason?: string;
  /** The whole answer of a model. */
  readonly response?: string;
  /** Of a parallel stage: how the goal gates in its branches ended. */
  readonly gates?: Readonly<Record<string, StageStatus>>;
  /** Of a parallel stage: what failed in its branches. */
  readonly failures?: readonly StageFailure[];
}

/** How a stage ended, with what its node knows of it. */
export interface StageEnd extends StageOutcome {
  readonly turn?: Turn;
}

/** A stage that failed, and where the run went on from there; null: nowhere. */
export interface StageFailure {
  readonly stage: string;
  readonly reason: string;
  readonly led_to: string | null;
}

/** What is recorded of a stage as its node's output: its outcome without the updates, which the context holds. */
export interface StageOutput {
  readonly outcome: StageStatus;
  readonly preferred_label?: string;
  readonly suggested_next_ids?: readonly string[];
  readonly notes?: string;
  readonly failure_reason?: string;
  readonly response?: string;
  /** The retry target that it jumps to, since no edge takes its failure. */
  readonly jump?: string;
  readonly gates?: Readonly<Record<string, StageStatus>>;
}

/** What a handler returned, if it is an outcome; else a failure that says what it is. */
export function checkedOutcome(returned: unknown): StageOutcome {
  const given = returned as StageOutcome | null;
  if (typeof given !== 'object' || given === null)
    return { status: 'fail', failureReason: `its handler returned ${JSON.stringify(returned)}, which is no outcome` };
  if (isStatus(given.status)) return given;
  return { status: 'fail', failureReason: `its handler ${strange(given.status)}` };
}

function isStatus(status: unknown): status is StageStatus {
  return (stageStatuses as readonly unknown[]).includes(status);
}

function strange(status: unknown): string {
  return `gave the outcome ${JSON.stringify(status) ?? 'undefined'}, which is none of ${stageStatuses.join(', ')}`;
}

export function isSuccess(status: unknown): boolean {
  return status === 'success' || status === 'partial_success';
}

/** What a stage reported of itself as data, such as the JSON at the end of an answer; or why that is no report. */
export function readReport(report: Readonly<Record<string, unknown>>): StageOutcome | { readonly fault: string } {
  const { outcome: status, notes, suggested_next_ids: ids, context_updates: updates, failure_reason: reason } = report;
  const label = report['preferred_label'] ?? report['preferred_next_label'];
  if (!isStatus(status))
    return { fault: `its outcome is ${JSON.stringify(status)}, which is none of ${stageStatuses.join(', ')}` };
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

/** How many ends of an answer are tried. */
const triesMax = 20;

/** The report with which an answer ends: JSON with an `outcome`, alone or in a fenced block. Undefined: it has none. */
export function reportIn(answer: string): Readonly<Record<string, unknown>> | undefined {
  const text = answer.trimEnd().replace(/\s*```$/, '');
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
