/** Errors as values of the tree: name, message, code, data, cause; never a stack, and never a reason to lose an outcome. */
import { admitValue } from '../state/codec.ts';
import type { RunCore } from './run-core.ts';

/** The encoding of whatever a node threw; what cannot be stored of it is left out. */
export function encodeError(core: RunCore, error: unknown, path: readonly string[]): string {
  const thrown =
    error instanceof Error ? error : new Error(typeof error === 'string' ? error : `thrown: ${String(error)}`);
  try {
    return admitValue(thrown, path, core.env.limits, core.redact).json;
  } catch {
    const plain = new Error(thrown.message.slice(0, 10_000));
    plain.name = thrown.name;
    return admitValue(plain, path, core.env.limits).json;
  }
}
