/** Whether ops change what a view of a frame shows: its input, its channels, its nodes' outputs and failures, and what its run has spent (E9). */
import type { NodeRecord } from '../../state/tree.ts';

/** Fields of a node's record that say what its output or failure is. */
const shownFields: readonly string[] = ['status', 'output', 'outputOfSteps', 'error'];

/**
 * Never false where a view would differ, and true for some ops that change nothing: a record of a later visit, for one, as the
 * output of the visit before may have been there to see.
 * @param ops - of a checkpoint, values in their stored form
 * @param treePath - keys from the run's root tree to the frame's
 */
export function mayChangeState(ops: readonly unknown[], treePath: readonly string[]): boolean {
  return (ops as readonly (readonly [string, readonly string[], unknown])[]).some(([kind, path, value]) => {
    if (treePath.some((key, depth) => depth < path.length && path[depth] !== key)) return false;
    if (path.length <= treePath.length) return true;
    const [field, , ...inRecord] = path.slice(treePath.length);
    if (field === 'input' || field === 'channels' || field === 'spent') return true;
    if (field !== 'nodes') return false;
    if (inRecord.length > 0) return shownFields.includes(inRecord[0] as string);
    return kind !== 's' || isLaterOrShown(value as NodeRecord | undefined);
  });
}

/** Whether a record that is set as a whole shows an output or a failure, or may have replaced one that does: then it is of a later visit or attempt. */
function isLaterOrShown(record: NodeRecord | undefined): boolean {
  if (record === undefined || 'output' in record || record.outputOfSteps !== undefined) return true;
  return record.status === 'failed' || record.visits !== undefined || record.attempt !== undefined;
}
