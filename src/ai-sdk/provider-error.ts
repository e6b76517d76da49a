/** Errors of providers on their way through a step: told to the engine in words of the model port, and given back with the SDK's own marks. */
import { CairnError } from '../errors.ts';
import { NodeFailure } from '../graph/contracts/node-contract.ts';
import { modelFailure } from '../models/ai-sdk-failure.ts';

/** What is recorded of an error. Bodies, headers and requests are left behind. */
interface ErrorNote {
  readonly name: string;
  readonly message: string;
  /** By which the SDK knows its own: keys of registered symbols. */
  readonly markers: readonly string[];
  readonly fields: Readonly<Record<string, string | number | boolean>>;
  /** Pieces of the answer had been handed on when it came. */
  readonly isInterrupted?: boolean;
}

const left: ReadonlySet<string> = new Set(['name', 'message', 'stack', 'cause', 'responseBody', 'text']);
const fieldCharactersMax = 300;

/**
 * The failure of an attempt of a model call, as it is recorded.
 * @param how.isInterrupted - pieces of the answer were handed on: another attempt would send them again
 * @param how.isAborted - the caller has given the call up
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
  const { name, message } = error instanceof Error ? error : new Error(String(error));
  const own = (typeof error === 'object' && error !== null ? error : {}) as Record<string | symbol, unknown>;
  const markers = Object.getOwnPropertySymbols(own).flatMap((symbol) =>
    own[symbol] === true ? (Symbol.keyFor(symbol) ?? []) : [],
  );
  const fields = Object.fromEntries(
    Object.entries(own).flatMap(([key, value]) => {
      const kept = left.has(key) ? undefined : fieldOf(key, value);
      return kept === undefined ? [] : [[key, kept]];
    }),
  );
  return { name, message: message.slice(0, 2_000), markers, fields, ...(isInterrupted && { isInterrupted }) };
}

function fieldOf(key: string, value: unknown): string | number | boolean | undefined {
  if (typeof value === 'number' || typeof value === 'boolean') return value;
  if (typeof value !== 'string' || value.length > fieldCharactersMax) return undefined;
  // Some providers take the key in the address.
  return key === 'url' ? value.split('?')[0] : value;
}

/** The error of a provider that a failed step holds, as the SDK knows it: `isInstance` of its classes says what it said. */
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
