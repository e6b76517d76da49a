/** Names of recorded tool calls: the call's key, with a number for equal calls (A4). */
import type { ToolCallPart } from '../../graph/contracts/model-contract.ts';
import { toolCallKey } from '../../model-calls/message-keys.ts';

/** The name of a call that is the first of its kind. */
export function callName({ tool, input }: Pick<ToolCallPart, 'tool' | 'input'>): string {
  return toolCallKey(tool, input);
}

/**
 * The name of one of several equal calls.
 * @param name - the name of the first of them
 * @param nth - the call's number among them, counted from 1
 */
export function nthName(name: string, nth: number): string {
  return nth === 1 ? name : `${name} ${nth}`;
}

/** Whether a recorded call is this one, or one that a composed tool made in it. An equal call that came later is neither. */
export function isPartOf(recorded: string, call: string): boolean {
  return (
    recorded === call || (recorded.startsWith(`${call} `) && !/^\d+(?: |$)/u.test(recorded.slice(call.length + 1)))
  );
}

/** The tool in a call's name. */
export function toolOfName(name: string): string {
  return name.split(' ')[1] as string;
}
