/** The state of a run inside a child run, which their parent reads through the child's handle (W6.9). */
import type { StateView } from '../../graph/contracts/node-contract.ts';
import { DeltaBuilder } from '../../state/delta.ts';
import { Frame } from '../../state/frame.ts';
import { callKey } from '../record/finish-step.ts';
import type { FrameRun } from '../run/loop.ts';
import { graphTables } from '../run/graph-tables.ts';

/** The state of the run that a node began from its subgraph under a name; null if there is none on record. */
export function innerState(frameRun: FrameRun, nodeId: string, name: string): StateView | null {
  const node = frameRun.graph.nodes.find(({ id }) => id === nodeId);
  if (node?.subgraph === undefined) return null;
  const { children = {} } = frameRun.recordOf(node) ?? {};
  const key = callKey(name, 1);
  const tree = Object.hasOwn(children, key) ? children[key] : undefined;
  if (tree === undefined) return null;
  const { channels, outputNames } = graphTables(node.subgraph);
  return new Frame(tree, [], new DeltaBuilder(), channels, outputNames).plainState();
}
