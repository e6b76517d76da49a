/** Checks files referred to by values from outside: they must be stored, and stay so until a checkpoint refers to them (C5). */
import { CairnError } from '../../errors.ts';
import { filesIn } from '../../state/values/codec.ts';
import type { EngineEnvironment } from '../run/run-core.ts';

/**
 * Resets the age of the files in a validated value, so that no clean-up removes them before the value is recorded.
 * @throws FILE_NOT_FOUND the tenant has no such file. It does not tell whether another tenant has
 */
export async function takeFiles({ blobs, tenant }: EngineEnvironment, value: unknown, what: string): Promise<void> {
  for (const { name, hash } of filesIn(value))
    if (!(await blobs.touch(tenant, hash))) throw new CairnError('FILE_NOT_FOUND', { name, hash, what });
}
