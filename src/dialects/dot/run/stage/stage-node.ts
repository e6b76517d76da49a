/** The node of a stage: runs its handler under the stage's retry policy, writes the context, and chooses the edge. */
import { CairnError } from '../../../../errors.ts';
import {
  NodeFailure,
  outcome,
  type NodeContext,
  type NodeImplementation,
  type StateView,
} from '../../../../graph/contracts/node-contract.ts';
import { spendSeconds } from '../../../../graph/contracts/spend-counted.ts';
import { askingAs } from '../../../block-context.ts';
import { isPlainObject } from '../../../../state/values/plain-object.ts';
import { refusalOf } from './approval.ts';
import { contextValue, edgeKey, isReserved, resumedKey, contextReader, keepLarge } from '../context/context-reader.ts';
import { chooseEdge, edgeIndexOf, jumpLabel } from './choose-edge.ts';
import type { Turn } from '../prompt/conversation.ts';
import {
  failed,
  guarded,
  isFinal,
  retryCode,
  verdictCode,
  type BranchReport,
  checkedOutcome,
  isSuccess,
  inShort,
  isFailure,
  readReport,
  outcomeOfAnswer,
  answerSchema,
  type StageEnd,
  type StageFailure,
  type StageOutcome,
  type StageOutput,
} from './stage-outcome.ts';
import { answeredKey, historyOf } from '../prompt/preamble.ts';
import type { ModelRequest, StageHandler, StageParts } from './attempts.ts';

export interface StageNodeOptions {
  /** Whether the handler is the language's own, and so may write context values that are reserved for the engine. */
  readonly isBuiltIn: boolean;
}

export function stageImplementation(
  handler: StageHandler,
  parts: StageParts,
  { isBuiltIn }: StageNodeOptions,
): NodeImplementation {
  return {
    run: async (ctx) => {
      parts.watchBegin?.(parts.stage.id);
      const result = await perform(ctx, handler, parts);
      const checked = isBuiltIn ? result : refuseReserved(result);
      // The attributes of the graph are what its author wrote, whole.
      const { contextUpdates: updates } = parts.stage.type === 'start' ? {} : checked;
      const stored = updates === undefined ? undefined : keepLarge(ctx.files, updates);
      const contextUpdates = stored instanceof Promise ? await stored : stored;
      return settle(ctx, parts, retryTaken(ctx, parts, { ...checked, ...(contextUpdates && { contextUpdates }) }));
    },
    outputFault: (output, state) => endFault(handler, parts, output, state),
    codeText: `${parts.stage.type} ${String(handler.run)}`,
  };
}

/** Why a stage would not end with what somebody sets in a fork. */
function endFault(handler: StageHandler, parts: StageParts, output: unknown, state: StateView): string | undefined {
  const { stage, jumps } = parts;
  if (!isPlainObject(output)) return 'it must be a mapping with an outcome';
  const report = readReport(output, parts.ownOutcomes);
  if ('fault' in report) return report.fault;
  const end = output as unknown as StageOutput;
  if (end.jump !== undefined && !jumps.includes(end.jump)) return `${inShort(end.jump)} is none of its retry targets`;
  const value = (key: string): unknown => contextValue(state, key);
  return handler.outcomeFault?.({ parts, attributes: stage.attributes, value }, end);
}

/**
 * A stage that said `retry` until its attempts were used up ends with that if an edge asks for it, or one of a diamond behind it. Otherwise
 * it has failed.
 */
function retryTaken({ state }: NodeContext, { ways, outcomes }: StageParts, result: StageEnd): StageEnd {
  if (result.isUsedUp !== true || !outcomes.has('retry')) return result;
  const asks = ways.edges.filter(({ clauses }) =>
    clauses.some(({ key, operator, value }) => key === 'outcome' && operator === '=' && value === 'retry'),
  );
  const ended = { ...result, status: 'retry' };
  if (asks.length === 0) return ways.edges.some(({ takesFailures }) => takesFailures) ? ended : result;
  const updates = result.contextUpdates ?? {};
  const way = chooseEdge({ ...ways, edges: asks }, endingOf(ended), (key) =>
    Object.hasOwn(updates, key) ? updates[key] : contextValue(state, key),
  );
  return way === undefined ? result : ended;
}

async function perform(ctx: NodeContext, handler: StageHandler, parts: StageParts): Promise<StageEnd> {
  const { stage, retry, timeoutMs, limit, withheld, ownOutcomes } = parts;
  const value = (key: string): unknown => (key === 'current_node' ? stage.id : contextValue(ctx.state, key));
  const asker = parts.isCalled ? askingAs(parts.pipelineName, ctx) : ctx;
  const context = { ctx: asker, parts, attributes: stage.attributes, value, context: contextReader(ctx, value) };
  for (const need of handler.needs?.(stage, parts.folder) ?? []) {
    const refusal = withheld?.(need);
    if (refusal !== undefined) throw new CairnError('PERMISSION_DENIED', { need: stage.id, reason: refusal });
  }
  const { effect } = handler;
  const options = {
    retry: { ...retry, when: (failure: { readonly code: string }) => !isFinal(failure) },
    ...(handler.isIdempotent?.(stage) === true && { idempotent: true }),
    ...(handler.isModelCall === true && { isModelCall: true }),
    ...(timeoutMs !== undefined && { timeoutMs }),
    ...(limit !== undefined && { limit }),
  };
  const readAnswer = (answer: unknown): StageOutcome => outcomeOfAnswer(answer, ownOutcomes);
  let modelRequest: ModelRequest | undefined;
  const result = await guarded(
    ctx,
    async () => {
      const refusal = handler.isStandIn === true ? undefined : await refusalOf(context);
      if (refusal !== undefined) return refusal;
      modelRequest = await handler.modelRequestOf?.(context);
      const full = { ...context, ...(modelRequest !== undefined && { modelRequest }) };
      if (effect === undefined) return checkedOutcome(await handler.run(full), ownOutcomes);
      return ctx.step(
        'work',
        { ...options, effect, readAnswer, answerSchema: answerSchema(ownOutcomes) },
        async (step) => {
          const worked = await spendSeconds(ctx, step, () => handler.run({ ...full, step }));
          const result = checkedOutcome(worked, ownOutcomes);
          if (result.status === 'fail') throw failed(result, verdictCode);
          if (result.status === 'retry') throw failed(result, retryCode);
          return result;
        },
      );
    },
    stage.attributes.flag('allow_partial'),
  );
  const turn = turnOf(ctx, stage.id, modelRequest, result);
  return { ...result, hasAsked: modelRequest !== undefined, ...(turn !== undefined && { turn }) };
}

/** The turn that the stage adds to its thread. Undefined if it has no thread, or got no answer. */
function turnOf(
  { state }: NodeContext,
  stage: string,
  modelRequest: ModelRequest | undefined,
  { response }: StageOutcome,
): Turn | undefined {
  if (modelRequest?.thread === undefined || response === undefined) return undefined;
  const { thread, prompt } = modelRequest;
  return { thread, stage, prompt, answer: response, after: historyOf(state).length };
}

function refuseReserved(result: StageEnd): StageEnd {
  const taken = Object.keys(result.contextUpdates ?? {}).find((key) => isReserved(key));
  if (taken === undefined) return result;
  return { status: 'fail', failureReason: `it may not write ${taken} into the context: that belongs to the engine` };
}

/** The first stage for a model behind a failed run's resume may have a shorter prompt: until it comes, that is recorded. */
function noteResume(
  { attempt, state }: NodeContext,
  { graph }: StageParts,
  { hasAsked }: StageEnd,
  scratch: Record<string, unknown>,
): void {
  if (!graph.has('resume_fidelity')) return;
  const isOpen = state.scratch[resumedKey] === true;
  if (hasAsked === true ? isOpen : attempt > 1) scratch[resumedKey] = hasAsked !== true;
}

/** Writes what a stage leaves behind. A failure that no edge or jump takes fails the node, and so the run, with the stage's reason. */
function settle(ctx: NodeContext, parts: StageParts, result: StageEnd): unknown {
  const { stage } = parts;
  const scratch: Record<string, unknown> = { ...result.contextUpdates, current_node: stage.id };
  const hasFailed = isFailure(result.status);
  const isPassing = stage.type === 'conditional';
  // A skipped stage has no outcome to record.
  if (!isPassing && result.status !== 'skipped') {
    scratch['outcome'] = result.status;
    scratch['last_stage'] = stage.id;
    // Clear the label that an earlier stage preferred: it does not apply to this one.
    if (result.preferredLabel !== undefined || contextValue(ctx.state, 'preferred_label') !== undefined)
      scratch['preferred_label'] = result.preferredLabel ?? '';
    if (hasAnswered(result) && contextValue(ctx.state, answeredKey) !== stage.id) scratch[answeredKey] = stage.id;
    scratch['internal.failure_reason'] = hasFailed ? (result.failureReason ?? '') : '';
  }
  const ending = endingOf(result);
  const way = chooseEdge(parts.ways, ending, (key) =>
    Object.hasOwn(scratch, key) ? scratch[key] : contextValue(ctx.state, key),
  );
  const jump = way === undefined && hasFailed ? nextJump(ctx.state, parts) : undefined;
  parts.watch?.({
    stage: stage.id,
    outcome: result.status,
    ...(hasFailed && { reason: result.failureReason ?? '' }),
    edge: way === undefined ? undefined : edgeIndexOf(way.label),
    to: way?.to ?? jump,
  });
  if (way === undefined && hasFailed && jump === undefined) {
    const reason = result.failureReason ?? 'the stage failed';
    const { gates, failures } = result;
    const report: BranchReport = { ...(gates !== undefined && { gates }), ...(failures !== undefined && { failures }) };
    throw new NodeFailure(reason, {
      code: verdictCode,
      applied: 'ended',
      data: { stage: stage.id, outcome: ending, ...report },
    });
  }
  if (jump !== undefined) scratch[jumpKey(stage.id, jump)] = jumpsMade(ctx.state, stage.id, jump) + 1;
  const own: StageFailure = { stage: stage.id, reason: result.failureReason ?? '', led_to: way?.to ?? jump ?? null };
  const failures = [...(result.failures ?? []), ...(hasFailed && !isPassing ? [own] : [])];
  noteResume(ctx, parts, result, scratch);
  scratch[edgeKey] = way?.label ?? (jump === undefined ? '' : jumpLabel(jump));
  return outcome({
    output: {
      ...ending,
      ...(result.gates !== undefined && { gates: result.gates }),
      ...(jump !== undefined && { jump }),
    },
    ...(!isPassing && result.status !== 'success' && { verdict: result.status }),
    scratch,
    diagnostics: {
      history: [{ stage: stage.id, outcome: result.status }],
      ...(failures.length > 0 && { failures }),
      ...(result.turn !== undefined && { conversation: [result.turn] }),
    },
  } as never);
}

function hasAnswered({ response, contextUpdates = {} }: StageEnd): boolean {
  return response !== undefined || Object.hasOwn(contextUpdates, 'last_response');
}

function endingOf(result: StageOutcome): StageOutput {
  const { status, preferredLabel, suggestedNextIds, notes, failureReason, response } = result;
  return {
    outcome: status,
    ...(preferredLabel !== undefined && { preferred_label: preferredLabel }),
    ...(suggestedNextIds !== undefined && { suggested_next_ids: suggestedNextIds }),
    ...(notes !== undefined && { notes }),
    ...(failureReason !== undefined && { failure_reason: failureReason }),
    ...(response !== undefined && { response }),
  };
}

export function jumpKey(stage: string, target: string): string {
  return `internal.jumps.${stage}.${target}`;
}

export function jumpsMade(state: StateView, stage: string, target: string): number {
  return Number(contextValue(state, jumpKey(stage, target)) ?? 0);
}

/** The first retry target to which the stage may still jump. */
function nextJump(state: StateView, { stage, jumps, jumpsMax }: StageParts): string | undefined {
  return jumps.find((target) => jumpsMade(state, stage.id, target) < jumpsMax);
}

/** The edge to take from a stage, by its output and the state after it. All its edges in the compiled graph share this decision. */
export function routeOf(parts: StageParts, output: unknown, state: StateView): string {
  const ending = output as StageOutput;
  if (ending.jump !== undefined) return jumpLabel(ending.jump);
  const way = chooseEdge(parts.ways, ending, (key) => contextValue(state, key));
  if (way !== undefined) return way.label;
  const what = isSuccess(ending.outcome) ? 'a success' : `the outcome ${ending.outcome}`;
  const { edges } = parts.ways;
  const none = edges.length === 0 ? 'it leads nowhere' : `none of its ${edges.length} edges takes ${what}`;
  throw new Error(`${parts.stage.id} ended with ${what}, and ${none}`);
}
