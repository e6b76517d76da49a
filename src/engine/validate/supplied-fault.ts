/** Checks whether an outcome set in a fork is one that its node could give (H2.1). */
import { CairnError, reasonOf } from '../../errors.ts';
import type { GraphNode } from '../../graph/graph.ts';
import type { StateView } from '../../graph/contracts/node-contract.ts';

/** @returns OUTCOME_INVALID with the reason, and with a cause if this state does not tell; undefined if it fits */
export function suppliedFault(
  { id, implementation }: Pick<GraphNode, 'id' | 'implementation'>,
  output: unknown,
  state: StateView,
): CairnError | undefined {
  try {
    const reason = implementation.outputFault?.(output, state);
    return reason === undefined ? undefined : new CairnError('OUTCOME_INVALID', { node: id, reason });
  } catch (cause) {
    const reason = reasonOf(cause);
    return new CairnError('OUTCOME_INVALID', { node: id, reason }, { cause });
  }
}
