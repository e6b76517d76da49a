/** `cairn preview` */
import { perform } from '../../operations/contract/perform.ts';
import { previewRun, type PreviewRunInput, type PreviewRunOutput } from '../../operations/runs/preview-run.ts';
import { type Command, ofOperation } from '../command.ts';
import type { Session } from '../session.ts';
import { withApp } from '../live/follow.ts';
import { countOf, formatAmounts, formatCosts } from '../../operations/format/amounts.ts';
import { earlierText } from '../../operations/format/earlier-point.ts';
import { printable } from '../../operations/format/terminal.ts';
import type { Tone } from '../text/tone.ts';
import { findingText, sameSourceText } from '../text/finding-text.ts';
import { formatTable } from '../text/text-table.ts';
import { wrap } from '../text/width.ts';

const columns = [
  { title: 'NODE', canShrink: true },
  { title: 'VISIT', isRight: true },
  { title: 'EFFECT' },
  { title: 'WOULD BE' },
  { title: 'BECAUSE', canShrink: true },
] as const;

const tones: Readonly<Record<string, Tone>> = {
  restored: 'dim',
  replayed: 'good',
  reused: 'good',
  'runs again': 'warn',
  refused: 'warn',
  runs: 'strong',
  asks: 'warn',
  'in doubt': 'bad',
  fails: 'bad',
  unknown: 'dim',
};

function nodeText({ node, inCode }: PreviewRunOutput['rows'][number]): string {
  return inCode === undefined ? node.join('/') : `${inCode} (recorded as ${node.join('/')})`;
}

function becauseOf({ prediction, because, isQueued, callsOnRecord }: PreviewRunOutput['rows'][number]): string {
  if (because === undefined)
    return callsOnRecord === undefined ? '' : `${countOf(callsOnRecord, 'call')} on record, made again only if changed`;
  if (prediction === 'unknown')
    return isQueued === true ? `until ${because} leaves it room` : `until ${because} has run`;
  return prediction === 'replayed' || prediction === 'reused' ? `recorded at ${because}` : because;
}

function printPreview(
  { screen }: Session,
  { rows, runId, seq, cost, earlier, etag, findings = [], sameSource = [] }: PreviewRunOutput,
): void {
  if (earlier !== undefined)
    screen.note(...wrap(printable(`From ${runId}@${seq}, ${earlierText(earlier)}`), screen.rowWidth));
  if (rows.length === 0) {
    screen.note(`Nothing would happen at ${printable(runId)}@${seq}.`);
    return;
  }
  const cells = rows.map((row) => [
    printable(nodeText(row)),
    String(row.visit),
    row.effect,
    { text: row.prediction, tone: tones[row.prediction] ?? 'plain' },
    printable(becauseOf(row)),
    formatCosts(row.cost === undefined ? {} : { spent: row.cost }) ?? '',
  ]);
  const hasCosts = rows.some((row) => row.cost !== undefined);
  const visibleColumns = hasCosts ? [...columns, { title: 'COST BEFORE', canShrink: true }] : columns;
  screen.print(formatTable(visibleColumns, cells, screen));
  if (hasCosts) screen.print('', `again: ${formatAmounts(cost.again)}; saved: ${formatAmounts(cost.saved)}`);
  const lines = findings.map((finding) => `${finding.kind}: ${findingText(finding)}`);
  if (lines.length > 0) screen.print('', ...lines.flatMap((line) => wrap(printable(line), screen.rowWidth)));
  if (sameSource.length > 0) screen.note('', ...wrap(printable(sameSourceText(sameSource)), screen.rowWidth));
  screen.note('', `Do it only if it is still so: --expect ${etag}`);
}

export const previewCommand: Command<PreviewRunInput> = {
  ...ofOperation(previewRun),
  details:
    'Without a change, it tells what resume would do with the newest checkpoint; of an older one, or with a change, what a fork would do. With --retry it tells what resume --retry would do.',
  examples: [
    { line: 'cairn preview 0198c2f4', does: 'what resume would do' },
    { line: 'cairn preview 0198c2f4@12 --set scratch.tone=formal', does: 'what a fork with changed state would do' },
  ],
  execute(session, input) {
    return withApp(session, async (app) => {
      const output = await perform(previewRun, app, input);
      if (session.isJson) session.printJson(output);
      else printPreview(session, output);
      return 0;
    });
  },
};
