/** Files named by what comes from outside: they must be stored, and stay stored until the checkpoint that names them (C5). */
import { CairnError } from '../../errors.ts';
import { filesIn } from '../../state/values/codec.ts';
import type { EngineEnvironment } from '../run/run-core.ts';

/**
 * Makes the files of an admitted value young, so that no collector takes them before the value is on record.
 * @throws FILE_NOT_FOUND the tenant has no such file: nothing is said of other tenants'
 */
export async function takeFiles({ blobs, tenant }: EngineEnvironment, value: unknown, what: string): Promise<void> {
  for (const { name, hash } of filesIn(value))
    if (!(await blobs.touch(tenant, hash))) throw new CairnError('FILE_NOT_FOUND', { name, hash, what });
}
