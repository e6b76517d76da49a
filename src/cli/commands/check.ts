/** `cairn check` */
import { closeSync, createReadStream, openSync, readSync, statSync } from 'node:fs';
import { resolve } from 'node:path';
import type { App } from '../../app/open-app.ts';
import { CairnError } from '../../errors.ts';
import { perform } from '../../operations/contract/perform.ts';
import { countOf } from '../../operations/format/amounts.ts';
import { printable } from '../../operations/format/terminal.ts';
import {
  checkRuns,
  type CheckedGroup,
  type CheckRunsInput,
  type CheckRunsOutput,
} from '../../operations/runs/check-runs.ts';
import { importRun } from '../../operations/store/move-runs.ts';
import { withApp } from '../live/follow.ts';
import { type Command, ofOperation } from '../command.ts';
import type { Session } from '../session.ts';
import type { Tone } from '../text/tone.ts';
import { findingText, sameSourceText } from '../text/finding-text.ts';
import { junitReport, markdownCell } from '../text/reports.ts';
import { formatTable } from '../text/text-table.ts';
import { wrap } from '../text/width.ts';

interface CheckArguments extends CheckRunsInput {
  readonly junit?: boolean;
  readonly markdown?: boolean;
}

const tones: Readonly<Record<CheckedGroup['verdict'], Tone>> = {
  bricks: 'bad',
  loses: 'bad',
  asks: 'warn',
  agent: 'warn',
  again: 'plain',
  differs: 'dim',
  'goes on': 'good',
};

/** The most other graphs that are named. */
const othersMax = 10;
const indent = ' '.repeat(6);
const whyOf = ({ findings }: CheckedGroup): string => findings.map(findingText).join('; ');

/** A line for each group, and below it a line for each thing that would happen. */
function printTable({ screen }: Session, output: CheckRunsOutput): void {
  const { groups, count, others, otherGraphs, leftOut } = output;
  if (count === 0) screen.note('No open run to check.');
  else {
    const [head = '', ...rows] = formatTable(
      [{ title: 'RUNS', isRight: true }, { title: 'WOULD' }, { title: 'GRAPH' }, { title: 'FOR INSTANCE' }],
      groups.map(({ count: runs, verdict, graphId, runs: [first = ''] }) => [
        String(runs),
        { text: verdict, tone: tones[verdict] },
        printable(graphId),
        printable(first),
      ]),
      screen,
    );
    const below = ({ findings }: CheckedGroup): readonly string[] =>
      findings.flatMap((finding) =>
        wrap(printable(findingText(finding)), screen.rowWidth - indent.length).map((line) => `${indent}${line}`),
      );
    screen.print(head, ...rows.flatMap((row, index) => [row, ...below(groups[index] as CheckedGroup)]));
  }
  for (const { graphId, nodes } of output.sameSource)
    screen.note('', ...wrap(printable(`${graphId}: ${sameSourceText(nodes)}`), screen.rowWidth));
  screen.note('', summaryOf(output));
  if (leftOut > 0) screen.note(`${countOf(leftOut, 'run')} left out of the sample.`);
  if (others > 0) {
    const named = Object.entries(otherGraphs).map(([graphId, runs]) => `${graphId} (${runs})`);
    const names = [...named.slice(0, othersMax), ...(named.length > othersMax ? ['…'] : [])].join(', ');
    screen.note(...wrap(printable(`${countOf(others, 'run')} of other graphs not checked: ${names}`), screen.rowWidth));
  }
}

function summaryOf({ count, verdicts, isFailing }: CheckRunsOutput): string {
  const counts = Object.entries(verdicts).map(([verdict, runs]) => `${runs} ${verdict}`);
  return `${countOf(count, 'open run')}: ${counts.join(', ') || 'none'}. ${isFailing ? 'The check fails.' : 'The check passes.'}`;
}

function markdownOf(output: CheckRunsOutput): readonly string[] {
  return [
    `**${summaryOf(output)}**`,
    '',
    '| runs | graph | would | why | for instance |',
    '| ---: | --- | --- | --- | --- |',
    ...output.groups.map(
      (group) =>
        `| ${group.count} | ${markdownCell(group.graphId)} | ${group.verdict} | ${markdownCell(whyOf(group))} | ${markdownCell(group.runs[0] ?? '')} |`,
    ),
  ];
}

/** A test for each group: it fails where the check does. */
function junitOf({ groups }: CheckRunsOutput, failOn: readonly string[]): readonly string[] {
  const isFailing = ({ findings }: CheckedGroup): boolean => findings.some(({ kind }) => failOn.includes(kind));
  return junitReport(
    'cairn check',
    groups.map((group) => ({
      group: group.graphId,
      name: `${countOf(group.count, 'run')} ${group.verdict}, ${group.runs[0] ?? ''}`,
      ...(isFailing(group) && { failure: whyOf(group) }),
    })),
  );
}

/** Whether the store that is named is an exported run: a file of lines of JSON. */
function isExport({ storeUrl, cwd }: Session): boolean {
  if (storeUrl === undefined || storeUrl.includes(':')) return false;
  const path = resolve(cwd, storeUrl);
  if (statSync(path, { throwIfNoEntry: false })?.isFile() !== true) return false;
  const file = openSync(path, 'r');
  try {
    const first = Buffer.alloc(1);
    return readSync(file, first, 0, 1, 0) === 1 && first.toString() === '{';
  } finally {
    closeSync(file);
  }
}

async function takeIn(app: App, { storeUrl = '', cwd }: Session): Promise<void> {
  const text = createReadStream(resolve(cwd, storeUrl), 'utf8') as AsyncIterable<string>;
  await perform(importRun, { ...app, text }, {});
}

export const checkCommand: Command<CheckArguments> = {
  ...ofOperation(checkRuns),
  fields: {
    ...checkRuns.input,
    junit: { type: 'flag', description: 'print a report for tools that read JUnit' },
    markdown: { type: 'flag', description: 'print a table in Markdown, as for the summary of a job' },
  },
  details:
    'It only reads: a replica, a standby or a file that `cairn export` wrote will do as the store. Ends with exit code 1 if a run has a finding of --fail-on.',
  examples: [
    { line: 'cairn check --file flow.ts', does: 'what every open run would do under the code in flow.ts' },
    { line: 'cairn check --file workflows/ --store postgres://reader@standby/app', does: 'on a standby' },
    { line: 'cairn check --file flow.ts --fail-on bricks,loses,asks --markdown', does: 'in a job, before the deploy' },
  ],
  execute(session, { junit = false, markdown = false, ...input }) {
    if (junit && markdown)
      throw new CairnError('USAGE_INVALID', {
        reason: '--junit and --markdown are two forms of one report',
        hint: 'Give one.',
      });
    const isExported = isExport(session);
    return withApp(
      isExported ? { ...session, storeUrl: 'memory:' } : session,
      async (app) => {
        if (isExported) await takeIn(app, session);
        const output = await perform(checkRuns, app, input);
        const failOn = (input.failOn ?? ['bricks']).flatMap((kinds) => kinds.split(','));
        if (session.isJson) session.printJson(output);
        else if (junit) session.screen.print(junitOf(output, failOn));
        else if (markdown) session.screen.print(markdownOf(output));
        else printTable(session, output);
        return output.isFailing ? 1 : 0;
      },
      { readOnly: true },
    );
  },
};
