/** Which failures of a tool are its own, and which end the attempt. */
import { CairnError } from '../errors.ts';
import { NodeFailure, type NodeContext } from '../graph/contracts/node-contract.ts';

/** Failures that are the tool's own, by the codes under which the engine tells of them. All else of the engine ends the attempt. */
const ownFailures: ReadonlySet<string> = new Set(['NODE_TIMED_OUT', 'VALUE_UNSTORABLE', 'VALUE_TOO_LARGE']);

/** Failures that a person mends and a model cannot: the node fails with them, and the run goes on when they are mended. */
const notForModels: ReadonlySet<string> = new Set(['MCP_UNAVAILABLE', 'MCP_CHANGED']);

/** Whether a failure is the tool's, and the conversation can go on with it. */
export function isOfTool(error: unknown, { signal }: Pick<NodeContext, 'signal'>): boolean {
  if (signal.aborted || !(error instanceof Error)) return false;
  if (CairnError.is(error)) return ownFailures.has(error.code);
  return !(error instanceof NodeFailure && notForModels.has(error.code));
}
