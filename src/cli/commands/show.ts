/** `cairn show` */
import { perform } from '../../operations/contract/perform.ts';
import { withHistory } from '../../app/open-store/with-history.ts';
import { readState, type ReadStateInput } from '../../operations/checkpoints/read-state.ts';
import { type Command, ofOperation } from '../command.ts';
import { printWithoutLarge, wholeField } from '../large-json.ts';
import type { Session } from '../session.ts';
import { formatBlock } from '../text/value.ts';
import {
  showCheckpoint,
  type ShowCheckpointInput,
  type ShowCheckpointOutput,
} from '../../operations/checkpoints/show-checkpoint.ts';
import { errorLines } from '../../operations/format/failure-words.ts';
import { describeWorker } from '../../app/process/process-ids.ts';
import { awaitedWords } from '../text/awaited-text.ts';
import { describePart } from '../text/change-text.ts';
import { printable, printableLines } from '../../operations/format/terminal.ts';
import { toneOf } from '../text/tone.ts';
import { formatPairs, formatTable } from '../text/text-table.ts';
import { formatRecorded, formatValue } from '../text/recorded-text.ts';
import { deathWords, formatCosts } from '../../operations/format/amounts.ts';
import { formatTime } from '../../operations/format/time.ts';
import { wrap } from '../text/width.ts';

// `cairn state`

export const stateCommand: Command<ReadStateInput> = {
  ...ofOperation(readState),
  details:
    'The state has input, scratch, artifacts, diagnostics and the outputs of nodes. Text is printed as it is, all else as JSON.',
  examples: [
    { line: 'cairn state 0198c2f4', does: 'where the run stands' },
    { line: 'cairn state 0198c2f4@12 scratch.messages.-1', does: 'the last message at checkpoint 12' },
    { line: 'cairn state 0198c2f4 --agent review', does: 'the conversation of the agent review, and what it is at' },
    { line: 'cairn state 0198c2f4 outputs.draft --json', does: 'what node draft gave, as JSON' },
  ],
  execute(session, input) {
    return withHistory(session, async (context) => {
      const { value } = await perform(readState, context, input);
      if (session.isJson) session.printJson(value ?? null);
      else session.screen.print(formatBlock(value));
      return 0;
    });
  },
};

const columns = [
  { title: 'NODE', canShrink: true },
  { title: 'STATUS' },
  { title: 'VISITS', isRight: true },
  { title: 'ATTEMPT', isRight: true },
  { title: 'STEPS', canShrink: true },
] as const;

type Node = ShowCheckpointOutput['view']['nodes'][number];

/** Where a node stands, in a word. Effects without a result are in doubt if no process is running them. */
function standing(node: Node, { isInDoubt, view }: ShowCheckpointOutput): string {
  const { path, status, verdict = status, hasOpenEffect } = node;
  if (hasOpenEffect) return isInDoubt ? 'in doubt' : 'running';
  const isWaiting = status === 'started' && view.waits.some((wait) => wait.node.join('/') === path.join('/'));
  return isWaiting && isOpen(view) ? 'waiting' : verdict;
}

function isOpen({ status }: ShowCheckpointOutput['view']): boolean {
  return status === 'running' || status === 'paused' || status === 'cancelling';
}

function toCells(node: Node, details: ShowCheckpointOutput): Parameters<typeof formatTable>[1][number] {
  const { path, visits, attempt, steps, retired, lists } = node;
  const status = standing(node, details);
  const counts = Object.entries({ ...steps, retired }).filter(([, count]) => count !== undefined);
  const amounts = [
    ...counts.map(([name, count]) => `${count} ${name}`),
    ...Object.entries(lists ?? {}).map(([name, count]) => `${count} in ${name}`),
  ];
  return [
    printable(path.join('/')),
    { text: status.replaceAll('_', ' '), tone: toneOf(status) },
    String(visits),
    String(attempt),
    printable(amounts.join(', ')),
    formatCosts(node) ?? '',
  ];
}

/** All that is recorded of the error in a part of a change. */
function stackLines({ error }: ShowCheckpointOutput['change'][number], cwd: string): readonly string[] {
  if (error === undefined) return [];
  const { stack, causes, ...about } = error;
  const failure = {
    ...about,
    ...(stack?.frames && { stack: stack.frames }),
    ...(causes && {
      causes: causes.map(({ stack: of, ...cause }) => ({ ...cause, ...(of?.frames && { stack: of.frames }) })),
    }),
  };
  return errorLines(failure, { cwd, nameWorker: describeWorker }).map((line) => `  ${line}`);
}

/** What a checkpoint is, in names and values. */
function aboutPairs(details: ShowCheckpointOutput): readonly (readonly [string, string])[] {
  const { title, labels = {}, tags, deaths, awaits = [], parent, view, ...rest } = details;
  const costs = formatCosts(view);
  const died = deathWords(deaths);
  const labelled = Object.entries(labels).map(([name, value]) => `${name}=${value}`);
  return [
    ['run', `${printable(rest.runId)}@${rest.seq}`],
    ...(title === undefined ? [] : [['title', printable(title)] as const]),
    ...(labelled.length === 0 ? [] : [['labels', printable(labelled.join(' '))] as const]),
    ['status', view.status],
    ['at', formatTime(rest.at)],
    ...(tags.length > 0 ? [['tags', printable(tags.join(', '))] as const] : []),
    ...(died === undefined ? [] : [['died', died] as const]),
    ...awaits.map((awaited) => ['waits for', awaitedWords(awaited)] as const),
    ['parent', parent ?? 'none'],
    ...(costs === undefined ? [] : [['spent', costs] as const]),
    ['graph', rest.graphHash],
    ['stored', `${rest.encoding}, ${rest.sizeBytes} bytes`],
    ['checksum', rest.checksum],
  ];
}

function printDetails({ screen, cwd, commandLine }: Session, details: ShowCheckpointOutput, stack: boolean): void {
  const { checkpointId, runId, seq, change, recorded, answered, view } = details;
  const costs = formatCosts(view);
  screen.print(`${screen.paint('strong', 'checkpoint')} ${checkpointId}`, formatPairs(aboutPairs(details), '  '));
  screen.print(
    '',
    'What happened:',
    change.flatMap((part) => [`  ${describePart(part)}`, ...(stack ? stackLines(part, cwd) : [])]),
  );
  if (!stack && change.some(({ error }) => (error?.stack ?? error?.causes) !== undefined))
    screen.print('', `Where it was thrown: ${commandLine('show', `${runId}@${seq}`, '--stack')}`);
  const lines = formatRecorded(recorded, screen.width);
  if (lines.length > 0) screen.print('', 'What it recorded:', lines);
  // The start and end of a graph do no work, so they are not shown.
  const nodes = view.nodes.filter(({ path }) => path.at(-1)?.startsWith('__') !== true);
  const visibleColumns = costs === undefined ? columns : [...columns, { title: 'SPENT', canShrink: true }];
  if (nodes.length > 0)
    screen.print(
      '',
      ...formatTable(
        visibleColumns,
        nodes.map((node) => toCells(node, details)),
        screen,
      ),
    );
  const waits = view.waits.flatMap(({ node, kind, prompt = '', waitId }) => [
    `  ${printable(node.join('/'))}: ${kind} ${waitId}${answered.includes(waitId) ? ', answered' : ''}`,
    ...wrap(printableLines(prompt), screen.width - 4).map((line) => `    ${line}`.trimEnd()),
  ]);
  if (waits.length > 0) screen.print('', isOpen(view) ? 'Open:' : 'Asked, and not answered:', waits);
  const failures = Object.entries(view.failures);
  if (failures.length > 0)
    screen.print(
      '',
      'Failed:',
      ...failures.flatMap(([node, error]) => formatValue(printable(node), error, screen.width)),
    );
}

interface ShowArguments extends ShowCheckpointInput {
  readonly stack?: boolean;
  readonly whole?: boolean;
}

export const showCommand: Command<ShowArguments> = {
  ...ofOperation(showCheckpoint),
  fields: {
    ...showCheckpoint.input,
    stack: { type: 'flag', description: 'of what failed, all frames and causes that are recorded' },
    whole: wholeField,
  },
  examples: [
    { line: 'cairn show 0198c2f4', does: 'the newest checkpoint of a run' },
    { line: 'cairn show 0198c2f4@head~1', does: 'the one before it' },
  ],
  execute(session, { stack = false, whole = false, ...input }) {
    return withHistory(session, async (context) => {
      const output = await perform(showCheckpoint, context, input);
      if (session.isJson) printWithoutLarge(session, output, { operation: showCheckpoint, whole });
      else printDetails(session, output, stack);
      return 0;
    });
  },
};
