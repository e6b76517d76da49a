/** Carries errors of providers through a step: they are recorded as failures of the model port, and turned back into errors that the SDK recognises. */
import { NodeFailure } from '../graph/contracts/node-contract.ts';
import { CairnError, reasonOf } from '../errors.ts';
import { modelFailure } from '../models/ai-sdk-failure.ts';

/** What is recorded of an error, without bodies, headers and requests. */
interface ErrorNote {
  readonly name: string;
  readonly message: string;
  /** Keys of the registered symbols by which the SDK recognises its errors. */
  readonly markers: readonly string[];
  readonly fields: Readonly<Record<string, string | number | boolean>>;
  /** Whether pieces of the answer had been passed on before the error. */
  readonly isInterrupted?: boolean;
}

const omittedFields: ReadonlySet<string> = new Set(['name', 'message', 'stack', 'cause', 'responseBody', 'text']);
const fieldCharactersMax = 300;

/**
 * Makes the failure that is recorded for an attempt of a model call.
 * @param how.isInterrupted - pieces of the answer were passed on, so another attempt would send them again
 * @param how.isAborted - the caller has abandoned the call
 */
export function callFailure(
  error: unknown,
  model: string,
  { isInterrupted, isAborted }: { readonly isInterrupted: boolean; readonly isAborted: boolean },
): Error {
  if (error instanceof NodeFailure || CairnError.is(error)) return error;
  const read = modelFailure(error, model, []) as NodeFailure;
  const code = isAborted ? 'MODEL_ABORTED' : isInterrupted ? 'MODEL_INTERRUPTED' : read.code;
  const { applied, retryAfterMs } = read;
  return new NodeFailure(read.message, {
    code,
    applied,
    ...(retryAfterMs !== undefined && { retryAfterMs }),
    data: { sdk: noteOf(error, isInterrupted) },
  });
}

function noteOf(error: unknown, isInterrupted: boolean): ErrorNote {
  const name = error instanceof Error ? error.name : 'Error';
  const own = (typeof error === 'object' && error !== null ? error : {}) as Record<string | symbol, unknown>;
  const markers = Object.getOwnPropertySymbols(own).flatMap((symbol) =>
    own[symbol] === true ? (Symbol.keyFor(symbol) ?? []) : [],
  );
  const fields = Object.fromEntries(
    Object.entries(own).flatMap(([key, value]) => {
      const field = omittedFields.has(key) ? undefined : fieldOf(key, value);
      return field === undefined ? [] : [[key, field]];
    }),
  );
  return { name, message: reasonOf(error).slice(0, 2_000), markers, fields, ...(isInterrupted && { isInterrupted }) };
}

function fieldOf(key: string, value: unknown): string | number | boolean | undefined {
  if (typeof value === 'number' || typeof value === 'boolean') return value;
  if (typeof value !== 'string' || value.length > fieldCharactersMax) return undefined;
  // Some providers take the API key in the URL's query, so the query is removed.
  return key === 'url' ? value.split('?')[0] : value;
}

/** Rebuilds the provider's error from a failed step. The SDK's `isInstance` recognises it. */
export function providerErrorOf(
  failure: unknown,
): { readonly error: Error; readonly isInterrupted: boolean } | undefined {
  const { data } = (failure instanceof NodeFailure ? failure : {}) as { readonly data?: { readonly sdk?: ErrorNote } };
  const note = data?.sdk;
  if (note === undefined) return undefined;
  const error = new Error(note.message);
  Object.defineProperty(error, 'name', { value: note.name, configurable: true, writable: true });
  Object.assign(error, note.fields);
  for (const marker of note.markers) Object.defineProperty(error, Symbol.for(marker), { value: true });
  return { error, isInterrupted: note.isInterrupted === true };
}
