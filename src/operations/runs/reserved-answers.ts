/** Enforces that only people answer questions, where that is configured, and tells others which command a person has to type (M13.5). */
import { CairnError } from '../../errors.ts';
import type { Graph, GraphNode } from '../../graph/graph.ts';
import { readHistory } from '../../history/load/lineage.ts';
import type { RunRow } from '../../ports/store.ts';
import type { Patch } from '../../engine/api.ts';
import type { WorkContext } from '../declare/operation.ts';

/**
 * Refuses an answer that is not from a person. @param by - who answers; `person` is somebody who was asked in a form. @throws
 * ANSWER_RESERVED
 */
export function refuseAnswer(
  { reserved }: Pick<WorkContext, 'reserved'>,
  { runId, waitId }: { readonly runId: string; readonly waitId: string },
  by: string | undefined,
): void {
  if (reserved === undefined || by === 'person') return;
  const words = ['answer', runId, ...(waitId === '' ? [] : [waitId]), 'VALUE', '--resume'];
  throw new CairnError('ANSWER_RESERVED', { runId, command: reserved.command(...words) });
}

export interface ReservedFork {
  readonly run: RunRow;
  /** The checkpoint, as it was named. */
  readonly checkpoint: string;
  readonly set: readonly Patch[];
  readonly answers: readonly string[];
  /** The graph that the fork is to use, if one was given. */
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
  const [name] = answers;
  if (name !== undefined) refuse(`the fork would answer ${name}`, '--answer', `${name}=VALUE`);
  const ids = set.filter(({ path }) => path[0] === 'outputs').map(({ path }) => path[1] ?? '');
  if (ids.length === 0) return;
  const known = graph ?? (await context.findGraph(run).catch(() => undefined));
  const unasked = await settledUnasked(context, run);
  for (const id of ids) {
    const node = known?.nodes.find((one) => one.id === id);
    if (node === undefined || mayAsk(node) || !unasked.has(id))
      refuse(`the fork would set the outcome of ${id}, which may ask`, '--set', `outputs.${id}=VALUE`);
  }
}

/** Whether a node, or one of the graph that it runs, asks a person by its kind. */
export function mayAsk({ effect, subgraph }: GraphNode): boolean {
  return effect === 'human' || subgraph?.nodes.some(mayAsk) === true;
}

/** Nodes that have settled in a run's history without asking anything. */
async function settledUnasked({ store }: WorkContext, run: RunRow): Promise<ReadonlySet<string>> {
  const settled = new Set<string>();
  const asked = new Set<string>();
  for await (const { checkpoint } of readHistory(store, run, { from: 0, to: run.head }))
    for (const { kind, node: [id] = [], node } of checkpoint.change) {
      if (id === undefined) continue;
      if (kind === 'wait') asked.add(id);
      else if ((kind === 'settle' || kind === 'replay') && node?.length === 1) settled.add(id);
    }
  for (const id of asked) settled.delete(id);
  return settled;
}
