/** Tells failures of a tool, which the model is told about, from those that end the attempt. */
import { CairnError } from '../../errors.ts';
import { NodeFailure, type NodeContext } from '../../graph/contracts/node-contract.ts';

/** Error codes of the engine that are a tool's own failure. All other errors of the engine end the attempt. */
const ownFailures: ReadonlySet<string> = new Set(['NODE_TIMED_OUT', 'VALUE_UNSTORABLE', 'VALUE_TOO_LARGE']);

/** Failures that a person can fix and a model cannot. They make the node fail; once they are fixed, the run can be resumed. */
const notForModels: ReadonlySet<string> = new Set(['MCP_UNAVAILABLE', 'MCP_CHANGED']);

/** Whether a failure is the tool's own, so that the conversation can go on. */
export function isOfTool(error: unknown, { signal }: Pick<NodeContext, 'signal'>): boolean {
  if (signal.aborted) return false;
  if (CairnError.is(error)) return ownFailures.has(error.code);
  return !(error instanceof NodeFailure && notForModels.has(error.code));
}
