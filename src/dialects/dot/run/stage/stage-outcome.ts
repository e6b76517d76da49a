/** The outcome of a stage: what handlers return, what is recorded, and what a stage may report of itself. */
import { isReserved } from '../context/context-reader.ts';
import type { Turn } from '../prompt/conversation.ts';
import { CairnError, readableThrown, reasonOf } from '../../../../errors.ts';
import {
  NodeFailure,
  type NodeContext,
  type StateView,
  type ChildResult,
} from '../../../../graph/contracts/node-contract.ts';

export const stageStatuses = ['success', 'partial_success', 'retry', 'fail', 'skipped'] as const;

/** How a stage ended: one of the language's outcomes, or an author's own that an edge names, such as `needs_dod`. */
export type StageStatus = (typeof stageStatuses)[number] | (string & {});

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
  /** Whether it said `retry` and its attempts are used up. */
  readonly isUsedUp?: boolean;
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
export function checkedOutcome(returned: unknown, named: ReadonlySet<string>): StageOutcome {
  const outcome = returned as StageOutcome | null;
  if (typeof outcome !== 'object' || outcome === null)
    return { status: 'fail', failureReason: `its handler returned ${inShort(returned)}, which is no outcome` };
  if (isStatus(outcome.status) || named.has(outcome.status)) return outcome;
  return { status: 'fail', failureReason: `its handler ${strange(outcome.status)}` };
}

/** What a person may say of a stage that did its work. */
export function answerSchema(named: ReadonlySet<string>): Readonly<Record<string, unknown>> {
  const status = { enum: ['success', 'partial_success', 'skipped', ...named] };
  return { anyOf: [{ type: 'null' }, { type: 'object', required: ['status'], properties: { status } }] };
}

/** The outcome that a person says a stage had whose effect was in doubt. Without one the stage succeeded. @throws it is none */
export function outcomeOfAnswer(answer: unknown, named: ReadonlySet<string>): StageOutcome {
  const outcome = (answer ?? { status: 'success' }) as StageOutcome;
  if (isSuccess(outcome.status) || outcome.status === 'skipped' || named.has(outcome.status)) return outcome;
  throw new TypeError(
    `${inShort(answer)} is no outcome of a stage that did its work, like { "status": "success" }; for one that failed, say fail`,
  );
}

export function isStatus(status: unknown): status is (typeof stageStatuses)[number] {
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

/** Whether only edges that are meant for failures may be taken. `retry` is one that an edge requests: there is no further attempt. */
export function isFailure(status: unknown): boolean {
  return status === 'fail' || status === 'retry';
}

const noNames: ReadonlySet<string> = new Set();

/**
 * Reads a stage's report, such as the JSON at the end of an answer. The fault says why it is none.
 * @param named - outcomes of the author's own, which edges name
 */
export function readReport(
  report: Readonly<Record<string, unknown>>,
  named: ReadonlySet<string> = noNames,
): StageOutcome | { readonly fault: string } {
  const { outcome: status, notes, suggested_next_ids: ids, context_updates: updates, failure_reason: reason } = report;
  const label = report['preferred_label'] ?? report['preferred_next_label'];
  if (!isStatus(status) && !(typeof status === 'string' && named.has(status)))
    return {
      fault: `its outcome is ${inShort(status)}, which is none of ${[...stageStatuses, ...named].join(', ')}`,
    };
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

// How stages fail: with an outcome of their own, for good or to be tried again, or because the run itself ends.

/** The outcome of a failed stage, in the data of its failure. */
const resultKey = 'result';
export const verdictCode = 'STAGE_FAILED';
export const retryCode = 'STAGE_RETRY';

/** Failures that another attempt would only meet again. */
const final: ReadonlySet<string> = new Set([
  verdictCode,
  'MODEL_REFUSED',
  'MODEL_UNKNOWN',
  'PERMISSION_DENIED',
  'INPUT_INVALID',
]);

export function isFinal(error: unknown): boolean {
  return final.has(String((error as { readonly code?: unknown } | undefined)?.code));
}

/** A failure with an outcome of the stage's own; whatever it did has come to its end. */
export function failed(result: StageOutcome, code: string): NodeFailure {
  return new NodeFailure(result.failureReason ?? `the stage said ${result.status}`, {
    code,
    applied: 'ended',
    data: { [resultKey]: result },
  });
}

/** Whether it is no business of the stage: the run ends, meets its budget, or is not what it was. */
export function isOfRun({ signal }: Pick<NodeContext, 'signal'>, error: unknown): boolean {
  return signal.aborted || CairnError.is(error, 'BUDGET_EXCEEDED', 'NODE_CALL_REFUSED', 'AGENT_DIVERGED');
}

/** Whatever a handler throws is an outcome of its stage, unless it is no business of it. */
export async function guarded(
  ctx: NodeContext,
  run: () => Promise<StageOutcome> | StageOutcome,
  allowsPartial = false,
): Promise<StageEnd> {
  try {
    return await run();
  } catch (thrown) {
    const error = readableThrown(thrown);
    if (isOfRun(ctx, error)) throw error;
    const { code, data } = (error ?? {}) as { code?: unknown; data?: Readonly<Record<string, unknown>> };
    const message = reasonOf(error);
    const known = data?.[resultKey] as StageOutcome | undefined;
    if (code === retryCode && allowsPartial)
      return { ...known, status: 'partial_success', notes: `attempts are used up: ${message}` };
    const failureReason = code === retryCode ? `max retries exceeded: ${message}` : message;
    return { ...known, status: 'fail', failureReason, ...(code === retryCode && { isUsedUp: true }) };
  }
}

// How the goal gates of a run ended, those in the branches of its parallel stages included.

export type GateOutcomes = Readonly<Record<string, StageStatus>>;

/** Context key under which parallel stages keep how the gates in their branches ended, at this visit or at an earlier one. */
export const branchGatesKey = 'internal.gates';

/** What a parallel stage that failed the run tells of its branches, in the data of its failure. */
export interface BranchReport {
  readonly gates?: GateOutcomes;
  readonly failures?: readonly StageFailure[];
  /** Of a pipeline that restarts: it is all its runs that failed, and no stage. */
  readonly isOfRun?: boolean;
}

/** The last outcome of each gate that was visited. */
export function gateOutcomes(state: StateView, gates: readonly string[]): GateOutcomes {
  const found: Record<string, StageStatus> = { ...branchGates(state) };
  for (const stage of Object.keys(state.failures)) Object.assign(found, branchReportOf(state, stage).gates);
  for (const id of gates) {
    const own = (state.outputs[id] as StageOutput | undefined)?.outcome;
    if (own !== undefined) found[id] = own;
    else if (Object.hasOwn(state.failures, id)) found[id] = 'fail';
  }
  return found;
}

/** How the gates in branches ended, as the parallel stages of this run recorded it. */
export function branchGates({ scratch }: StateView): GateOutcomes {
  return (scratch[branchGatesKey] as GateOutcomes | undefined) ?? {};
}

/** What a stage that failed the run reported of its branches. */
function branchReportOf({ failures }: StateView, stage: string): BranchReport {
  return (failures[stage] as { readonly data?: BranchReport } | undefined)?.data ?? {};
}

// How a branch of a parallel stage ended, and what stages after it see of that.

/** A branch's result. What is shown of it is in `parallel.results`. */
export interface BranchResult extends ShownResult {
  readonly gates: GateOutcomes;
  readonly failures: readonly StageFailure[];
}

/** The part of a branch's result that later stages see. */
export interface ShownResult {
  /** The first stage of the branch. */
  readonly id: string;
  readonly outcome: StageStatus;
  readonly failure_reason?: string;
  /** The whole of the last answer that a model gave in the branch. */
  readonly response?: string;
  /** The context values that the branch's stages wrote. */
  readonly context: Readonly<Record<string, unknown>>;
}

export function shownResult({ id, outcome, failure_reason: reason, response, context }: BranchResult): ShownResult {
  return {
    id,
    outcome,
    ...(reason !== undefined && { failure_reason: reason }),
    ...(response !== undefined && { response }),
    context,
  };
}

/** Context key that says why the last parallel stage failed, for the fan-in behind it. Empty if it did not. */
export const shortfallKey = 'internal.shortfall';

// What failed in a run of stages that another stage began: a branch, a child pipeline, or a run of a pipeline that restarts.

/** Its failures in order, however it ended. The last may be that of the stage at which it failed, from which it did not go on. */
export function failuresIn({ status, state, error }: ChildResult): readonly StageFailure[] {
  const inner = (state.diagnostics['failures'] ?? []) as readonly StageFailure[];
  const [stage] = Object.keys(state.failures);
  if (status !== 'failed' || stage === undefined) return inner;
  const { failures = [], isOfRun = false } = branchReportOf(state, stage);
  const own: StageFailure = { stage, reason: rootMessage(error), led_to: null };
  return [...inner, ...failures, ...(isOfRun ? [] : [own])];
}

/** The innermost cause of an error, which is the stage's own reason rather than the engine's wrapping. */
export function rootMessage(error: Error | undefined): string {
  let last = error;
  for (let depth = 0; depth < 10 && last?.cause instanceof Error; depth += 1) last = last.cause;
  return last?.message ?? 'the branch failed';
}
