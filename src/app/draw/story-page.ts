/**
 * A post-mortem as one HTML page that needs nothing but itself: no script, no font, no request. What a run or an author wrote stands in it
 * as text alone, and a policy in its head forbids everything else.
 */
import { formatPath } from '../../history/read/state-path.ts';
import type { PostMortem } from '../../history/trace/story.ts';
import { toJson } from '../../operations/declare/to-json.ts';
import { toneOfVisit } from '../../operations/runs/picture-marks.ts';
import {
  storyWords,
  type EventWords,
  type NoteWords,
  type StoryWords,
  type VisitWords,
} from '../../operations/words/story-words.ts';
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
  const words = storyWords(told);
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
${header(told, words)}
<section class="graph">${svg === undefined ? outline(words) : cleanSvg(svg)}</section>
<section>${words.entries.map((entry) => (entry.kind === 'visit' ? visitText(entry) : eventText(entry))).join('\n')}</section>
${endText(words, told.result)}
</main>
</body>
</html>
`;
}

function header({ runId, seq, graphId, status, startedAt }: PostMortem, { facts }: StoryWords): string {
  const when = `${new Date(startedAt).toISOString().replace('T', ' ').slice(0, 19)} UTC`;
  return `<header><h1>${escape(graphId)} <span class="${toneOfStatus(status)}">${escape(status)}</span></h1>
<p class="facts">${[`${runId}@${seq}`, when, ...facts].map(escape).join(' · ')}</p></header>`;
}

const toneOfStatus = (status: string): string =>
  status === 'completed' ? 'good' : status === 'failed' ? 'bad' : status === 'paused' ? 'warn' : 'running';

/** Where nothing can be drawn: the nodes in the order in which they ended, and where each led. */
function outline({ entries }: StoryWords): string {
  const lines = entries.flatMap((entry) => {
    if (entry.kind !== 'visit') return [];
    const { visit } = entry;
    const led = visit.edges.filter(({ fired }) => fired).map(({ to }) => (to.startsWith('__') ? 'the end' : to));
    return [
      `<li class="${toneOfVisit(visit)}">${escape(visit.path.join('/'))} → ${escape(led.join(', ') || 'nowhere')}</li>`,
    ];
  });
  return `<ol class="outline">${lines.join('')}</ol>`;
}

function placeText(place: string): string {
  return `<span class="seq">${escape(place)}</span>`;
}

function eventText({ place, text }: EventWords): string {
  return `<p class="event">${placeText(place)} ${escape(text)}</p>`;
}

const noteClasses: Readonly<Partial<Record<NoteWords['kind'], string>>> = { asked: 'asked', failure: 'bad' };

function noteText({ kind, text }: NoteWords): string {
  const name = noteClasses[kind];
  return `<p${name === undefined ? '' : ` class="${name}"`}>${escape(text)}</p>`;
}

function visitText({ place, visit, outcome, facts, notes, changes, edges }: VisitWords): string {
  const { path, value } = visit;
  const lines = [
    ...notes.map(noteText),
    changesText(changes),
    edgesText(edges),
    value === undefined
      ? ''
      : `<details><summary>what it gave</summary><pre>${escape(valueText(value, 4_000))}</pre></details>`,
  ];
  return `<article class="${toneOfVisit(visit)}" style="margin-left:${Math.min(6, Math.floor(path.length / 2)) * 1.5}em">
<h2>${placeText(place)} ${escape(path.join('/'))} <span class="tone">${escape(outcome)}</span> <span class="facts">${facts.map(escape).join(' · ')}</span></h2>
${lines.filter((line) => line !== '').join('\n')}
</article>`;
}

function changesText(changes: VisitWords['changes']): string {
  if (changes.length === 0) return '';
  const rows = changes.map(
    ({ path, before, after, isAppended }) =>
      `<tr><th>${escape(formatPath(path))}</th><td>${before === undefined ? '' : code(before)}</td><td>${isAppended === true ? '+ ' : ''}${after === undefined ? 'gone, or large' : code(after)}</td></tr>`,
  );
  return `<details${changes.length > 4 ? '' : ' open'}><summary>${changes.length} values changed</summary><table><tr><th></th><td>before</td><td>after</td></tr>${rows.join('')}</table></details>`;
}

function edgesText(edges: VisitWords['edges']): string {
  if (edges.length === 0) return '';
  const items = edges.map(
    ({ target, label, fired, why }) =>
      `<li class="${fired ? 'taken' : 'left'}">${fired ? '→' : '·'} ${escape(target)}${label === undefined ? '' : ` <q>${escape(label)}</q>`} <span>${escape(why.join(', '))}</span></li>`,
  );
  return `<ul class="edges">${items.join('')}</ul>`;
}

function endText({ failures, gates, failedOnTheWay }: StoryWords, result: unknown): string {
  return [
    ...failures.map((text) => `<p class="bad">${escape(text)}</p>`),
    ...(gates.length === 0
      ? []
      : [`<p>goal gates: ${gates.map(([gate, how]) => `${escape(gate)} <b>${escape(how)}</b>`).join(', ')}</p>`]),
    ...(failedOnTheWay.length === 0
      ? []
      : [`<p>failed on the way:</p><ul>${failedOnTheWay.map((text) => `<li>${escape(text)}</li>`).join('')}</ul>`]),
    ...(result === undefined
      ? []
      : [`<details open><summary>result</summary><pre>${escape(valueText(result, 8_000))}</pre></details>`]),
  ].join('\n');
}

function code(value: unknown): string {
  return `<code>${escape(valueText(value, valueMax))}</code>`;
}

function valueText(value: unknown, most: number): string {
  const text = typeof value === 'string' ? value : (JSON.stringify(toJson(value), null, 1) ?? String(value));
  return text.length > most ? `${text.slice(0, most)}…` : text;
}

const marks: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', "'": '&#39;' };

/** Text for a page, whatever it holds. Control characters and turned directions of writing are shown as a mark. */
function escape(text: string): string {
  // oxlint-disable-next-line no-control-regex
  const visible = text.replace(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069]/g, '\ufffd');
  return visible.replace(/[&<>"']/g, (mark) => marks[mark] ?? mark);
}
