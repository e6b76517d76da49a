/** `blame`, `bisect`, `post-mortem`: how a run came to be what it is. */
import { perform } from '../../operations/contract/perform.ts';
import { withHistory } from '../../app/open-store/with-history.ts';
import { bisectRun, type BisectRunInput, type BisectRunOutput } from '../../operations/checkpoints/bisect-run.ts';
import { type Command, type Session, ofOperation } from '../session.ts';
import { describeChange } from '../text/change-text.ts';
import { printable } from '../../operations/format/terminal.ts';
import { formatTable } from '../text/terminal-text.ts';
import { wrap } from '../text/width.ts';
import { formatTime } from '../../operations/format/time.ts';
import { postMortem, type PostMortemInput, type PostMortemOutput } from '../../operations/runs/post-mortem.ts';
import { writeOwnFile } from '../files.ts';
import { formatStory } from '../text/story-text.ts';
import { blameValue, type BlameValueInput, type BlameValueOutput } from '../../operations/checkpoints/blame-value.ts';
import { formatPath, parsePath } from '../../operations/contract/state-path.ts';
import { shortStepName } from '../../operations/format/step-name.ts';
import { formatInline } from '../text/value.ts';

// `cairn bisect`

function printBisection({ screen, commandLine }: Session, output: BisectRunOutput): void {
  const { runId, seq, when, found, read, evaluated, unanswered } = output;
  const cost = `${read} checkpoints read, evaluated at ${evaluated} of them`;
  if (found === undefined) screen.print(`${printable(when)} holds nowhere up to ${printable(runId)}@${seq}`);
  else {
    const name = `${found.runId}@${found.seq}`;
    screen.print(
      `${screen.paint('strong', printable(name))} is the first at which ${printable(when)}`,
      ...wrap(`  ${formatTime(found.at)}  ${describeChange(found.change)}`, screen.rowWidth),
    );
    const { within } = found;
    if (within !== undefined)
      screen.print(
        within.after === undefined
          ? '  All before it was pruned: it may have held before.'
          : `  ${within.after + 1}–${within.upTo} were pruned into it: it may have held in one of them.`,
      );
    screen.note(screen.paint('dim', `What it recorded: ${commandLine('show', name)}`));
  }
  if (unanswered !== undefined)
    screen.note(
      `At ${unanswered.count} checkpoints it could not be answered, first at ${unanswered.seq}: ${printable(unanswered.reason)}`,
    );
  screen.note(screen.paint('dim', cost));
}

export const bisectCommand: Command<BisectRunInput> = {
  ...ofOperation(bisectRun),
  details:
    'The condition reads status, input, scratch, artifacts, diagnostics, outputs and failures; a key that is not there yet counts as not holding. The exit code is 0 where one is found, else 1.',
  examples: [
    { line: "cairn bisect 0198c2f4 --when 'scratch.total > 100'", does: 'when the total went over 100' },
    { line: "cairn bisect 0198c2f4 --when 'has(failures.pay)' --json", does: 'when pay first failed, for a program' },
  ],
  execute(session, input) {
    return withHistory(session, async (context) => {
      const output = await perform(bisectRun, context, input);
      if (session.isJson) session.printJson(output);
      else printBisection(session, output);
      return output.found === undefined ? 1 : 0;
    });
  },
};

// `cairn post-mortem`

interface PostMortemArguments extends PostMortemInput {
  readonly html?: string;
}

async function writePage({ cwd, screen }: Session, file: string, story: PostMortemOutput): Promise<void> {
  const { storyPage } = await import('../../app/draw/story-page.ts');
  writeOwnFile(cwd, file, storyPage(story, story.svg));
  screen.note(`The page is ${printable(file)}; only you may read it.`);
}

export const postMortemCommand: Command<PostMortemArguments> = {
  ...ofOperation(postMortem),
  fields: {
    ...postMortem.input,
    html: { type: 'text', description: 'writes a page that needs nothing but itself, with the graph drawn' },
  },
  details:
    'Conditions are computed again from the state as it was; of functions of a program is told whether their edge was taken. Values under names of secrets are masked.',
  examples: [
    { line: 'cairn post-mortem 0198c2f4', does: 'the story of a run' },
    { line: 'cairn post-mortem 0198c2f4 --html run.html', does: 'as a page, with the graph coloured by what happened' },
    { line: 'cairn post-mortem 0198c2f4@40 --json', does: 'up to checkpoint 40, for a program' },
  ],
  execute(session, { html, ...input }) {
    return withHistory(session, async (context) => {
      const story = await perform(postMortem, context, html === undefined ? input : { ...input, picture: true });
      if (html !== undefined) await writePage(session, html, story);
      if (session.isJson) session.printJson(story);
      else if (html === undefined) session.screen.print(formatStory(story, session.screen));
      return 0;
    });
  },
};

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
