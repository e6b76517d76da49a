/** Takes in what somebody outside a run gives it: an answer, a signal, a patch of a fork. */
import { refuseMasked } from '../../state/secrecy/refuse-masked.ts';
import { admitValue, type Admitted } from '../../state/values/codec.ts';
import type { EngineEnvironment } from '../run/run-core.ts';

/**
 * @param path - its place, for errors and for what is kept out of the store
 * @param where - what it is, for messages: `the answer`
 * @throws VALUE_MASKED it holds what our masks show in place of something; VALUE_UNSTORABLE, VALUE_TOO_LARGE
 */
export function admitGiven(
  { limits, intake }: Pick<EngineEnvironment, 'limits' | 'intake'>,
  value: unknown,
  path: readonly string[],
  where: string,
): Admitted {
  const given = admitValue(value, path, limits);
  refuseMasked(given.value, where);
  return intake === undefined ? given : admitValue(given.value, path, limits, intake);
}
