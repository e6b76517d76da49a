/** Ids that a repeated function is given again. */
import type { NodeContext } from '../graph/contracts/node-contract.ts';
import { hashParts } from '../state/values/hash.ts';

/** @param name - of the conversation, so that two in one node differ */
export function seededIds({ nodePath, visit }: Pick<NodeContext, 'nodePath' | 'visit'>, name: string): () => string {
  const seed = hashParts([...nodePath, String(visit), name]).slice(0, 12);
  let count = 0;
  return () => `${seed}-${(count += 1)}`;
}
