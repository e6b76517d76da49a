/** The hash of what a call was given: what is recorded of a call is returned only to one that is given the same (X4.9, W6). */
import { admitValue } from '../../state/values/codec.ts';
import { hashText } from '../../state/values/hash.ts';
import type { Activation } from '../run/frame-run.ts';
import type { RunCore } from '../run/run-core.ts';

/** Of what was given, not of what is masked in it: which secrets a run knows depends on whether it was killed before. */
export function hashOfGiven(core: RunCore, { path }: Activation, key: string, input: unknown): string {
  return hashText(admitValue(input, [...path, key, 'input'], core.env.limits, core.env.intake).json);
}
