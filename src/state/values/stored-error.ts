/** Errors as values: with name, message, code, data and cause, but never a stack. */
import { toJson } from './to-json.ts';

export interface ErrorParts {
  readonly name: string;
  readonly message: string;
  readonly code?: unknown;
  readonly data?: unknown;
  readonly cause?: unknown;
}

/** Makes an Error from these parts. */
export function createStoredError(parts: ErrorParts): Error {
  const error = new Error(parts.message);
  // A stack would differ after each load, and reveal details of this machine.
  delete (error as { stack?: string }).stack;
  if (parts.name !== 'Error') hide(error, 'name', parts.name);
  if ('code' in parts) Object.assign(error, { code: parts.code });
  if ('data' in parts) Object.assign(error, { data: parts.data });
  if ('cause' in parts) hide(error, 'cause', parts.cause);
  hide(error, 'toJSON', errorJson);
  return error;
}

/** Without it `JSON.stringify` would tell neither name nor message of an error. */
function errorJson(this: Error): unknown {
  return toJson(this);
}

function hide(error: Error, name: string, value: unknown): void {
  Object.defineProperty(error, name, { value, enumerable: false, configurable: true, writable: true });
}

export const isObject = (value: unknown): boolean => typeof value === 'object' && value !== null;
