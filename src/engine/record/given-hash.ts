/** Hash of a call's input. A recorded result is returned only to a call with the same input (X4.9, W6). */
import { admitValue } from '../../state/values/codec.ts';
import { hashText } from '../../state/values/hash.ts';
import type { Activation } from '../run/frame-run.ts';
import type { RunCore } from '../run/run-core.ts';

/** Covers the input before secrets are masked, because which secrets a run knows depends on whether it was killed before. */
export function hashOfGiven(core: RunCore, { path }: Activation, key: string, input: unknown): string {
  return hashText(admitValue(input, [...path, key, 'input'], core.env.limits, core.env.intake).json);
}
