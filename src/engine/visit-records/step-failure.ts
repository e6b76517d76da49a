/** The error of a failed step as its function sees it: the same whether the step failed just now or earlier (P1). */
import type { StepRecord } from '../../state/tree.ts';
import { CairnError, errorTable, type ErrorCode } from '../../errors.ts';
import { NodeFailure } from '../../graph/contracts/node-contract.ts';

type StoredError = Error & { readonly code?: unknown; readonly data?: unknown };

/**
 * The error to throw for a failed step. It is made from the record and is not the original error, because a repeated function would not get
 * that. Our own errors get their classes again; of others, name, message, code, data and cause remain.
 * @param stack - where it was thrown, if that was just now
 */
export function failureOf({ error, applied }: Pick<StepRecord, 'error' | 'applied'>, stack?: string): unknown {
  if (!(error instanceof Error)) return error;
  const again = reborn(error, applied);
  if (stack !== undefined) hide(again, 'stack', stack);
  return again;
}

function reborn(error: StoredError, applied: StepRecord['applied']): Error {
  const { name, message, code, data } = error;
  const cause = Object.hasOwn(error, 'cause') ? { cause: error.cause } : {};
  if (name === 'NodeFailure')
    return new NodeFailure(message, {
      ...(typeof code === 'string' && { code }),
      data,
      applied: applied ?? 'unknown',
      ...cause,
    });
  if (name === 'CairnError' && typeof code === 'string' && Object.hasOwn(errorTable, code)) {
    const ours = new CairnError(code as ErrorCode, data as Readonly<Record<string, unknown>>, cause);
    hide(ours, 'message', message);
    return ours;
  }
  const other = new Error(message, cause);
  if (name !== 'Error') hide(other, 'name', name);
  return Object.assign(other, code !== undefined && { code }, data !== undefined && { data }, applied && { applied });
}

function hide(error: Error, name: string, value: unknown): void {
  Object.defineProperty(error, name, { value, enumerable: false, configurable: true, writable: true });
}
