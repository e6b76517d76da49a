/** `cairn verify` */
import { perform } from '../../operations/contract/perform.ts';
import { errorTable, CairnError } from '../../errors.ts';
import { type Command, ofOperation } from '../command.ts';
import { namesStore, type Session } from '../session.ts';
import { printable } from '../../operations/format/terminal.ts';
import type { HistoryContext } from '../../operations/contract/operation.ts';
import { withHistory } from '../../app/open-store/with-history.ts';
import { missingStore } from '../../app/open-store/open-reading.ts';
import {
  verifyEachRun,
  verifyRuns,
  type Verification,
  type VerifiedPlace,
  type VerifyReport,
  type VerifyRunsInput,
} from '../../operations/store/verify-runs.ts';
import { printJsonLines } from '../json-lines.ts';
import { boundYoungMemory } from '../young-memory.ts';
import { countEach, openProgress } from '../live/progress.ts';
import { countOf } from '../../operations/format/amounts.ts';

export const verifyCommand: Command<VerifyRunsInput> = {
  ...ofOperation(verifyRuns),
  examples: [
    { line: 'cairn verify', does: 'every run of the store' },
    { line: 'cairn verify --json', does: 'the same for a program: a JSON document a line' },
    { line: 'cairn verify 0198c2f4 --json', does: 'one run; a program reads the faults' },
  ],
  async execute(session, input) {
    const missing = input.run === undefined ? await missingStore(session) : undefined;
    // Whoever verifies a store that is not there has named another one: that it is whole would be no answer.
    if (missing !== undefined)
      throw new CairnError('STORE_UNAVAILABLE', { store: missing, reason: 'it is not there', hint: namesStore });
    if (input.run !== undefined) return withHistory(session, (context) => verifyOne(session, context, input));
    boundYoungMemory();
    return withHistory(session, async (context) => {
      const progress = await openProgress(session.screen, context, { done: 'looked at', isOfAll: true });
      const each = countEach(verifyEachRun(context), progress);
      return exitCodeOf(session.isJson ? await printJsonLines(session, each) : await printReports(session, each));
    });
  },
};

const exitCodeOf = ({ isValid }: VerifiedPlace): number => (isValid ? 0 : errorTable.CHECKPOINT_CORRUPT.exit);

async function verifyOne(session: Session, context: HistoryContext, input: VerifyRunsInput): Promise<number> {
  const verification = await perform(verifyRuns, context, input);
  if (session.isJson) session.printJson(verification);
  else await printReports(session, reportsOf(verification));
  return exitCodeOf(verification);
}

type Reports = AsyncGenerator<VerifyReport, VerifiedPlace>;

async function* reportsOf({ reports, ...found }: Verification): Reports {
  yield* reports;
  return found;
}

async function printReports({ screen, commandLine }: Session, each: Reports): Promise<VerifiedPlace> {
  const { print, paint } = screen;
  let count = 0;
  let faulty = 0;
  let checkpointCount = 0;
  for (let next = await each.next(); ; next = await each.next()) {
    if (next.done === true) {
      if (count === 0 && next.value.damage.length === 0) screen.note('No runs here.');
      if (count > 1) {
        const verdict = faulty === 0 ? 'all sound' : `${countOf(faulty, 'run')} with faults`;
        screen.note(
          paint('dim', `Looked at ${countOf(count, 'run')}, ${countOf(checkpointCount, 'checkpoint')}: ${verdict}.`),
        );
      }
      if (next.value.damage.length > 0)
        print(
          paint('bad', 'The store itself is damaged:'),
          next.value.damage.map((line) => `  ${printable(line)}`),
        );
      return next.value;
    }
    count += 1;
    const { runId, checkpoints, snapshots, blobs, faults, isHalfImported } = next.value;
    checkpointCount += checkpoints;
    faulty += faults.length === 0 ? 0 : 1;
    const verdict = faults.length === 0 ? paint('good', 'sound') : paint('bad', countOf(faults.length, 'fault'));
    print(
      `${printable(runId)}  ${verdict}, ${countOf(checkpoints, 'checkpoint')}, ${countOf(snapshots, 'snapshot')}, ${countOf(blobs, 'blob')}`,
    );
    if (isHalfImported === true)
      print(`  Half an import, as whoever made it died: import the same text again, or ${commandLine('rm', runId)}`);
    print(faults.map(({ message, code }) => `  ${printable(message)} ${paint('dim', `[${code}]`)}`));
  }
}
