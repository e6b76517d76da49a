/** Enforces that only people answer questions, where that is configured, and tells others which command a person has to type (M13.5). */
import { CairnError } from '../../errors.ts';
import type { Graph, GraphNode } from '../../graph/graph.ts';
import { readHistory } from '../../history/load/lineage.ts';
import { isAnswerable, readWait } from '../../history/stored/wait-row.ts';
import type { RunRow } from '../../ports/store.ts';
import type { Op } from '../../state/delta.ts';
import type { WaitRecord } from '../../state/tree.ts';
import type { Patch } from '../../engine/api.ts';
import { waitsNamed } from '../../engine/validate/find-wait.ts';
import { isFor } from '../../engine/validate/whose-answer.ts';
import type { CallerContext, WorkContext } from '../contract/operation.ts';

type Reserved = Pick<WorkContext, 'reserved'>;

/** Whether a question says that it is for others than whoever acts. Where nobody knows who that is, it is for none. */
export function isForOthers({ acting, actor }: CallerContext, wait: WaitRecord): boolean {
  return acting !== undefined && !isFor(wait, { ...acting, ...(actor !== undefined && { by: actor }) });
}

/**
 * Whether a question is for people. A model must not approve what it wants to do itself: a call of a tool, a larger budget, or that an
 * effect in doubt is done again.
 */
export function isForPeople({ reserved }: Reserved, wait: WaitRecord): boolean {
  if (reserved === undefined || !isAnswerable(wait)) return false;
  return reserved.questions === 'all' || isApproval(wait);
}

function isApproval({ kind, isApproval: isMarked, budget, name, metadata }: WaitRecord): boolean {
  if (kind === 'doubt' || isMarked === true || budget !== undefined) return true;
  // The form of questions by agents of older versions.
  return name.startsWith('approve ') && typeof (metadata as { readonly tool?: unknown } | null)?.tool === 'string';
}

/** Refuses an answer to a question that is for people. @param wait - it; undefined if none of that name is open. @throws ANSWER_RESERVED */
export function refuseAnswer(
  context: Reserved,
  { runId, waitId, wait }: { readonly runId: string; readonly waitId: string; readonly wait: WaitRecord | undefined },
): void {
  const { reserved } = context;
  if (reserved === undefined) return;
  if (wait === undefined ? reserved.questions !== 'all' : !isForPeople(context, wait)) return;
  const words = ['answer', runId, ...(waitId === '' ? [] : [waitId]), 'VALUE', '--resume'];
  throw new CairnError('ANSWER_RESERVED', { runId, command: reserved.command(...words) });
}

/**
 * Refuses a signal where every answer is refused: a signal tells a run what it waits for, as an answer does, and nothing of it says whether a
 * person has to have said it. @throws ANSWER_RESERVED
 */
export function refuseSignal({ reserved }: Reserved, runId: string, name: string): void {
  if (reserved?.questions !== 'all') return;
  const command = reserved.command('signal', runId, name, 'VALUE');
  throw new CairnError('ANSWER_RESERVED', { runId, reason: 'a signal may say what a person would', command });
}

/** Refuses to remove a run that waits for a person. @throws ANSWER_RESERVED */
export async function refuseRemoval(context: WorkContext, { runId, tenant }: RunRow): Promise<void> {
  const { reserved, store } = context;
  if (reserved === undefined) return;
  const { rows } = await store.listWaits({ tenant, runId, kinds: ['question', 'doubt'], limit: waitsLookedAt });
  if (!rows.map(readWait).some((wait) => wait.isDamaged === true || isForPeople(context, wait))) return;
  const reason = 'the run waits for a person';
  throw new CairnError('ANSWER_RESERVED', { runId, reason, command: reserved.command('rm', runId) });
}

/** More than the open waits that a run may have. */
const waitsLookedAt = 100_000;

export interface ReservedFork {
  readonly run: RunRow;
  /** The checkpoint, as it was named. */
  readonly checkpoint: string;
  readonly set: readonly Patch[];
  readonly answers: readonly string[];
  /** The graph that the fork is to use, if any. */
  readonly graph: Graph | undefined;
}

/** Refuses a fork that would answer a question, directly or by setting the outcome of a node that asks. @throws ANSWER_RESERVED */
export async function refuseForkAnswers(context: WorkContext, fork: ReservedFork): Promise<void> {
  const { reserved } = context;
  if (reserved === undefined) return;
  const { run, checkpoint, set, answers, graph } = fork;
  const refuse = (reason: string, ...words: readonly string[]): never => {
    throw new CairnError('ANSWER_RESERVED', {
      runId: run.runId,
      reason,
      command: reserved.command('fork', checkpoint, ...words, '--run'),
    });
  };
  const ids = set.filter(({ path }) => path[0] === 'outputs').map(({ path }) => path[1] ?? '');
  if (answers.length === 0 && ids.length === 0) return;
  const past = await readQuestion(context, run);
  const own = past.waits.filter((wait) => isForPeople(context, wait));
  const isOwn = (name: string): boolean => reserved.questions === 'all' || waitsNamed(own, name).length > 0;
  const name = answers.find(isOwn);
  if (name !== undefined) refuse(`the fork would answer ${name}`, '--answer', `${name}=VALUE`);
  const known = graph ?? (await context.findGraph(run).catch(() => undefined));
  for (const id of ids) {
    const node = known?.nodes.find((one) => one.id === id);
    const isFree =
      reserved.questions === 'all'
        ? node !== undefined && !mayAsk(node) && past.unasked.has(id)
        : !own.some(({ node: [asking] }) => asking === id);
    if (!isFree) refuse(`the fork would set the outcome of ${id}, which may ask`, '--set', `outputs.${id}=VALUE`);
  }
}

/** Whether a node, or one of the graph that it runs, asks a person by its kind. */
export function mayAsk({ effect, subgraph }: GraphNode): boolean {
  return effect === 'human' || subgraph?.nodes.some(mayAsk) === true;
}

/** The waits that a run has opened, and the nodes that settled without asking anything. */
async function readQuestion(
  { store, tenant }: WorkContext,
  run: RunRow,
): Promise<{ readonly waits: readonly OpenedWait[]; readonly unasked: ReadonlySet<string> }> {
  const settled = new Set<string>();
  const questions = new Set<string>();
  // Of a run whose beginning was pruned, those that are still open may be in no delta.
  const { rows } = await store.listWaits({ tenant, runId: run.runId, limit: waitsLookedAt });
  const waits: OpenedWait[] = rows.map(readWait);
  for await (const { checkpoint } of readHistory(store, run, { from: 0, to: run.head })) {
    for (const { kind, node: [id] = [], node } of checkpoint.change) {
      if (id === undefined) continue;
      if (kind === 'wait') questions.add(id);
      else if ((kind === 'settle' || kind === 'replay') && node?.length === 1) settled.add(id);
    }
    waits.push(...openedIn(checkpoint.ops as readonly Op[]));
  }
  for (const id of questions) settled.delete(id);
  return { waits, unasked: settled };
}

type OpenedWait = WaitRecord & { readonly waitId: string };

function openedIn(ops: readonly Op[]): readonly OpenedWait[] {
  return ops.flatMap(([kind, [table, id], value]) =>
    kind === 's' && table === 'waits' && id !== undefined ? [{ ...(value as WaitRecord), waitId: id }] : [],
  );
}
