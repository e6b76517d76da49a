/**
 * Stores errors as values: with name, message, code, data and cause, never with a stack. An error that cannot be stored completely does not
 * make its outcome be lost.
 */
import { admitValue, type Admitted } from '../../state/values/codec.ts';
import type { RunCore } from '../run/run-core.ts';

/** Whatever was thrown, as an Error. */
export function asError(thrown: unknown): Error {
  if (thrown instanceof Error) return thrown;
  return new Error(typeof thrown === 'string' ? thrown : `thrown: ${textOf(thrown)}`);
}

function textOf(value: unknown): string {
  try {
    return String(value);
  } catch {
    return `a value of type ${typeof value}`;
  }
}

/** Whatever was thrown, validated and redacted for storing. Parts that cannot be stored are left out. */
export function admitError(core: RunCore, error: unknown, path: readonly string[]): Admitted {
  const thrown = asError(error);
  try {
    return admitValue(thrown, path, core.env.limits, core.secrets.intake);
  } catch {
    const plain = new Error(textOf(thrown.message).slice(0, 10_000));
    plain.name = textOf(thrown.name);
    return admitValue(plain, path, core.env.limits, core.secrets.intake);
  }
}

/** Code and message of a failure, for a checkpoint's change. */
export function errorSummary(
  { secrets }: RunCore,
  error: unknown,
): { readonly code: string; readonly message: string } {
  const { code, message } = asError(error) as Error & { code?: unknown };
  return {
    code: typeof code === 'string' ? code : 'NODE_FAILED',
    message: (secrets.mask?.text(message) ?? message).slice(0, 500),
  };
}
