/** `rm`: removes a run and all that belongs to it. */
import { objectOf, texts, whole } from '../declare/output-shapes.ts';
import { CairnError } from '../../errors.ts';
import { addNamed, collectBlobs } from '../../history/shorten/collect-blobs.ts';
import { findRun } from './find-run.ts';
import type { HistoryContext, Operation, ReadContext } from '../declare/operation.ts';
import { readAllRuns } from './read-all-runs.ts';

export interface RemoveRunInput {
  readonly run: string;
  readonly withForks?: boolean;
}

export interface RemoveRunOutput {
  /** The runs removed, forks first. */
  readonly removed: readonly string[];
  /** How many large values went with them: those that no other run has, and that are older than a day. */
  readonly blobs: number;
}

/** The run and its forks at any depth, those that nothing is forked from first. */
async function readFamily(context: ReadContext, runId: string): Promise<readonly string[]> {
  const families: (readonly string[])[] = [];
  for await (const fork of readAllRuns(context, { parentRunId: runId }))
    families.push(await readFamily(context, fork.runId));
  return [...families.flat(), runId];
}

export const removeRun: Operation<RemoveRunInput, RemoveRunOutput, HistoryContext> = {
  name: 'rm',
  summary: 'remove a run with its history',
  input: {
    run: { type: 'text', description: 'the run', isRequired: true, isPositional: true },
    withForks: { type: 'flag', description: 'remove the runs forked from it too' },
  },
  output: 'the runs removed',
  outputSchema: objectOf({ removed: texts, blobs: whole }),
  isReadOnly: false,
  async run(context, { run, withForks = false }) {
    const { store, blobs, tenant } = context;
    const { runId } = await findRun(context, run);
    const family = await readFamily(context, runId);
    const forks = family.slice(0, -1);
    if (forks.length > 0 && !withForks) throw new CairnError('HISTORY_HAS_FORKS', { runId, forks });
    const named = new Set<string>();
    for (const member of family) {
      await addNamed(store, { tenant, runId: member }, named);
      await store.removeRun({ tenant, runId: member });
    }
    return { removed: family, blobs: await collectBlobs(store, blobs, tenant, named) };
  },
};
