/** Steps by which the state of runs is brought to the form that newer code expects (H3). */
import { CairnError, reasonOf } from '../../errors.ts';
import type { Migration, Violation } from '../graph.ts';

/** The channels of a state, by partition. */
type Channels = Readonly<Record<string, unknown>>;

/** The version of the state that code with these migrations makes. Without any it is 1. */
export function stateVersionOf(migrations: readonly Migration[] = []): number {
  return migrations.at(-1)?.to ?? 1;
}

/** What is wrong with a list of migrations: their versions grow from 2 on. */
export function migrationFaults(migrations: readonly Migration[]): readonly Violation[] {
  return migrations.flatMap(({ to, up }, index): readonly Violation[] => {
    const before = migrations[index - 1]?.to ?? 1;
    const isOk = Number.isInteger(to) && to > before && typeof up === 'function';
    const fix = 'give { to, up }, with whole numbers that grow from 2 on, in this order';
    return isOk
      ? []
      : [
          {
            rule: 'H3',
            severity: 'error',
            place: `migration ${index + 1}`,
            message: `it is no step from version ${before} on`,
            fix,
          },
        ];
  });
}

/**
 * The channels after the migrations that a state of this version has not had. Each gets the channels and gives those partitions that are
 * other ones now.
 * @throws CairnError CONFIG_INVALID with the reason: a migration failed, or gave no object
 */
export function migrateChannels<Values extends Channels>(
  migrations: readonly Migration[],
  version: number,
  channels: Values,
  admit: (given: Record<string, unknown>) => Values,
): Values {
  const migrated: Values = { ...channels };
  for (const { to, up } of migrations) {
    if (to <= version) continue;
    let given: unknown;
    try {
      given = up(structuredClone(migrated));
    } catch (error) {
      throw new CairnError(
        'CONFIG_INVALID',
        { reason: `the migration to version ${to} failed: ${reasonOf(error)}` },
        { cause: error },
      );
    }
    if (typeof given !== 'object' || given === null || given instanceof Promise)
      throw new CairnError('CONFIG_INVALID', {
        reason: `the migration to version ${to} gives no object of partitions`,
      });
    Object.assign(migrated, admit(given as Record<string, unknown>));
  }
  return migrated;
}
