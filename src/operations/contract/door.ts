/** By which door an operation was asked for, as the record keeps it. */
import type { Acting } from '../../engine/api.ts';
import type { CallerContext } from './operation.ts';

export function doorOf({ acting: { door, as } = {} }: CallerContext): Pick<Acting, 'door' | 'as'> {
  return { ...(door !== undefined && { door }), ...(as !== undefined && { as }) };
}
