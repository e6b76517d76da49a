/** `cairn doctor` */
import { perform } from '../../operations/contract/perform.ts';
import { openDoctor } from '../../app/open-store/examine-place.ts';
import { errorTable, type ErrorCode } from '../../errors.ts';
import { examineStore, type Finding } from '../../operations/store/examine-store.ts';
import { type Command, ofOperation } from '../command.ts';
import { drawProgress } from '../live/progress.ts';
import type { Screen } from '../screen.ts';
import { printable } from '../../operations/format/terminal.ts';
import type { Tone } from '../text/tone.ts';
import { pad, wrap } from '../text/width.ts';

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
    const progress = drawProgress(session.screen, 'examined');
    const context = { ...(await openDoctor(session)), progressed: progress.at };
    const { findings } = await perform(examineStore, context, {});
    progress.end();
    if (session.isJson) session.printJson({ findings });
    else session.screen.print(findings.flatMap((finding) => formatFinding(finding, session.screen)));
    return exitCodeOf(findings);
  },
};
