/**
 * A post-mortem as one HTML page that needs nothing but itself: no script, no font, no request. What a run or an author wrote stands in it
 * as text alone, and a policy in its head forbids everything else.
 */
import type { PostMortem, ToldEntry, ToldVisit } from '../../history/trace/story.ts';
import { formatPath } from '../../history/read/state-path.ts';
import { toneOfVisit } from '../../operations/runs/picture-marks.ts';
import { shown } from '../../state/secrecy/shown.ts';
import { cleanSvg } from './clean-svg.ts';
import { style } from './story-style.ts';

/** Longer values are cut. */
const valueMax = 400;

/**
 * @param svg - the graph as {@link drawDot} gives it; without one the page has an outline of the nodes
 * @returns the page, values under names of secrets masked
 */
export function storyPage(story: PostMortem, svg?: string): string {
  const told = shown(story) as PostMortem;
  const title = escape(`${told.runId}@${told.seq}`);
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="referrer" content="no-referrer">
<title>${title}</title>
<style>${style}</style>
</head>
<body>
<main>
${header(told)}
<section class="graph">${svg === undefined ? outline(told) : cleanSvg(svg)}</section>
<section>${told.entries.map((entry) => (entry.kind === 'visit' ? visitText(entry, told) : eventText(entry, told))).join('\n')}</section>
${endText(told)}
</main>
</body>
</html>
`;
}

function header(story: PostMortem): string {
  const { runId, seq, graphId, status, startedAt, endedAt, forkedFrom, spent, saved } = story;
  const facts = [
    new Date(startedAt).toISOString().replace('T', ' ').slice(0, 19) + ' UTC',
    duration(endedAt - startedAt),
    ...(forkedFrom === undefined ? [] : [`forked from ${forkedFrom.runId}@${forkedFrom.seq}`]),
    ...(spent === undefined ? [] : [`spent ${amounts(spent)}`]),
    ...(saved === undefined ? [] : [`saved ${amounts(saved)}`]),
  ];
  return `<header><h1>${escape(graphId)} <span class="${toneOfStatus(status)}">${escape(status)}</span></h1>
<p class="facts">${escape(`${runId}@${seq}`)} · ${facts.map(escape).join(' · ')}</p></header>`;
}

const toneOfStatus = (status: string): string =>
  status === 'completed' ? 'good' : status === 'failed' ? 'bad' : status === 'paused' ? 'warn' : 'running';

/** Where nothing can be drawn: the nodes in the order in which they ended, and where each led. */
function outline({ entries }: PostMortem): string {
  const lines = entries.flatMap((entry) => {
    if (entry.kind !== 'visit' || isPlace(entry)) return [];
    const led = entry.edges.filter(({ fired }) => fired).map(({ to }) => (to.startsWith('__') ? 'the end' : to));
    return [
      `<li class="${toneOfVisit(entry)}">${escape(entry.path.join('/'))} → ${escape(led.join(', ') || 'nowhere')}</li>`,
    ];
  });
  return `<ol class="outline">${lines.join('')}</ol>`;
}

function isPlace({ path }: ToldVisit): boolean {
  return path.at(-1)?.startsWith('__') === true;
}

function placeText({ runId, seq }: ToldEntry, story: PostMortem): string {
  return `<span class="seq">${escape(runId === story.runId ? `@${seq}` : `${runId}@${seq}`)}</span>`;
}

function eventText(event: Exclude<ToldEntry, ToldVisit>, story: PostMortem): string {
  const { kind, by, status, from, pruned } = event;
  const words = [
    {
      start: 'the run was started',
      fork: 'the run was forked',
      resume: 'the run went on',
      pause: 'the run waits',
      cancel: 'the run was cancelled',
      end: `the run ended: ${status ?? ''}`,
      fold: 'checkpoints were pruned',
    }[kind],
    ...(from === undefined ? [] : [`from ${from.runId}@${from.seq}`]),
    ...(by === undefined ? [] : [`by ${by}`]),
    ...(pruned === undefined
      ? []
      : [pruned.after === undefined ? `all before ${pruned.upTo}` : `${pruned.after + 1}–${pruned.upTo}`]),
  ];
  return `<p class="event">${placeText(event, story)} ${escape(words.join(' '))}</p>`;
}

function visitText(visit: ToldVisit, story: PostMortem): string {
  if (isPlace(visit)) return '';
  const { path, visit: count, status, attempts, durationMs, spent, error, when, takenFrom, by, value } = visit;
  const outcome = (value as { readonly outcome?: unknown } | null | undefined)?.outcome;
  const facts = [
    ...(count > 1 ? [`visit ${count}`] : []),
    ...((attempts ?? 1) > 1 ? [`${attempts} attempts`] : []),
    ...(durationMs === undefined ? [] : [duration(durationMs)]),
    ...(spent === undefined ? [] : [amounts(spent)]),
    ...(by === undefined ? [] : [`settled by ${by}`]),
    ...(takenFrom === undefined ? [] : [`taken over from ${takenFrom.runId}@${takenFrom.seq}`]),
  ];
  const reason = (value as { readonly failure_reason?: unknown } | null | undefined)?.failure_reason;
  const lines = [
    ...(error === undefined ? [] : [`<p class="bad">${escape(`${error.message} [${error.code}]`)}</p>`]),
    ...(typeof reason === 'string' ? [`<p class="bad">${escape(reason)}</p>`] : []),
    ...(when === undefined ? [] : [`<p>its condition did not hold: <code>${escape(when)}</code></p>`]),
    ...visit.retries.map(
      (retry) =>
        `<p>attempt ${retry.attempt}${retry.step === undefined ? '' : ` of ${escape(retry.step)}`} failed: ${escape(retry.error?.message ?? '')}, tried again</p>`,
    ),
    ...visit.questions.map(
      (question) =>
        `<p class="asked">asked <q>${escape(question.prompt ?? question.name)}</q> ${question.closedAt === undefined ? 'and still open' : `answered ${code(question.answer)}${question.by === undefined ? '' : ` by ${escape(question.by)}`}`}</p>`,
    ),
    changesText(visit),
    edgesText(visit),
    value === undefined
      ? ''
      : `<details><summary>what it gave</summary><pre>${escape(valueText(value, 4_000))}</pre></details>`,
  ];
  const told = typeof outcome === 'string' ? outcome : attempts === undefined ? `${status}, not ended` : status;
  return `<article class="${toneOfVisit(visit)}" style="margin-left:${Math.min(6, Math.floor(path.length / 2)) * 1.5}em">
<h2>${placeText(visit, story)} ${escape(path.join('/'))} <span class="tone">${escape(told)}</span> <span class="facts">${facts.map(escape).join(' · ')}</span></h2>
${lines.filter((line) => line !== '').join('\n')}
</article>`;
}

function changesText({ changes }: ToldVisit): string {
  if (changes.length === 0) return '';
  const rows = changes.map(
    ({ path, before, after, isAppended }) =>
      `<tr><th>${escape(formatPath(path))}</th><td>${before === undefined ? '' : code(before)}</td><td>${isAppended === true ? '+ ' : ''}${after === undefined ? 'gone, or large' : code(after)}</td></tr>`,
  );
  return `<details${changes.length > 4 ? '' : ' open'}><summary>${changes.length} values changed</summary><table><tr><th></th><td>before</td><td>after</td></tr>${rows.join('')}</table></details>`;
}

function edgesText({ edges }: ToldVisit): string {
  if (edges.length === 0) return '';
  const items = edges.map(
    ({ to, label, condition, fired, because }) =>
      `<li class="${fired ? 'taken' : 'left'}">${fired ? '→' : '·'} ${escape(to.startsWith('__') ? 'the end' : to)}${label === undefined ? '' : ` <q>${escape(label)}</q>`}${condition === undefined ? '' : ` <code>${escape(condition)}</code>`} <span>${escape(because)}</span></li>`,
  );
  return `<ul class="edges">${items.join('')}</ul>`;
}

function endText({ failures, result }: PostMortem): string {
  const gates = (result as { readonly gates?: Readonly<Record<string, unknown>> } | null | undefined)?.gates;
  return [
    ...Object.entries(failures).map(
      ([node, { message, code: id }]) =>
        `<p class="bad">failed for ${escape(node)}: ${escape(`${message} [${id}]`)}</p>`,
    ),
    ...(gates === undefined || gates === null
      ? []
      : [
          `<p>goal gates: ${Object.entries(gates)
            .map(([gate, how]) => `${escape(gate)} <b>${escape(String(how))}</b>`)
            .join(', ')}</p>`,
        ]),
    ...(result === undefined
      ? []
      : [`<details open><summary>result</summary><pre>${escape(valueText(result, 8_000))}</pre></details>`]),
  ].join('\n');
}

function code(value: unknown): string {
  return `<code>${escape(valueText(value, valueMax))}</code>`;
}

function valueText(value: unknown, most: number): string {
  const text = typeof value === 'string' ? value : (JSON.stringify(value, plain, 1) ?? String(value));
  return text.length > most ? `${text.slice(0, most)}…` : text;
}

function plain(_key: string, value: unknown): unknown {
  if (typeof value === 'bigint') return String(value);
  if (value instanceof Map) return Object.fromEntries(value as ReadonlyMap<string, unknown>);
  if (value instanceof Set) return [...(value as ReadonlySet<unknown>)];
  return value instanceof Error ? { name: value.name, message: value.message } : value;
}

function amounts(of: Readonly<Record<string, number>>): string {
  return Object.entries(of)
    .map(([unit, amount]) => `${amount} ${unit}`)
    .join(', ');
}

function duration(ms: number): string {
  if (ms < 1_000) return `${Math.round(ms)} ms`;
  return ms < 60_000
    ? `${(ms / 1_000).toFixed(1)} s`
    : `${Math.floor(ms / 60_000)} min ${Math.floor(ms / 1_000) % 60} s`;
}

const marks: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', "'": '&#39;' };

/** Text for a page, whatever it holds. Control characters and turned directions of writing are shown as a mark. */
function escape(text: string): string {
  // oxlint-disable-next-line no-control-regex
  const visible = text.replace(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069]/g, '\ufffd');
  return visible.replace(/[&<>"']/g, (mark) => marks[mark] ?? mark);
}
