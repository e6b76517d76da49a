/** `verify`: whether histories are whole: every checksum, the chain, snapshots, blobs (C6). */
import { verifyRun as verifyHistory, type VerifyReport } from '../history/verify.ts';
import { findRunOf } from './find-run.ts';
import type { HistoryContext, Operation } from './operation.ts';
import { readAllRuns } from './read-all-runs.ts';

export interface VerifyRunsInput {
  readonly run?: string;
}

export interface VerifyRunsOutput {
  readonly reports: readonly VerifyReport[];
  readonly isSound: boolean;
}

export const verifyRuns: Operation<VerifyRunsInput, VerifyRunsOutput, HistoryContext> = {
  name: 'verify',
  summary: 'check that histories are whole: checksums, snapshots, blobs',
  input: { run: { type: 'text', description: 'only this run; default: all', isPositional: true } },
  output: 'what was looked at, and every fault',
  isReadOnly: true,
  async run(context, { run }) {
    const { store, blobs } = context;
    const reports: VerifyReport[] = [];
    if (run !== undefined) reports.push(await verifyHistory(store, blobs, await findRunOf(context, run)));
    else for await (const row of readAllRuns(context)) reports.push(await verifyHistory(store, blobs, row));
    return { reports, isSound: reports.every(({ faults }) => faults.length === 0) };
  },
};
