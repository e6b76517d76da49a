/** The name under which a tool call is on record: its key, and which of equal ones it is (A4). */
import type { ToolCallPart } from '../graph/contracts/model-contract.ts';
import { toolCallKey } from '../ports/message-keys.ts';

/** @param nth - of equal calls, counted from 1 */
export function callName({ tool, input }: Pick<ToolCallPart, 'tool' | 'input'>, nth = 1): string {
  const name = toolCallKey(tool, input);
  return nth === 1 ? name : `${name} ${nth}`;
}

/** The tool of a call's name. */
export function toolOfName(name: string): string {
  return name.split(' ')[1] as string;
}
