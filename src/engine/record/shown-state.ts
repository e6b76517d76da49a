/**
 * Decides whether ops change what a view of a frame shows: its input, its channels, outputs and failures of its nodes, and the run's cost
 * (E9).
 */
import type { NodeRecord } from '../../state/tree.ts';

/** Fields of a node's record that determine its output or failure. */
const shownFields: readonly string[] = ['status', 'output', 'outputOfSteps', 'error'];

/**
 * Whether ops may change what a view shows. It is never false if they do, but may be true if they do not: for example for the record of a
 * later visit, since the view may have shown the earlier visit's output.
 * @param ops - ops of a checkpoint, with values in stored form
 * @param treePath - keys from the run's root tree to the frame
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

/**
 * Whether a record that is set as a whole shows an output or failure, or belongs to a later visit or attempt and may have replaced one that
 * did.
 */
function isLaterOrShown(record: NodeRecord | undefined): boolean {
  if (record === undefined || 'output' in record || record.outputOfSteps !== undefined) return true;
  return record.status === 'failed' || record.visits !== undefined || record.attempt !== undefined;
}
