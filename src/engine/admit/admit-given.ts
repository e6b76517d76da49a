/** Validates a value that comes from outside of a run: an answer, a signal, a patch of a fork. */
import { refuseMasked } from '../../state/secrecy/refuse-masked.ts';
import { admitValue, type Admitted } from '../../state/values/codec.ts';
import type { EngineEnvironment } from '../run/run-core.ts';

/**
 * @param path - the value's place, for errors and for rules about what is not stored
 * @param where - what the value is, for messages: `the answer`
 * @throws VALUE_MASKED it contains one of our own masks; VALUE_UNSTORABLE, VALUE_TOO_LARGE
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
