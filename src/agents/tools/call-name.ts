/** Names of recorded tool calls: the call's key, with a number for equal calls (A4). */
import type { ToolCallPart } from '../../graph/contracts/model-contract.ts';
import { toolCallKey } from '../../model-calls/message-keys.ts';

/** @param nth - number of the call among equal ones, counted from 1 */
export function callName({ tool, input }: Pick<ToolCallPart, 'tool' | 'input'>, nth = 1): string {
  const name = toolCallKey(tool, input);
  return nth === 1 ? name : `${name} ${nth}`;
}

/** The tool in a call's name. */
export function toolOfName(name: string): string {
  return name.split(' ')[1] as string;
}
