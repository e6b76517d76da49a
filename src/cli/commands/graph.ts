/** `cairn graph` */
import { perform } from '../../operations/contract/perform.ts';
import { withHistory } from '../../app/open-store/with-history.ts';
import { graphRuns, type GraphRunsInput, type GraphRunsOutput } from '../../operations/runs/graph-runs.ts';
import { type Command, ofOperation } from '../command.ts';
import type { Session } from '../session.ts';
import { printable } from '../../operations/format/terminal.ts';
import { toneOf } from '../text/tone.ts';
import { graphLines, type GraphLine } from '../text/run-graph-text.ts';
import { formatAge } from '../../operations/format/time.ts';
import { formatInline } from '../text/value.ts';
import { fit, pad, widthOf } from '../text/width.ts';

type Run = GraphRunsOutput['runs'][number];

function changeText({ parent, changed }: Run): string {
  if (parent === undefined) return '';
  const changes = [
    ...(changed?.set ?? []).map(({ path, value }) => (value === undefined ? path : `${path} = ${formatInline(value)}`)),
    ...(changed?.answers ?? []).map((name) => `another answer to ${name}`),
    ...(changed?.isOtherGraph === true ? ['another graph'] : []),
  ];
  const by = changed?.by === undefined ? '' : ` (by ${changed.by})`;
  return `from ${parent.runId}@${parent.seq}${changes.length === 0 ? '' : `: ${changes.join(', ')}`}${by}`;
}

function lineOf({ screen }: Session, line: GraphLine, margin: number, now: number): string {
  const { drawing, run, seq, isHead } = line;
  const { paint, rowWidth } = screen;
  const name = printable(`${run.runId}@${seq}`);
  const tags = run.tags.filter((tag) => tag.seq === seq).map(({ name: tag }) => tag);
  const tagText = tags.length === 0 ? '' : ` [${printable(tags.join(', '))}]`;
  const lane = pad(drawing, margin);
  if (!isHead) return `${lane}  ${paint('dim', `${name}${tagText}`)}`;
  const rest = [`${formatAge(now - run.updatedAt)} ago`, printable(changeText(run))].filter((text) => text !== '');
  const head = `${name}${tagText}  ${run.status}`;
  const more = fit(`  ${rest.join('  ')}`, Math.max(0, rowWidth - margin - 2 - widthOf(head)));
  return `${lane}  ${paint(run.isCurrent ? 'strong' : 'plain', name)}${tagText}  ${paint(toneOf(run.status), run.status)}${paint('dim', more)}`;
}

export const graphCommand: Command<GraphRunsInput> = {
  ...ofOperation(graphRuns),
  details:
    'Newest first: a column for each run, ● its newest checkpoint, ◉ that of the run you named, ○ where another was forked off, or a tag.',
  examples: [
    { line: 'cairn graph 0198c2f4', does: 'the run, what it was forked from, and its forks' },
    { line: 'cairn graph 0198c2f4 --json', does: 'for a program' },
  ],
  execute(session, input) {
    return withHistory(session, async (context) => {
      const output = await perform(graphRuns, context, input);
      if (session.isJson) session.printJson(output);
      else {
        const lines = graphLines(output.runs);
        const margin = lines.reduce((widest, { drawing }) => Math.max(widest, widthOf(drawing)), 0);
        session.screen.print(lines.map((line) => lineOf(session, line, margin, context.now())));
      }
      return 0;
    });
  },
};
