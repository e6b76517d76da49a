/** Nodes with `onFailure: 'fail-last'` that failed: recorded in the tree until all else has ended, and opened by a resume (G8). */
import type { FrameTree } from '../../state/tree.ts';
import type { TreeWriter } from '../../state/tree-writer.ts';

/** Whether the node failed, and waits for all else of its frame to end. */
export function hasFailedLast({ failedNodes }: FrameTree, id: string): boolean {
  return failedNodes !== undefined && Object.hasOwn(failedNodes, id);
}

/** Id of the node of a frame that failed first with `fail-last`; undefined if none did. */
export function firstFailedLast({ failedNodes = {} }: FrameTree): string | undefined {
  return Object.keys(failedNodes)[0];
}

/** Opens what failed with `fail-last` in the run and in its child runs, so that it is tried again. */
export function openFailedNodes(writer: TreeWriter): void {
  openIn(writer, ['frame'], writer.root.frame);
}

function openIn(writer: TreeWriter, path: readonly string[], frame: FrameTree): void {
  if (frame.failedNodes !== undefined) writer.delete([...path, 'failedNodes']);
  for (const [id, record] of Object.entries(frame.nodes)) {
    if (record.fired !== undefined) continue;
    for (const [key, child] of Object.entries(record.children ?? {}))
      openIn(writer, [...path, 'nodes', id, 'children', key], child);
  }
}
