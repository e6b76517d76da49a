/** `cairn blame` */
import { perform } from '../../operations/contract/perform.ts';
import { withHistory } from '../../app/open-store/with-history.ts';
import { type Command, ofOperation } from '../command.ts';
import type { Session } from '../session.ts';
import { printable } from '../../operations/format/terminal.ts';
import { formatTable } from '../text/text-table.ts';
import { blameValue, type BlameValueInput, type BlameValueOutput } from '../../operations/checkpoints/blame-value.ts';
import { formatPath, parsePath } from '../../operations/contract/state-path.ts';
import { shortStepName } from '../../operations/format/step-name.ts';
import { formatInline } from '../text/value.ts';

type Part = BlameValueOutput['parts'][number];

const columns = [
  { title: 'PATH', canShrink: true },
  { title: 'CHECKPOINT', canShrink: true },
  { title: 'WRITTEN BY', canShrink: true },
  { title: 'VALUE', canShrink: true },
] as const;

/** Path of the part relative to the requested value; a dot for the whole value. */
function pathText({ path, range, value }: Part, depth: number): string {
  const text = printable(formatPath(path.slice(depth)));
  if (range === undefined) return text === '' ? '.' : text;
  const last = range.to - 1;
  if (typeof value === 'string') return `${text} [${range.from}–${last}]`.trim();
  const items = range.from === last ? String(last) : `${range.from}–${last}`;
  return text === '' ? items : `${text}.${items}`;
}

/** Name of the checkpoint; with its run if that is an ancestor. */
function checkpointText({ runId, seq, within }: Part, run: string): string {
  const name = `${runId === run ? '' : printable(runId)}@${seq}`;
  if (within === undefined) return name;
  return within.after === undefined ? `${name} or before` : `${name} (of ${within.after + 1}–${within.upTo})`;
}

const others: Readonly<Record<string, string>> = {
  start: 'the start of the run',
  fork: 'what the fork changed',
  resume: 'the change of the graph',
  fold: 'pruned',
};

function writerText({ node, step, visit, attempt, kind, by, takenFrom }: Part): string {
  const name = node === undefined ? (others[kind] ?? kind) : printable(node.join('/'));
  const details = [
    ...(visit !== undefined && visit > 1 ? [`visit ${visit}`] : []),
    ...(attempt !== undefined && attempt > 1 ? [`attempt ${attempt}`] : []),
    ...(by === undefined ? [] : [`by ${printable(by)}`]),
    ...(takenFrom === undefined ? [] : [`as in ${printable(takenFrom.runId)}@${takenFrom.seq}`]),
  ];
  const place = step === undefined ? name : `${name}:${printable(shortStepName(step))}`;
  return details.length === 0 ? place : `${place} (${details.join(', ')})`;
}

function printBlame({ screen }: Session, { runId, seq, parts }: BlameValueOutput, path: string): void {
  const depth = parsePath(path).length;
  const rows = parts.map((part) => {
    const isOne = part.range !== undefined && Array.isArray(part.value) && part.value.length === 1;
    const value = isOne ? (part.value as readonly unknown[])[0] : part.value;
    return [pathText(part, depth), checkpointText(part, runId), writerText(part), formatInline(value)];
  });
  screen.print(`${screen.paint('strong', `${printable(runId)}@${seq}`)} ${printable(path)}`);
  screen.print(formatTable(columns, rows, screen));
}

export const blameCommand: Command<BlameValueInput> = {
  ...ofOperation(blameValue),
  details:
    'Parts of objects, items that were appended to a list and texts that grew are told each. Of a fork, what an ancestor wrote stands under its name.',
  examples: [
    { line: 'cairn blame 0198c2f4 scratch.plan', does: 'who wrote what of the plan' },
    { line: 'cairn blame 0198c2f4@12 outputs.draft', does: 'as it was at checkpoint 12' },
  ],
  execute(session, input) {
    return withHistory(session, async (context) => {
      const output = await perform(blameValue, context, input);
      if (session.isJson) session.printJson(output);
      else printBlame(session, output, input.path);
      return 0;
    });
  },
};
