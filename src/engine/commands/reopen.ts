/**
 * Begins open visits of a fork anew that had read what the fork changes (H2.4). What such a visit had begun belongs to the original: here
 * it is due again, and what is recorded of it is taken over where the input is equal, as if the fork point were before it (X2).
 */
import type { Graph, GraphNode } from '../../graph/graph.ts';
import { loadState } from '../../history/load/load.ts';
import type { RunRow } from '../../ports/store.ts';
import { overlaps } from '../../state/channels/view.ts';
import { type NodeRecord, type RunTree, type StepRecord, nodeRecord } from '../../state/tree.ts';
import { pathKeyOf } from '../visit-records/node-path.ts';
import { viewOf, wholeView } from '../visit-records/shown-state.ts';
import type { Draft } from '../live-run/draft.ts';
import { rootFrameRun } from '../live-run/loop.ts';
import type { EngineEnvironment } from '../live-run/run-core.ts';

/** Visits that go on with the state they began with and do not see what the fork sets: by node id, what they read that changed since. */
export type OldViews = ReadonlyMap<string, readonly string[]>;

/**
 * Call when a fork is resumed for the first time, before anything is planned. Visits that had read nothing of the patch go on, and see it
 * from here on, unless something else that they had read has changed since they began.
 */
export async function reopenVisits(env: EngineEnvironment, run: RunRow, draft: Draft, graph: Graph): Promise<OldViews> {
  const { patched, frame } = draft.root;
  const oldViews = new Map<string, readonly string[]>();
  if (patched === undefined || run.parent === undefined) return oldViews;
  const first = run.parent.seq + 1;
  const states = new Map<number, Promise<RunTree>>();
  const stateAt = (seq: number): Promise<RunTree> => {
    const state = states.get(seq) ?? loadState(env.store, env.blobs, run, seq).then(({ root }) => root);
    states.set(seq, state);
    return state;
  };
  for (const node of graph.nodes) {
    const record = nodeRecord(frame, node);
    if (record?.view === undefined || record.fired !== undefined || isDecided(draft.root, node, record)) continue;
    const before = await stateAt(record.view);
    const isSame = (names: readonly string[]): boolean =>
      versionsIn(before, graph, names) === versionsIn(draft.root, graph, names);
    const reads = readsOf(node, record);
    const changed = patched.filter((channel) => reads.some((read) => overlaps(channel, read)) && !isSame([channel]));
    if (changed.length > 0) reopen(draft, node, record, { first, changed });
    else if (record.intent === undefined && isSame(record.reads ?? []))
      draft.set(['frame', 'nodes', node.id, 'view'], first);
    // What a node with declared reads sees is known: nothing of it is set.
    else if (record.intent === undefined && node.reads === undefined)
      oldViews.set(
        node.id,
        (record.reads ?? []).filter((name) => !isSame([name])),
      );
  }
  return oldViews;
}

/** What a visit may have read: of an effect without an end that is not known, unless its node declares it. */
function readsOf(node: GraphNode, { intent, reads = [] }: NodeRecord): readonly string[] {
  return node.reads ?? (intent === undefined ? reads : wholeView);
}

function versionsIn(root: RunTree, graph: Graph, names: readonly string[]): string {
  const view = viewOf(root, rootFrameRun(graph, root));
  const versions = JSON.stringify(view.versions(names));
  view.close();
  return versions;
}

/** Whether it is decided already what becomes of the visit: by the fork or a person, or since only its reducer or condition failed. */
function isDecided({ supplied }: RunTree, { id }: GraphNode, { decision, kept }: NodeRecord): boolean {
  return (
    decision !== undefined || kept !== undefined || (supplied !== undefined && Object.hasOwn(supplied, pathKeyOf([id])))
  );
}

interface Change {
  /** Seq of the fork's first checkpoint. */
  readonly first: number;
  /** The channels that the fork changed, and the visit had read. */
  readonly changed: readonly string[];
}

const droppedFields = ['intent', 'reads', 'applied', 'withheld', 'retryAt', 'deadlineAt', 'view'] as const;

/** Questions, timers, signals and child runs stay: whether the function asks the same again is found when it does (W1.4). */
function reopen(draft: Draft, { id }: GraphNode, record: NodeRecord, { first, changed }: Change): void {
  const at = ['frame', 'nodes', id];
  const { view = first, visits: visit = 1, steps = {}, status, children, saves, retired, took } = record;
  const staying = Object.keys(steps).filter((key) => stays(steps[key] as StepRecord));
  const hasWork = staying.length > 0 || children !== undefined || saves !== undefined || retired !== undefined;
  for (const field of droppedFields) draft.delete([...at, field]);
  if (hasWork) {
    draft.set([...at, 'view'], first);
    for (const key of Object.keys(steps)) if (!staying.includes(key)) draft.delete([...at, 'steps', key]);
  } else if (status === 'failed') {
    // It keeps counting its attempts (G8).
    draft.delete([...at, 'steps']);
  } else if (visit === 1 && took === undefined) {
    draft.delete(at);
  } else for (const field of ['steps', 'attempt', 'budgetFrom']) draft.delete([...at, field]);
  for (const [waitId, { node, step, budget }] of Object.entries(draft.root.waits)) {
    const isOwn = node.length === 1 && node[0] === id && budget === undefined;
    if (isOwn && (step === undefined || !staying.includes(step))) draft.closeWait(waitId);
  }
  draft.set(['reopened', id], { visit, from: view, to: first - 1, changed });
}

/** Whether a step stays on record: a question, a timer or a signal, or one of which a person has decided what happened. */
function stays({ kind, status, decision }: StepRecord): boolean {
  return decision !== undefined || (kind !== 'step' && status !== 'failed');
}
