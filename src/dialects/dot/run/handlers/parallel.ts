/** A stage that runs branches in parallel, each with its own context, and reports how they ended. */
import type { Graph } from '../../../../graph/graph.ts';
import type { ChildHandle, ChildResult, NodeContext, StateView } from '../../../../graph/contracts/node-contract.ts';
import { runParts } from '../../../../graph/run-parts.ts';
import { neededBranches } from '../../model/pipeline.ts';
import type { Branches } from '../../model/layout.ts';
import { asText, contextOf, edgeKey, inheritedKey, isReserved } from '../context/context-reader.ts';
import { inheritedTurns } from '../prompt/conversation.ts';
import { inheritedStages, inheritedAnswer, ownAnswer } from '../prompt/preamble.ts';
import {
  shortfallKey,
  shownResult,
  type BranchResult,
  failuresIn,
  rootMessage,
  branchGates,
  branchGatesKey,
  gateOutcomes,
  type GateOutcomes,
  isSuccess,
  type StageOutcome,
  type StageOutput,
  type StageStatus,
} from '../stage/stage-outcome.ts';
import type { StageContext, StageHandler } from '../stage/attempts.ts';

const atOnceDefault = 4;

export function parallelHandler(work: ParallelWork): StageHandler {
  return { run: (stage) => runBranches(stage, work) };
}

/** The branches of a parallel stage. */
export interface ParallelWork extends Pick<Branches, 'entries' | 'join'> {
  /** The graph of all branches. Each branch enters it at its own first stage. */
  readonly graph: Graph;
  /** The edge that leads to each branch, by the branch's first stage. */
  readonly edges: ReadonlyMap<string, string>;
  /** The goal gates in the branches. */
  readonly gates: readonly string[];
  /** The id under which the stage is on record: it is part of what the branches are given. */
  readonly recordedId: string;
}

async function runBranches(stage: StageContext, work: ParallelWork): Promise<StageOutcome> {
  const { ctx, attributes, parts } = stage;
  const needed = neededBranches(attributes.text('join_policy'), work.entries.length);
  const failsFast = attributes.text('error_policy') === 'fail_fast';
  const counted = new Map<string, BranchResult>();
  const begun = new Map<string, ChildHandle>();
  const isDecided = (): boolean => {
    const outcomes = [...counted.values()].map(({ outcome }) => isSuccess(outcome));
    return (
      (needed !== undefined && outcomes.filter(Boolean).length >= needed) || (failsFast && outcomes.includes(false))
    );
  };
  const inherited = { ...contextOf(ctx.state), 'parallel.stage': work.recordedId };
  const inputOf = (entry: string): unknown => ({
    [inheritedKey]: { ...inherited, [edgeKey]: work.edges.get(entry) ?? '' },
    ...inheritedTurns(ctx.state),
    ...inheritedAnswer(ctx.state),
    ...inheritedStages(ctx.state),
  });
  const atOnce = attributes.integer('max_parallel') ?? atOnceDefault;
  // In a race a branch that waits keeps its place: a question after a crash would let another one begin, and win.
  const isRace = atOnce === 1 || needed !== undefined || failsFast;
  const order = { atOnce, keepsPlace: isRace ? 'always' : 'never', isOrdered: true } as const;
  await runParts(ctx, work.entries, order, async (part, entry) => {
    if (isDecided()) return false;
    const result = entry === work.join ? passed(entry) : await runBranch(part, work, entry, inputOf(entry), begun);
    begun.delete(entry);
    // A branch that ends after the others have decided does not count, whether it was cancelled or completed.
    if (isDecided()) return false;
    counted.set(entry, result);
    if (!isDecided()) return true;
    for (const handle of begun.values()) await handle.cancel(`${parts.stage.id} is decided`);
    return false;
  });
  const results = work.entries.map((entry) => counted.get(entry) ?? skipped(entry));
  const gates: GateOutcomes = Object.assign({}, branchGates(ctx.state), ...results.map((result) => result.gates));
  const judged = judge(results, { needed, count: work.entries.length, policy: attributes.text('error_policy'), gates });
  return { ...judged, contextUpdates: { ...judged.contextUpdates, [shortfallKey]: judged.failureReason ?? '' } };
}

function passed(id: string): BranchResult {
  return { id, outcome: 'success', context: {}, gates: {}, failures: [] };
}

function skipped(id: string): BranchResult {
  return { ...passed(id), outcome: 'skipped', failure_reason: 'it was no longer needed' };
}

async function runBranch(
  ctx: NodeContext,
  { graph, gates }: ParallelWork,
  entry: string,
  input: unknown,
  begun: Map<string, ChildHandle>,
): Promise<BranchResult> {
  const handle = await ctx.start(graph, input, { name: entry, entry });
  begun.set(entry, handle);
  return resultOf(entry, await handle.result(), gates);
}

function resultOf(id: string, result: ChildResult, gates: readonly string[]): BranchResult {
  const { status, state, error } = result;
  const own = Object.fromEntries(Object.entries(state.scratch).filter(([key]) => !isReserved(key)));
  const response = failedResponse(state) ?? ownAnswer(state)?.text;
  const shared = {
    id,
    ...(response !== undefined && { response }),
    context: own,
    gates: gateOutcomes(state, gates),
    failures: failuresIn(result),
  };
  if (status === 'cancelled') return skipped(id);
  if (status === 'failed') return { ...shared, outcome: 'fail', failure_reason: rootMessage(error) };
  const outcome = asText(state.scratch['outcome']);
  const reason = asText(state.scratch['internal.failure_reason']);
  return {
    ...shared,
    outcome: outcome === ('' as StageStatus) ? 'success' : outcome,
    ...(reason !== '' && { failure_reason: reason }),
  };
}

/** What a stage answered that failed its branch: its node has no output. */
function failedResponse({ failures }: StateView): string | undefined {
  const [failure] = Object.values(failures) as readonly {
    readonly data?: { readonly outcome?: Partial<StageOutput> };
  }[];
  return failure?.data?.outcome?.response;
}

interface Judged {
  readonly needed: number | undefined;
  readonly count: number;
  readonly policy: string;
  /** How the gates in the branches ended, at this visit or an earlier one. */
  readonly gates: GateOutcomes;
}

function judge(results: readonly BranchResult[], { needed, count, policy, gates }: Judged): StageOutcome {
  const good = results.filter(({ outcome }) => isSuccess(outcome)).length;
  const bad = results.filter(({ outcome }) => outcome === 'fail' || outcome === 'retry');
  const shared = {
    contextUpdates: {
      'parallel.results': results.map(shownResult),
      ...(Object.keys(gates).length > 0 && { [branchGatesKey]: gates }),
    },
    gates,
    failures: results.flatMap(({ failures }) => failures),
    notes: `${good} of ${count} branches succeeded`,
  };
  const fail = (why: string): StageOutcome => ({
    ...shared,
    status: 'fail',
    failureReason: `${why}: ${bad.map(({ id, failure_reason: reason }) => `${id}: ${reason ?? 'failed'}`).join('; ')}`,
  });
  if (needed !== undefined && good < needed)
    return fail(`only ${good} of ${count} branches succeeded, ${needed} are needed`);
  if (bad.length === 0 || policy === 'ignore') return { ...shared, status: 'success' };
  if (policy === 'fail_fast') return fail('a branch failed');
  if (good === 0) return fail('all branches failed');
  if (needed !== undefined) return { ...shared, status: 'success' };
  return { ...shared, status: 'partial_success' };
}
