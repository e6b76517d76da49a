/** A generator of ids that gives a repeated function the same ids again. */
import type { NodeContext } from '../graph/contracts/node-contract.ts';
import { hashParts } from '../state/values/hash.ts';

/** @param name - name of the conversation, so that two conversations in a node get different ids */
export function seededIds({ nodePath, visit }: Pick<NodeContext, 'nodePath' | 'visit'>, name: string): () => string {
  const seed = hashParts([...nodePath, String(visit), name]).slice(0, 12);
  let count = 0;
  return () => `${seed}-${(count += 1)}`;
}
