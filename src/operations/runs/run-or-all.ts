/** What `hold` and `release` act on: one run that is named, or all. */
import { CairnError } from '../../errors.ts';
import type { HistoryContext } from '../contract/operation.ts';
import type { RunRow } from '../../ports/store.ts';
import { findRunToChange } from './find-run.ts';

export interface RunOrAllInput {
  readonly run?: string;
  readonly all?: boolean;
}

/** @param hint - what to name @returns undefined: all @throws USAGE_INVALID neither or both; RUN_NOT_FOUND */
export async function findRunOrAll(
  context: HistoryContext,
  { run, all = false }: RunOrAllInput,
  hint: string,
): Promise<RunRow | undefined> {
  if ((run === undefined) !== all)
    throw new CairnError('USAGE_INVALID', { reason: all ? 'a run and --all were both given' : 'RUN is missing', hint });
  return run === undefined ? undefined : findRunToChange(context, run);
}
