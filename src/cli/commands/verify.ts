/** `cairn verify` */
import { perform } from '../../operations/declare/perform.ts';
import { withHistory } from '../../app/place/with-history.ts';
import { missingStore } from '../../app/place/open-reading.ts';
import { CairnError, errorTable } from '../../errors.ts';
import { verifyRuns, type VerifyRunsInput } from '../../operations/store/verify-runs.ts';
import type { Command } from '../command.ts';
import { namesStore } from '../note-none.ts';
import { countOf } from '../../operations/words/amounts.ts';
import { printable } from '../text/printable.ts';

export const verifyCommand: Command<VerifyRunsInput> = {
  name: verifyRuns.name,
  summary: verifyRuns.summary,
  fields: verifyRuns.input,
  examples: [
    { line: 'cairn verify', does: 'every run of the store' },
    { line: 'cairn verify 0198c2f4 --json', does: 'one run; a program reads the faults' },
  ],
  async execute(session, input) {
    const missing = input.run === undefined ? await missingStore(session) : undefined;
    // Whoever verifies a store that is not there has named another one: that it is whole would be no answer.
    if (missing !== undefined)
      throw new CairnError('STORE_UNAVAILABLE', { store: missing, reason: 'it is not there', hint: namesStore });
    return withHistory(session, async (context) => {
      const { reports, damage, isSound } = await perform(verifyRuns, context, input);
      const { print, paint } = session.screen;
      if (session.isJson) session.printJson({ reports, damage, isSound });
      else {
        for (const { runId, checkpoints, snapshots, blobs, faults, isHalfImported } of reports) {
          const verdict = faults.length === 0 ? paint('good', 'sound') : paint('bad', countOf(faults.length, 'fault'));
          print(
            `${printable(runId)}  ${verdict}, ${countOf(checkpoints, 'checkpoint')}, ${countOf(snapshots, 'snapshot')}, ${countOf(blobs, 'blob')}`,
          );
          if (isHalfImported === true)
            print(
              `  Half an import, as whoever made it died: import the same text again, or cairn rm ${printable(runId)}`,
            );
          print(faults.map(({ message, code }) => `  ${printable(message)} ${paint('dim', `[${code}]`)}`));
        }
        if (damage.length > 0)
          print(
            paint('bad', 'The store itself is damaged:'),
            damage.map((line) => `  ${printable(line)}`),
          );
        else if (reports.length === 0) session.screen.note('No runs here.');
      }
      return isSound ? 0 : errorTable.CHECKPOINT_CORRUPT.exit;
    });
  },
};
