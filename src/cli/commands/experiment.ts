/** `cairn experiment` */
import type { App } from '../../app/open-app.ts';
import { withHistory } from '../../app/open-store/with-history.ts';
import { CairnError } from '../../errors.ts';
import { perform } from '../../operations/contract/perform.ts';
import type { FieldsOf } from '../../operations/contract/operation.ts';
import {
  readExperiments,
  type ReadExperimentsOutput,
  type ShownExperiment,
} from '../../operations/experiments/read-experiments.ts';
import {
  removeExperiment,
  runExperiment,
  type RunExperimentOutput,
} from '../../operations/experiments/run-experiment.ts';
import { countOf } from '../../operations/format/amounts.ts';
import { printable } from '../../operations/format/terminal.ts';
import { type Command, ofOperation } from '../command.ts';
import { withApp } from '../live/follow.ts';
import { noteNone, type Session } from '../session.ts';
import { junitReport, markdownCell } from '../text/reports.ts';
import { formatTable } from '../text/text-table.ts';

interface ExperimentArguments {
  readonly action?: string;
  readonly target?: string;
  readonly other?: string;
  readonly verdict?: readonly string[];
  readonly order?: string;
  readonly limit?: number;
  readonly failOn?: readonly string[];
  readonly minEqual?: unknown;
  readonly keep?: boolean;
  readonly junit?: boolean;
  readonly markdown?: boolean;
}

const fields: FieldsOf<ExperimentArguments> = {
  action: {
    type: 'text',
    description: 'what to do',
    isPositional: true,
    choices: ['ls', 'run', 'show', 'compare', 'rm'],
    default: 'ls',
  },
  target: { type: 'text', description: 'run: its file; otherwise its name', isPositional: true },
  other: { type: 'text', description: 'compare: the later experiment', isPositional: true },
  verdict: readExperiments.input.verdict,
  order: readExperiments.input.order,
  limit: readExperiments.input.limit,
  failOn: runExperiment.input.failOn,
  minEqual: runExperiment.input.minEqual,
  keep: runExperiment.input.keep,
  junit: { type: 'flag', description: 'run: print a report for tools that read JUnit' },
  markdown: { type: 'flag', description: 'run: print a table in Markdown, as for a pull request' },
};

const columns = [
  { title: 'EXPERIMENT', canShrink: true },
  { title: 'ARM', canShrink: true },
  { title: 'VERDICTS', canShrink: true },
  { title: 'FINDINGS', canShrink: true },
] as const;

const pairColumns = [
  { title: 'ITEM', canShrink: true },
  { title: 'ARM', canShrink: true },
  { title: 'VERDICT' },
  { title: 'WHY', canShrink: true },
  { title: 'FORK', canShrink: true },
] as const;

const changeColumns = [
  { title: 'ITEM', canShrink: true },
  { title: 'ARM', canShrink: true },
  { title: 'BEFORE' },
  { title: 'AFTER' },
] as const;

const wordsOf = (verdicts: Readonly<Record<string, number>>): string =>
  Object.entries(verdicts)
    .map(([verdict, count]) => `${count} ${verdict}`)
    .join(', ');

function rowsOf({ name, status, items, baseline, arms }: ShownExperiment): readonly (readonly string[])[] {
  return [
    [name, status === 'completed' ? 'baseline' : status, wordsOf(baseline) || countOf(items, 'item'), ''],
    ...arms.map(({ arm, verdicts, findings }) => ['', arm, wordsOf(verdicts), findings.join(', ')]),
  ];
}

function print({ screen }: Session, { experiments, pairs, changes = [] }: ReadExperimentsOutput): void {
  const rows = experiments.flatMap(rowsOf).map((row) => row.map(printable));
  screen.print(formatTable(columns, rows, screen));
  const pairRows = pairs.map(({ item, arm, verdict, because = [], fork }) => [
    item,
    arm,
    verdict,
    because.join('; '),
    fork,
  ]);
  if (pairRows.length > 0)
    screen.print(
      '',
      ...formatTable(
        pairColumns,
        pairRows.map((row) => row.map(printable)),
        screen,
      ),
    );
  const changed = changes.map(({ item, arm, before, after }) => [item, arm, before, after].map(printable));
  if (changed.length > 0) screen.print('', ...formatTable(changeColumns, changed, screen));
}

function markdownOf(experiment: ShownExperiment, { missed }: RunExperimentOutput): readonly string[] {
  const { name, items, baseline, arms } = experiment;
  const row = (...cells: readonly string[]): string => `| ${cells.map(markdownCell).join(' | ')} |`;
  return [
    `**${printable(name)}: ${countOf(items, 'item')}. ${missed.length > 0 ? `Missed: ${printable(missed.join('; '))}` : 'No threshold is missed'}**`,
    '',
    '| arm | verdicts | findings |',
    '| --- | --- | --- |',
    row('baseline', wordsOf(baseline), ''),
    ...arms.map(({ arm, verdicts, findings }) => row(arm, wordsOf(verdicts), findings.join(', '))),
  ];
}

/** A test for each arm: it fails if the arm misses a threshold. */
function junitOf({ name, arms }: ShownExperiment, { missed }: RunExperimentOutput): readonly string[] {
  return junitReport(
    `experiment ${name}`,
    arms.map(({ arm, verdicts }) => {
      const reasons = missed.filter((reason) => reason.startsWith(`${arm}: `));
      const failure = reasons.length === 0 ? {} : { failure: reasons.join('; ') };
      return { group: name, name: `${arm}: ${wordsOf(verdicts)}`, ...failure };
    }),
  );
}

async function run(session: Session, app: App, input: ExperimentArguments): Promise<number> {
  const { target: file, failOn, minEqual, keep, junit = false, markdown = false } = input;
  const ran = await perform(runExperiment, app, {
    ...(file !== undefined && { file }),
    ...(failOn && { failOn }),
    ...(minEqual !== undefined && { minEqual }),
    ...(keep === true && { keep }),
  });
  const found = await perform(readExperiments, app, { name: ran.name, ...readingOf(input) });
  const [experiment] = found.experiments;
  const { screen, commandLine } = session;
  if (session.isJson) session.printJson({ ...ran, ...found });
  else if (junit && experiment !== undefined) screen.print(junitOf(experiment, ran));
  else if (markdown && experiment !== undefined) screen.print(markdownOf(experiment, ran));
  else {
    print(session, found);
    screen.note(...ran.missed.map((reason) => `missed: ${printable(reason)}`));
    if (ran.openReviews > 0)
      screen.note(`${countOf(ran.openReviews, 'pair')} to review: ${commandLine('inbox')}, then run this again.`);
  }
  return ran.isFailing ? 1 : 0;
}

type Reading = Pick<ExperimentArguments, 'verdict' | 'order' | 'limit'>;

const readingOf = ({ verdict, order, limit }: ExperimentArguments): Reading => ({
  ...(verdict && { verdict }),
  ...(order !== undefined && { order }),
  ...(limit !== undefined && { limit }),
});

function read(session: Session, { action = 'ls', target, other, ...more }: ExperimentArguments): Promise<number> {
  return withHistory(session, async (context) => {
    const name = action === 'compare' ? other : target;
    const output = await perform(readExperiments, context, {
      ...(name !== undefined && { name }),
      ...(action === 'compare' && target !== undefined && { with: target }),
      ...readingOf({ action, ...more }),
    });
    if (session.isJson) session.printJson(output);
    else if (output.experiments.length === 0) await noteNone(session, 'No experiments here');
    else print(session, action === 'compare' ? { ...output, pairs: [] } : output);
    return 0;
  });
}

/** @throws USAGE_INVALID */
function checkArguments({ action = 'ls', target, other, junit, markdown }: ExperimentArguments): void {
  const refuse = (reason: string): never => {
    throw new CairnError('USAGE_INVALID', { reason, hint: 'See: cairn experiment --help' });
  };
  if (junit === true && markdown === true) refuse('--junit and --markdown are two forms of one report');
  if (action !== 'ls' && target === undefined)
    refuse(`experiment ${action} takes ${action === 'run' ? 'a file' : 'a name'}`);
  if (action === 'compare' && other === undefined) refuse('experiment compare takes two names');
}

export const experimentCommand: Command<ExperimentArguments> = {
  ...ofOperation(runExperiment),
  summary: 'run experiments over recorded runs, and show what they found',
  fields,
  details:
    'An experiment says what would have happened to recorded runs under other workflows, answers or values; nothing acts. Its file is data (YAML or JSON), or a module that exports `experiment`, which is run. Ends with exit code 1 if a threshold is missed. Run again, it goes on where it stopped; to begin anew, remove it.',
  examples: [
    { line: 'cairn experiment run letters.yaml', does: 'what became of the items of each arm' },
    {
      line: 'cairn experiment run letters.yaml --fail-on regressed,would-act --min-equal 0.95 --markdown',
      does: 'in a job, before a merge',
    },
    { line: 'cairn experiment show letters --verdict "would act"', does: 'what its arms would have done' },
    { line: 'cairn experiment show letters --order cost --limit 10', does: 'the ten dearest pairs' },
    { line: 'cairn experiment compare letters letters2', does: 'which pairs came to another verdict' },
    { line: 'cairn experiment rm letters', does: 'remove it with its forks; its name is free again' },
  ],
  runsConfig: true,
  execute(session, input) {
    checkArguments(input);
    const { action, target: name = '' } = input;
    if (action === 'run') return withApp(session, (app) => run(session, app, input));
    if (action !== 'rm') return read(session, input);
    return withApp(session, async (app) => {
      const removed = await perform(removeExperiment, app, { name });
      if (session.isJson) session.printJson(removed);
      else session.screen.print(`removed ${printable(name)}, ${countOf(removed.removed.length, 'run')}`);
      return 0;
    });
  },
};
