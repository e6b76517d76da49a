/** Errors as values: with name, message, code, data and cause, but never a stack. */

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
  return error;
}

function hide(error: Error, name: string, value: unknown): void {
  Object.defineProperty(error, name, { value, enumerable: false, configurable: true, writable: true });
}
