/** `cairn doctor` */
import { perform } from '../../operations/contract/perform.ts';
import { openDoctor } from '../../app/open-store/examine-place.ts';
import { errorTable, type ErrorCode, CairnError } from '../../errors.ts';
import { examineStore, type Finding } from '../../operations/store/examine-store.ts';
import { type Command, namesStore, ofOperation } from '../session.ts';
import type { Screen } from '../screen.ts';
import { printable } from '../../operations/format/terminal.ts';
import type { Tone } from '../text/terminal-text.ts';
import { pad, wrap } from '../text/width.ts';
import { withHistory } from '../../app/open-store/with-history.ts';
import { missingStore } from '../../app/open-store/open-reading.ts';
import { verifyRuns, type VerifyRunsInput } from '../../operations/store/verify-runs.ts';
import { countOf } from '../../operations/format/amounts.ts';

const marks: Readonly<Record<Finding['verdict'], readonly [string, Tone]>> = {
  ok: ['ok', 'good'],
  warning: ['look', 'warn'],
  bad: ['BAD', 'bad'],
};

const nameWidth = 14;

function formatFinding({ name, verdict, detail, fix }: Finding, { width, paint }: Screen): readonly string[] {
  const [mark, tone] = marks[verdict];
  const indent = ' '.repeat(nameWidth + 6);
  const [first = '', ...rest] = wrap(printable(detail), Math.max(20, width - indent.length));
  const fixLines = fix === undefined ? [] : wrap(printable(fix), Math.max(20, width - indent.length));
  return [
    `${paint(tone, pad(mark, 4))}  ${pad(name, nameWidth)}${first}`,
    ...rest.map((line) => indent + line),
    ...fixLines.map((line) => indent + paint('strong', line)),
  ];
}

/** The exit code of the worst that was found. */
function exitCodeOf(findings: readonly Finding[]): number {
  const bad = findings.find(({ verdict }) => verdict === 'bad');
  return bad === undefined ? 0 : errorTable[(bad.code ?? 'STORE_UNAVAILABLE') as ErrorCode].exit;
}

export const doctorCommand: Command = {
  ...ofOperation(examineStore),
  fields: {},
  details: 'Nothing is changed. The checkpoints themselves are checked by: cairn verify.',
  examples: [{ line: 'cairn doctor', does: 'is everything in order here?' }],
  async execute(session) {
    const { findings } = await perform(examineStore, await openDoctor(session), {});
    if (session.isJson) session.printJson({ findings });
    else session.screen.print(findings.flatMap((finding) => formatFinding(finding, session.screen)));
    return exitCodeOf(findings);
  },
};

// `cairn verify`

export const verifyCommand: Command<VerifyRunsInput> = {
  ...ofOperation(verifyRuns),
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
      const { reports, damage, isValid } = await perform(verifyRuns, context, input);
      const { print, paint } = session.screen;
      if (session.isJson) session.printJson({ reports, damage, isValid });
      else {
        for (const { runId, checkpoints, snapshots, blobs, faults, isHalfImported } of reports) {
          const verdict = faults.length === 0 ? paint('good', 'sound') : paint('bad', countOf(faults.length, 'fault'));
          print(
            `${printable(runId)}  ${verdict}, ${countOf(checkpoints, 'checkpoint')}, ${countOf(snapshots, 'snapshot')}, ${countOf(blobs, 'blob')}`,
          );
          if (isHalfImported === true)
            print(
              `  Half an import, as whoever made it died: import the same text again, or ${session.commandLine('rm', runId)}`,
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
      return isValid ? 0 : errorTable.CHECKPOINT_CORRUPT.exit;
    });
  },
};
