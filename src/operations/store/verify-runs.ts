/** `verify`: whether histories are whole: every checksum, the chain, snapshots, blobs, the index, and what the store stands on (C6). */
import { flag, listOf, objectOf, text, texts, whole } from '../declare/output-shapes.ts';
import { CairnError } from '../../errors.ts';
import { verifyRun as verifyHistory, type VerifyReport } from '../../history/verify/verify.ts';
import { findRunOf } from '../runs/find-run.ts';
import type { HistoryContext, Operation } from '../declare/operation.ts';
import { readAllRuns } from '../runs/read-all-runs.ts';

export interface VerifyRunsInput {
  readonly run?: string;
}

export interface VerifyRunsOutput {
  readonly reports: readonly VerifyReport[];
  /** What is wrong with the store below its runs, a line each; looked at only where all runs are. */
  readonly damage: readonly string[];
  readonly isSound: boolean;
}

const isFaultless = (reports: readonly VerifyReport[]): boolean => reports.every(({ faults }) => faults.length === 0);

export const verifyRuns: Operation<VerifyRunsInput, VerifyRunsOutput, HistoryContext> = {
  name: 'verify',
  summary: 'check that histories are whole: the file, checksums, snapshots, blobs, open questions',
  input: { run: { type: 'text', description: 'only this run; default: all', isPositional: true } },
  output: 'what was looked at, and every fault',
  outputSchema: objectOf({
    reports: listOf(
      objectOf({
        runId: text,
        checkpoints: whole,
        snapshots: whole,
        blobs: whole,
        faults: listOf(objectOf({ checkpoint: text, code: text, message: text })),
      }),
    ),
    damage: texts,
    isSound: flag,
  }),
  isReadOnly: true,
  async run(context, { run }) {
    const { store, blobs } = context;
    const reports: VerifyReport[] = [];
    if (run !== undefined) {
      reports.push(await verifyHistory(store, blobs, await findRunOf(context, run)));
      return { reports, damage: [], isSound: isFaultless(reports) };
    }
    const damage: string[] = [];
    try {
      damage.push(...((await store.findDamage?.()) ?? []));
      for await (const row of readAllRuns(context)) reports.push(await verifyHistory(store, blobs, row));
    } catch (error) {
      // What can still be read has been looked at; the rest cannot be listed.
      if (!CairnError.is(error, 'STORE_CORRUPT')) throw error;
      damage.push(error.message);
    }
    return { reports, damage, isSound: damage.length === 0 && isFaultless(reports) };
  },
};
