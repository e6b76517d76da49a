/**
 * The run that changes many runs: it has their ids and heads, and tries each once whose head has not moved. It is a run like any other, so it
 * can be watched, cancelled and resumed (D52).
 */
import { compileGraph } from '../../graph/compile/compile-graph.ts';
import { END, START, type Graph } from '../../graph/graph.ts';
import type { NodeContext } from '../../graph/contracts/node-contract.ts';
import { CairnError } from '../../errors.ts';
import { removeRun } from '../../history/retention/remove-run.ts';
import type { RunRow } from '../../ports/store.ts';
import { metaOf, type RelabellingAct } from '../../history/stored/stored-meta.ts';
import type { WorkContext } from '../contract/operation.ts';
import { changeLabels, isLabelled, type LabelChange } from './label-run.ts';

export type BulkAction = 'cancel' | 'resume' | 'rm' | 'label';

export const bulkGraphId = 'bulk';

/** A run, and the newest checkpoint that it had when it was chosen. */
export type BulkTarget = readonly [runId: string, head: number];

/** What is done to which runs: the input of the bulk run. */
export interface BulkWork extends LabelChange {
  readonly action: BulkAction;
  readonly targets: readonly BulkTarget[];
  readonly reason?: string;
  readonly by?: string;
  /** By which door it was asked for. */
  readonly door?: Pick<RelabellingAct, 'door' | 'as'>;
}

/** How far it is. */
export interface BulkCounts {
  /** Those that stand as it was wanted. */
  readonly done: number;
  /** Those that went on since they were chosen, and were left alone. */
  readonly moved: number;
  /** Those that could not be changed. */
  readonly failed: number;
  /** The first of these, with the codes of why. */
  readonly failures: readonly { readonly runId: string; readonly code: string }[];
}

interface BulkStanding extends BulkCounts {
  readonly next: number;
}

/** Runs of one step, and how many of them at once. */
const chunk = 40;
const atOnce = 8;
const failuresMax = 20;

/** The graph of bulk runs. Its input is {@link BulkWork}. */
export function bulkGraph(place: WorkContext): Graph {
  const run = (ctx: NodeContext): Promise<BulkCounts> => changeAll(ctx, place);
  return compileGraph({
    id: bulkGraphId,
    // A fixed text in place of the code, so that it goes on under a newer version of this package.
    nodes: [{ id: 'change', type: 'bulk', effect: 'read', implementation: { run, codeText: 'bulk 1' } }],
    edges: [
      { from: START, to: 'change' },
      { from: 'change', to: END },
    ],
  });
}

async function changeAll(ctx: NodeContext, place: WorkContext): Promise<BulkCounts> {
  const work = ctx.input as BulkWork;
  let standing = (ctx.savedState as BulkStanding | undefined) ?? {
    next: 0,
    done: 0,
    moved: 0,
    failed: 0,
    failures: [],
  };
  while (standing.next < work.targets.length) {
    const targets = work.targets.slice(standing.next, standing.next + chunk);
    // Class `read`, although it changes runs: a run that stands as it was wanted is not changed again.
    const results = await ctx.step('change', { effect: 'read' }, () => changeSome(place, work, targets));
    const failures = results.flatMap((code, index) =>
      code === 'done' || code === 'moved' ? [] : [{ runId: targets[index]?.[0] ?? '', code }],
    );
    standing = {
      next: standing.next + targets.length,
      done: standing.done + results.filter((code) => code === 'done').length,
      moved: standing.moved + results.filter((code) => code === 'moved').length,
      failed: standing.failed + failures.length,
      failures: [...standing.failures, ...failures].slice(0, failuresMax),
    };
    await ctx.save(standing);
  }
  const { next: _, ...counts } = standing;
  return counts;
}

/** What became of each: `done`, `moved`, or the code of why it could not be changed. */
async function changeSome(
  place: WorkContext,
  work: BulkWork,
  targets: readonly BulkTarget[],
): Promise<readonly string[]> {
  const results: string[] = targets.map(() => '');
  const queue = [...targets.entries()];
  const worker = async (): Promise<void> => {
    for (let next = queue.shift(); next !== undefined; next = queue.shift())
      results[next[0]] = await changeOne(place, work, next[1]).catch((error: unknown) => CairnError.from(error).code);
  };
  await Promise.all(Array.from({ length: atOnce }, worker));
  return results;
}

async function changeOne(place: WorkContext, work: BulkWork, [runId, head]: BulkTarget): Promise<string> {
  const { store, tenant, engine } = place;
  const run = await store.readRun({ tenant, runId });
  // Also where this was done before, and the process died before it could say so.
  if (isAsWanted(work, run)) return 'done';
  if (run === undefined || run.head !== head) return 'moved';
  const who = work.by === undefined ? {} : { by: work.by };
  if (work.action === 'cancel')
    await engine.cancel(runId, { ...who, ...(work.reason !== undefined && { reason: work.reason }) });
  else if (work.action === 'label') await changeLabels(place, runId, labelChangeOf(work), { ...work.door, ...who });
  else if (work.action === 'resume') await engine.resume(runId, { ...who, detach: true });
  else await removeRun(place, runId);
  return 'done';
}

function labelChangeOf({ set, unset }: BulkWork): LabelChange {
  return { ...(set !== undefined && { set }), ...(unset !== undefined && { unset }) };
}

function isAsWanted(work: BulkWork, run: RunRow | undefined): boolean {
  const { action } = work;
  if (action === 'rm') return run === undefined;
  if (action === 'label') return run !== undefined && isLabelled(metaOf(run), labelChangeOf(work));
  if (action === 'cancel') return run?.status === 'cancelled' || run?.status === 'cancelling';
  return run?.status === 'running';
}
