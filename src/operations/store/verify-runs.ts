/**
 * The operation `verify`: checks that histories are intact: checksums, the chain, snapshots, blobs, the index, and the medium below them
 * (C6).
 */
import { flag, listOf, objectOf, text, texts, described, whole } from '../contract/output-shapes.ts';
import type { VerifyReport } from '../../history/verify/verify.ts';
import { verifyEach, verifyPlace, type Verification, type VerifiedPlace } from '../../history/verify/verify-place.ts';
import { maskedBySchema, maskedEvent } from '../contract/perform.ts';
import { findRunOf } from '../runs/find-run.ts';
import type { HistoryContext, RoutedOperation } from '../contract/operation.ts';

export type { Verification, VerifiedPlace } from '../../history/verify/verify-place.ts';
export type { VerifyReport } from '../../history/verify/verify.ts';

export interface VerifyRunsInput {
  readonly run?: string;
}

const reportSchema = objectOf(
  {
    runId: text,
    checkpoints: described(whole, 'how many checkpoints were looked at'),
    snapshots: whole,
    blobs: described(whole, 'how many large values were looked at'),
    faults: listOf(objectOf({ checkpoint: text, code: text, message: text })),
  },
  { isHalfImported: flag },
);

/** What was looked at, and what else was found. */
interface VerifiedRuns extends VerifiedPlace {
  readonly runs: number;
  readonly checkpoints: number;
}

/** Verifies all runs, each report as soon as it is made, masked for showing; then what else was found. */
export async function* verifyEachRun(context: HistoryContext): AsyncGenerator<VerifyReport, VerifiedRuns> {
  const each = verifyEach(context);
  let [runs, checkpoints] = [0, 0];
  for (let next = await each.next(); ; next = await each.next()) {
    if (next.done === true) {
      const { damage, isValid } = next.value;
      return { runs, checkpoints, damage: damage.map((line) => maskedEvent(line)), isValid };
    }
    runs += 1;
    checkpoints += next.value.checkpoints;
    yield maskedBySchema(next.value, reportSchema) as VerifyReport;
  }
}

export const verifyRuns: RoutedOperation<VerifyRunsInput, Verification, HistoryContext> = {
  name: 'verify_runs',
  command: 'verify',
  summary: 'check that histories are whole: the file, checksums, snapshots, blobs, open questions',
  input: { run: { type: 'run', description: 'only this run; default: all', isPositional: true } },
  output: 'what was looked at, and every fault',
  outputSchema: objectOf({ reports: listOf(reportSchema), damage: texts, isValid: flag }),
  isReadOnly: true,
  scope: 'admin',
  route: 'GET /runs/{run}/verify',
  async run(context, { run }) {
    return verifyPlace(context, run === undefined ? undefined : await findRunOf(context, run));
  },
};
