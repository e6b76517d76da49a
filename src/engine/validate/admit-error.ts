/** Stores errors as values: with name, message, code, data and cause, never with a stack. An error that cannot be stored completely must not make its outcome be lost. */
import { readableThrown, reasonOf } from '../../errors.ts';
import { admitValue, type Admitted } from '../../state/values/admit.ts';
import type { RunCore } from '../live-run/run-core.ts';

/** Whatever was thrown, as an Error. An object that is none is its `data`. */
export function asError(raw: unknown): Error {
  const thrown = readableThrown(raw);
  if (thrown instanceof Error) return thrown;
  const error = new Error(reasonOf(thrown));
  if (typeof thrown !== 'object' || thrown === null) return error;
  return Object.assign(error, codeOf(thrown), { data: thrown });
}

/** Whatever was thrown, validated and redacted for storing. Parts that cannot be stored are omitted. */
export function admitError(core: RunCore, error: unknown, path: readonly string[]): Admitted {
  const thrown = asError(error);
  const admit = (value: Error): Admitted => admitValue(value, path, core.env.bounds, core.secrets.intake);
  try {
    return admit(thrown);
  } catch {
    const { name } = thrown;
    const plain = Object.assign(new Error(reasonOf(thrown).slice(0, 10_000)), codeOf(thrown));
    if (typeof name === 'string') plain.name = name;
    try {
      return admit(Object.assign(plain, { data: (thrown as { readonly data?: unknown }).data }));
    } catch {
      delete (plain as { data?: unknown }).data;
      return admit(plain);
    }
  }
}

function codeOf(thrown: object): { readonly code?: string } {
  const { code } = thrown as { readonly code?: unknown };
  return typeof code === 'string' ? { code } : {};
}

/** Code and message of a failure, for a checkpoint's change. */
export function errorSummary(
  { secrets }: RunCore,
  error: unknown,
): { readonly code: string; readonly message: string } {
  const thrown = asError(error);
  const masked = (text: string): string => secrets.mask?.text(text) ?? text;
  return {
    code: masked(codeOf(thrown).code ?? 'NODE_FAILED'),
    message: masked(reasonOf(thrown)).slice(0, 500),
  };
}
