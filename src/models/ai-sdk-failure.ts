/** Converts failures of AI SDK calls to those of the model port. */
import type { APICallError } from 'ai';
import { CairnError, reasonOf } from '../errors.ts';
import { NodeFailure } from '../graph/contracts/node-contract.ts';

const neverConnected = new Set(['ECONNREFUSED', 'ENOTFOUND', 'EAI_AGAIN', 'EHOSTUNREACH', 'ENETUNREACH']);

/**
 * The failure of a call: MODEL_UNAVAILABLE, MODEL_REFUSED or MODEL_UNKNOWN. The provider's text is shortened, and keys in it are masked.
 */
export function modelFailure(error: unknown, model: string, secrets: readonly string[]): unknown {
  if (error instanceof NodeFailure || CairnError.is(error)) return error;
  const { name = '' } = error as { readonly name?: string };
  const reason = hide(reasonOf(error), secrets).slice(0, 500);
  if (name === 'AI_APICallError') return callFailure(error as APICallError, model, reason);
  if (name === 'AI_NoSuchModelError')
    return new NodeFailure(`no model ${model}: ${reason}`, { code: 'MODEL_UNKNOWN', applied: 'no' });
  // The request could not be made: there is no API key, or the provider lacks the feature.
  if (/^AI_(LoadAPIKey|LoadSetting|UnsupportedFunctionality|InvalidPrompt|InvalidArgument)Error$/u.test(name))
    return new NodeFailure(`${model} was not called: ${reason}`, { code: 'MODEL_REFUSED', applied: 'no' });
  return new NodeFailure(`${model} gave no answer: ${reason}`, { code: 'MODEL_UNAVAILABLE' });
}

function callFailure(error: APICallError, model: string, reason: string): NodeFailure {
  const { statusCode: status, responseHeaders = {}, isRetryable } = error;
  const data = { status };
  if (status === undefined || (status >= 200 && status < 300)) {
    const applied = hasCode(error, neverConnected) ? 'no' : 'unknown';
    return new NodeFailure(`${model} cannot be reached: ${reason}`, { code: 'MODEL_UNAVAILABLE', applied, data });
  }
  if (status === 404)
    return new NodeFailure(`no model ${model}: ${reason}`, { code: 'MODEL_UNKNOWN', applied: 'no', data });
  if (!isRetryable)
    return new NodeFailure(`${model} refused the call (${status}): ${reason}`, {
      code: 'MODEL_REFUSED',
      applied: 'no',
      data,
    });
  const seconds = Number(responseHeaders['retry-after']);
  return new NodeFailure(`${model} is not available (${status}): ${reason}`, {
    code: 'MODEL_UNAVAILABLE',
    applied: status === 429 ? 'no' : 'unknown',
    data,
    ...(seconds > 0 && { retryAfterMs: seconds * 1_000 }),
  });
}

function hasCode(error: unknown, codes: ReadonlySet<string>): boolean {
  for (let at = error; typeof at === 'object' && at !== null; at = (at as { readonly cause?: unknown }).cause)
    if (codes.has(String((at as { readonly code?: unknown }).code))) return true;
  return false;
}

function hide(text: string, secrets: readonly string[]): string {
  return secrets.reduce((masked, secret) => (secret === '' ? masked : masked.replaceAll(secret, '[key]')), text);
}
