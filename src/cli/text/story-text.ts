/** A post-mortem as text that reads from top to bottom: what happened, and why it went on as it did. */
import type { PostMortem } from '../../operations/runs/post-mortem.ts';
import { formatPath } from '../../operations/declare/state-path.ts';
import { formatCosts } from './amounts.ts';
import { printable } from './printable.ts';
import { shortStepName, stepKind } from './step-name.ts';
import { type Paint, toneOf } from './style.ts';
import { formatDuration, formatTime } from './time.ts';
import { formatInline } from './value.ts';
import { fit, wrap } from './width.ts';

type Entry = PostMortem['entries'][number];
type Visit = Extract<Entry, { readonly kind: 'visit' }>;
type RunEvent = Exclude<Entry, Visit>;

export interface StoryScreen {
  readonly width: number;
  readonly paint: Paint;
}

/** Changes of one visit that are shown. `--json` shows all. */
const changesMax = 6;
const margin = 6;

/** The graph's own places, where nothing happens. */
const isPlace = (id: string): boolean => id.startsWith('__');

/** What only the engine of a dialect reads. */
const isInner = ([area, key = '']: readonly string[]): boolean =>
  key.startsWith('internal.') || (area === 'diagnostics' && key === 'history');

const noted: ReadonlySet<string> = new Set(['current_node', 'outcome', 'last_stage', 'preferred_label']);

export function formatStory(story: PostMortem, screen: StoryScreen): readonly string[] {
  const { runId, graphId, status, seq, startedAt, endedAt, forkedFrom, entries } = story;
  const { paint } = screen;
  const costs = formatCosts(story);
  const from = forkedFrom === undefined ? '' : `, forked from ${printable(forkedFrom.runId)}@${forkedFrom.seq}`;
  return [
    `${paint('strong', printable(`${runId}@${seq}`))} ${printable(graphId)} ${paint(toneOf(status), status)}${from}`,
    paint(
      'dim',
      `${formatTime(startedAt)}, ${formatDuration(endedAt - startedAt)}${costs === undefined ? '' : `, ${costs}`}`,
    ),
    '',
    ...entries.flatMap((entry) =>
      entry.kind === 'visit' ? formatVisit(entry, story, screen) : formatEvent(entry, story, screen),
    ),
    ...formatEnd(story, screen),
  ];
}

/** The checkpoint, with its run where that is an ancestor. */
function place({ runId, seq }: Pick<Entry, 'runId' | 'seq'>, story: PostMortem): string {
  return runId === story.runId ? `@${seq}` : printable(`${runId}@${seq}`);
}

function formatEvent(event: RunEvent, story: PostMortem, { paint, width }: StoryScreen): readonly string[] {
  const { kind, by, status, from, pruned, detail } = event;
  const said: Readonly<Record<RunEvent['kind'], string>> = {
    start: 'the run was started',
    fork: `the run was forked from ${from === undefined ? 'another' : printable(`${from.runId}@${from.seq}`)}`,
    resume: 'the run went on',
    pause: 'the run waits',
    cancel: 'the run was cancelled',
    end: `the run ended: ${status ?? 'completed'}`,
    fold:
      pruned?.after === undefined
        ? 'what came before was pruned'
        : `what happened in ${pruned.after + 1}–${pruned.upTo} was pruned`,
  };
  const who = by === undefined ? '' : ` by ${printable(by)}`;
  const more = detail === undefined ? '' : ` (${formatInline(detail)})`;
  return [
    `${place(event, story).padEnd(margin - 1)} ${paint('dim', fit(`${said[kind]}${who}${more}`, width - margin))}`,
  ];
}

function formatVisit(visit: Visit, story: PostMortem, screen: StoryScreen): readonly string[] {
  const id = visit.path.at(-1) ?? '';
  if (isPlace(id)) return [];
  const { paint, width } = screen;
  const indent = ' '.repeat(margin + visit.path.length - 1);
  const line = (text: string): string => fit(`${indent}${text}`, width);
  const name = printable(visit.path.join('/'));
  const costs = formatCosts(visit);
  const facts = [
    ...(visit.visit > 1 ? [`visit ${visit.visit}`] : []),
    ...((visit.attempts ?? 1) > 1 ? [`${visit.attempts} attempts`] : []),
    ...(visit.durationMs === undefined ? [] : [formatDuration(visit.durationMs)]),
    ...(costs === undefined ? [] : [costs]),
    ...(visit.by === undefined ? [] : [`settled by ${printable(visit.by)}`]),
  ];
  const head = `${place(visit, story).padEnd(margin - 1)}${' '.repeat(visit.path.length)}`;
  const said = pipelineOutcome(visit);
  const shown = said ?? (visit.attempts === undefined ? 'not ended' : visit.status);
  return [
    `${head}${paint('strong', name)} ${paint(toneOf(toneWord(shown)), shown)}${facts.length === 0 ? '' : paint('dim', ` (${facts.join(', ')})`)}`,
    ...(visit.takenFrom === undefined
      ? []
      : [line(`taken over from ${printable(`${visit.takenFrom.runId}@${visit.takenFrom.seq}`)}`)]),
    ...(visit.when === undefined ? [] : [line(`its condition did not hold: ${printable(visit.when)}`)]),
    ...visit.retries.map(({ attempt, step, error }) =>
      line(
        `${step === undefined ? '' : `${printable(shortStepName(step))}: `}attempt ${attempt} failed${reason(error)}, tried again`,
      ),
    ),
    ...formatSteps(visit).map(line),
    ...visit.steps
      .filter(({ status }) => status === 'failed')
      .map(({ step, error }) => line(`${printable(shortStepName(step))} failed${reason(error)}`)),
    ...visit.questions.flatMap((question) => formatQuestion(question, { indent, width })),
    ...failureOf(visit).flatMap((text) => wrap(text, width - indent.length).map((part) => paint('bad', indent + part))),
    ...formatChanges(visit, line),
    ...visit.edges.flatMap((edge) => formatEdge(edge, visit.edges.length, { line, paint })),
  ];
}

/** The steps that did their work, counted by what they do: `steps: model ×3, tool look ×2`. A single one is the node's work itself. */
function formatSteps({ steps }: Visit): readonly string[] {
  const kinds = steps.flatMap(({ step, status }) => (status === 'failed' ? [] : [stepKind(step)]));
  if (kinds.length < 2) return [];
  const counted = [...new Set(kinds)].map((kind) => [kind, kinds.filter((one) => one === kind).length] as const);
  return [`steps: ${counted.map(([kind, count]) => printable(count === 1 ? kind : `${kind} ×${count}`)).join(', ')}`];
}

function reason(error: { readonly code: string; readonly message: string } | undefined): string {
  return error === undefined ? '' : `: ${printable(error.message)} [${printable(error.code)}]`;
}

/** What a stage of a pipeline said of itself. */
function pipelineOutcome({ value }: Visit): string | undefined {
  const outcome = (value as { readonly outcome?: unknown } | null | undefined)?.outcome;
  return typeof outcome === 'string' && /^[a-z_]{1,20}$/.test(outcome) ? outcome : undefined;
}

const tones: Readonly<Record<string, string>> = {
  success: 'completed',
  partial_success: 'waiting',
  fail: 'failed',
  retry: 'failed',
  'not ended': 'waiting',
};
const toneWord = (word: string): string => tones[word] ?? word;

function failureOf({ error, value }: Visit): readonly string[] {
  if (error !== undefined) return [`${printable(error.message)} [${printable(error.code)}]`];
  const said = (value as { readonly failure_reason?: unknown } | null | undefined)?.failure_reason;
  return typeof said === 'string' ? [printable(said)] : [];
}

function formatQuestion(
  { kind, name, prompt, at, closedAt, by, answer }: Visit['questions'][number],
  { indent, width }: { readonly indent: string; readonly width: number },
): readonly string[] {
  const asked = kind === 'question' || kind === 'doubt' ? 'asked' : `waited for a ${kind}`;
  const waited = closedAt === undefined ? '' : ` after ${formatDuration(closedAt.at - at)}`;
  const who = by === undefined ? '' : ` by ${printable(by)}`;
  const end =
    closedAt === undefined
      ? 'still open'
      : answer === undefined
        ? `over${who}${waited}`
        : `answered ${formatInline(answer)}${who}${waited}`;
  return wrap(`${asked} ${printable(prompt ?? name)}: ${end}`, width - indent.length).map((part) => indent + part);
}

function formatChanges(visit: Visit, line: (text: string) => string): readonly string[] {
  const { changes } = visit;
  // What a pipeline notes of each stage is told by the stage itself.
  const isStage = pipelineOutcome(visit) !== undefined;
  const told = changes.filter(
    ({ path, before, after }) =>
      !isInner(path) &&
      !(isStage && path[0] === 'scratch' && noted.has(path[1] ?? '')) &&
      (before === undefined || formatInline(before) !== formatInline(after)),
  );
  const lines = told.slice(0, changesMax).map((change) => {
    const path = printable(formatPath(change.path));
    if (!('after' in change)) return line(`${path} gone`);
    if (change.isAppended === true) return line(`${path} + ${formatInline(change.after)}`);
    const before = 'before' in change ? `${formatInline(change.before)} → ` : '';
    return line(`${path}: ${before}${formatInline(change.after)}`);
  });
  const more = told.length - changesMax;
  return more > 0 ? [...lines, line(`… and ${more} changes more`)] : lines;
}

function formatEdge(
  { to, label, condition, fired, because }: Visit['edges'][number],
  count: number,
  { line, paint }: { readonly line: (text: string) => string; readonly paint: Paint },
): readonly string[] {
  // That the only way was taken goes without saying.
  if (isPlace(to) && count === 1) return [];
  const target = printable(isPlace(to) ? 'the end' : to);
  const name = label === undefined ? target : `${target} ${JSON.stringify(printable(label))}`;
  const why = [condition === undefined ? '' : printable(condition), printable(because)].filter((text) => text !== '');
  if (fired && count === 1) return [line(`→ ${name}`)];
  const text = line(`${fired ? '→' : '·'} ${name}: ${why.join(', ')}`);
  return [fired ? text : paint('dim', text)];
}

function formatEnd({ failures, result }: PostMortem, { paint, width }: StoryScreen): readonly string[] {
  const { gates, failures: onTheWay } = (result ?? {}) as {
    readonly gates?: Readonly<Record<string, unknown>>;
    readonly failures?: readonly {
      readonly stage?: string;
      readonly reason?: string;
      readonly led_to?: string | null;
    }[];
  };
  const lines = [
    ...Object.entries(failures).map(([node, error]) =>
      paint('bad', fit(`failed for ${printable(node)}${reason(error)}`, width)),
    ),
    ...(gates !== undefined && Object.keys(gates).length > 0
      ? [
          fit(
            `goal gates: ${Object.entries(gates)
              .map(([gate, how]) => `${printable(gate)} ${printable(String(how))}`)
              .join(', ')}`,
            width,
          ),
        ]
      : []),
    ...(Array.isArray(onTheWay) && onTheWay.length > 0
      ? [
          'failed on the way:',
          ...onTheWay.map(({ stage = '', reason: why = '', led_to: to }) =>
            fit(
              `  ${printable(stage)}: ${printable(why)}${to === null || to === undefined ? '' : ` → ${printable(to)}`}`,
              width,
            ),
          ),
        ]
      : []),
    ...(result !== undefined ? [fit(`result: ${formatInline(result)}`, width)] : []),
  ];
  return lines.length === 0 ? [] : ['', ...lines];
}
