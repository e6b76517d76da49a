/**
 * Reads the record of a node's last visit. If the visit has ended, its steps are no longer in the live state, so they are read from just
 * before its end.
 */
import { CairnError } from '../../errors.ts';
import { applyDelta, type Op } from '../../state/delta.ts';
import type { FrameTree, NodeRecord, RunTree } from '../../state/tree.ts';
import { loadState, readHistory } from '../load/load.ts';
import type { StatePlace } from '../access/place.ts';
import { resolveValues } from '../stored/checkpoint.ts';
import { walkLog } from './log.ts';
import type { ResolvedReference } from './references.ts';

export interface RecordedVisit {
  readonly runId: string;
  /** Seq of the checkpoint that the record is from. */
  readonly seq: number;
  /** Node ids from the root and, between them, names of child runs. */
  readonly path: readonly string[];
  /** The input of the node's run or child run. */
  readonly input: unknown;
  /** The node's record, with the steps, questions and child runs of the visit. */
  readonly record: NodeRecord;
}

type ReadPlace = Pick<StatePlace, 'store' | 'blobs'>;

/**
 * Reads the record of a node's last visit at a checkpoint.
 * @param path - path of the node
 * @throws USAGE_INVALID the node has no record, or its outcome was taken over from another run; what {@link loadState} throws
 */
export async function readVisit(
  place: ReadPlace,
  { run, seq }: ResolvedReference,
  path: readonly string[],
): Promise<RecordedVisit> {
  const { root } = await loadState(place.store, place.blobs, run, seq);
  const found = findVisit(root, path);
  const { runId } = run;
  if (found === undefined) throw nothingOf(path, runId, Object.keys(root.frame.nodes));
  const { record, input } = found;
  if (record.fired === undefined || Object.keys(record.steps ?? {}).length > 0)
    return { runId, seq, path, input, record };
  const end = await findEnd(place, { run, seq }, path);
  if (end === undefined) return { runId, seq, path, input, record };
  const before = await stateBefore(place, run, end, path);
  const visit = findVisit(before, path);
  if (visit === undefined) return { runId, seq, path, input, record };
  const { status, output, spent } = record;
  // The outcome is added to what the visit's record contained just before its end.
  return {
    runId,
    seq: end,
    path,
    input,
    record: { ...visit.record, status, output, ...(spent !== undefined && { spent }) },
  };
}

function findVisit({ frame }: RunTree, path: readonly string[]): Pick<RecordedVisit, 'input' | 'record'> | undefined {
  let at: FrameTree | undefined = frame;
  for (let index = 0; index + 1 < path.length; index += 2)
    at = at?.nodes[path[index] as string]?.children?.[path[index + 1] as string];
  const record = at?.nodes[path.at(-1) as string];
  return at === undefined || record === undefined ? undefined : { input: at.input, record };
}

/** Finds the checkpoint in which a visit ended. */
async function findEnd(
  { store }: ReadPlace,
  { run, seq }: ResolvedReference,
  path: readonly string[],
): Promise<number | undefined> {
  const place = path.join('\0');
  for await (const entry of walkLog(store, run, { before: seq + 1, includeAncestors: true, includeDeleted: true })) {
    const part = entry.change.find(
      ({ kind, node }) => (kind === 'settle' || kind === 'replay') && node?.join('\0') === place,
    );
    if (part?.kind === 'settle') return entry.seq;
    if (part !== undefined) {
      const { runId } = part.from ?? run;
      throw new CairnError('USAGE_INVALID', {
        reason: `what ${path.join('/')} gave in ${run.runId} was taken over from ${runId}`,
        hint: `Ask ${runId} for it.`,
      });
    }
  }
  return undefined;
}

/** The state just before a visit ended. That is in the middle of a checkpoint's ops. */
async function stateBefore(
  { store, blobs }: ReadPlace,
  run: ResolvedReference['run'],
  seq: number,
  path: readonly string[],
): Promise<RunTree> {
  const { root } = await loadState(store, blobs, run, seq - 1);
  for await (const { checkpoint } of readHistory(store, run, { from: seq, to: seq })) {
    const { hasTags, ops: stored } = checkpoint;
    const ops = (hasTags ? await resolveValues(blobs, run.tenant, stored) : stored) as readonly Op[];
    const end = ops.findLastIndex(([kind, at]) => kind === 's' && isRecordOf(at, path));
    applyDelta(root, end < 0 ? ops : ops.slice(0, end));
  }
  return root;
}

/** Whether an op's path leads to this node's record: `frame.nodes.ID`, with `children.NAME.nodes.ID` for each child run. */
function isRecordOf(at: readonly unknown[], path: readonly string[]): boolean {
  const expected = path.flatMap((part, index) => [index % 2 === 0 ? 'nodes' : 'children', part]);
  return (
    at.length === expected.length + 1 && at[0] === 'frame' && expected.every((part, index) => at[index + 1] === part)
  );
}

function nothingOf(path: readonly string[], runId: string, there: readonly string[]): CairnError {
  return new CairnError('USAGE_INVALID', {
    reason: `nothing is on record of a node ${path.join('/')} in ${runId}`,
    hint: `There is: ${there.filter((id) => !id.startsWith('__')).join(', ') || 'nothing yet'}.`,
  });
}
