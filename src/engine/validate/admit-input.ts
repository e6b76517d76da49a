/** Validates a value that comes from outside of a run: an answer, a signal, a patch of a fork. */
import { refuseMasked } from '../../state/secrecy/refuse-masked.ts';
import { admitValue, type Admitted } from '../../state/values/admit.ts';
import { filesIn } from '../../state/values/file-references.ts';
import type { EngineEnvironment } from '../live-run/run-core.ts';
import { CairnError } from '../../errors.ts';

/**
 * @param path - the value's place, for errors and for rules about what is not stored
 * @param where - what the value is, for messages: `the answer`
 * @throws VALUE_MASKED it contains one of our own masks; VALUE_UNSTORABLE, VALUE_TOO_LARGE
 */
export function admitExternal(
  { bounds, intake }: Pick<EngineEnvironment, 'bounds' | 'intake'>,
  value: unknown,
  path: readonly string[],
  where: string,
): Admitted {
  const admitted = admitValue(value, path, bounds);
  refuseMasked(admitted.value, where);
  return intake === undefined ? admitted : admitValue(admitted.value, path, bounds, intake);
}

/**
 * Resets the age of the files in a validated value, so that no clean-up removes them before the value is recorded.
 * @throws FILE_NOT_FOUND the tenant has no such file. It does not tell whether another tenant has
 */
export async function takeFiles({ blobs, tenant }: EngineEnvironment, value: unknown, what: string): Promise<void> {
  for (const { name, hash } of filesIn(value))
    if (!(await blobs.touch(tenant, hash))) throw new CairnError('FILE_NOT_FOUND', { name, hash, what });
}
