/**
 * A post-mortem as one HTML page that needs nothing but itself: no script, no font, no request. What a run or an author wrote stands in it
 * as text alone, and a policy in its head forbids everything else.
 */
import { toJson } from '../../operations/contract/to-json.ts';
import { formatPath } from '../../history/read/state-path.ts';
import type { PostMortem } from '../../history/explain/story.ts';
import { toneOfVisit } from '../../operations/runs/picture-marks.ts';
import { maskedStory } from '../../operations/runs/post-mortem.ts';
import { storySummary, type StorySummary, type SummaryLine } from '../../operations/format/story-summary.ts';
import {
  storyWords,
  type EventWords,
  type NoteWords,
  type StoryWords,
  type VisitWords,
} from '../../operations/format/story-words.ts';

// Texts and values of a run as they may stand in a page: visible, harmless, and no longer than somebody reads.

const marks: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', "'": '&#39;' };

/** Control characters, and marks that turn the direction of writing. Tabs and line feeds stay. */
const unsafe =
  // oxlint-disable-next-line no-control-regex
  /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff]|\p{Cs}/gu;

/** Text for a page, whatever it holds. What cannot be shown is a replacement mark. */
function escape(text: string): string {
  return text.replace(unsafe, '\ufffd').replace(/[&<>"']/g, (mark) => marks[mark] ?? mark);
}

/** A value for a page: a text as it is, anything else as JSON; cut after so many characters. */
function valueText(value: unknown, most: number): string {
  const text = typeof value === 'string' ? value : (JSON.stringify(toJson(value), null, 1) ?? String(value));
  if (text.trim() === '') return escape(JSON.stringify(text));
  if (text.length <= most) return escape(text);
  return `${escape(text.slice(0, most))}… <i>${text.length.toLocaleString('en')} characters in all</i>`;
}

/** Longer texts are folded, and cut at {@link textMax}. */
const foldedMin = 600;
const beginning = 240;
const textMax = 20_000;

/** A text for a page. Of a long one the beginning is seen, and the rest when it is unfolded. */
function foldedText(text: string): string {
  if (text.length <= foldedMin) return escape(text);
  return `<details class="long"><summary>${escape(text.slice(0, beginning))}…</summary><pre>${valueText(text, textMax)}</pre></details>`;
}

// The look of a post-mortem's page: by day, by night, on a narrow screen, and on paper.

const style = `
:root{--text:#1f2328;--dim:#59636e;--line:#d0d7de;--back:#fff;--good:#1a7f37;--bad:#cf222e;--warn:#9a6700;--running:#0969da}
@media screen and (prefers-color-scheme:dark){:root{color-scheme:dark;--text:#e6edf3;--dim:#9198a1;--line:#3d444d;--back:#0d1117;--good:#3fb950;--bad:#f85149;--warn:#d29922;--running:#4493f8}.graph:has(svg){background:#f6f8fa}}
*{box-sizing:border-box}body{margin:0;font:15px/1.5 system-ui,sans-serif;color:var(--text);background:var(--back);overflow-wrap:anywhere}
main{max-width:60em;margin:0 auto;padding:1.5em 1em 4em}h1{font-size:1.5em;margin:0}h2{font-size:1.1em;margin:1.5em 0 .4em}h3{font-size:1em;margin:0}p{margin:.25em 0}
.facts,.seq,.event,.left span,.taken span,i{color:var(--dim);font-weight:400;font-size:.9em}.seq{font-family:ui-monospace,monospace}a{color:var(--running)}q,code,pre{unicode-bidi:isolate}
.summary ul{margin:0;padding-left:1.3em}.summary h2{margin-top:1em}
.graph{overflow:auto;max-height:90vh;border:1px solid var(--line);border-radius:8px;padding:1em}.graph svg{display:block;max-width:100%;height:auto;margin:0 auto}
.legend{color:var(--dim);font-size:.85em}.legend span{display:inline-block;margin-right:.9em}.legend i{display:inline-block;width:.9em;height:.9em;margin-right:.35em;vertical-align:-.1em;border:1.5px solid #b6bdc5;background:#fff;print-color-adjust:exact}
.legend i.good{border-color:#1a7f37;background:#dcf5e3}.legend i.bad{border-color:#cf222e;background:#ffe2e0}.legend i.warn{border-color:#9a6700;background:#fff4ce}.legend i.running{border-color:#0969da;background:#ddf0ff}.legend i.skipped{border-color:#8c959f;background:#f0f1f3}
article{border-left:4px solid var(--line);padding:.5em .9em;margin:.6em 0}article.good{border-color:var(--good)}article.bad{border-color:var(--bad)}article.warn{border-color:var(--warn)}article.running{border-color:var(--running)}article:target{outline:2px solid var(--running)}
.good .tone,h1 .good,.outline .good{color:var(--good)}.bad .tone,h1 .bad,div.bad,.outline .bad{color:var(--bad)}.warn .tone,h1 .warn,div.warn,.outline .warn{color:var(--warn)}.running .tone,h1 .running{color:var(--running)}
code,pre{font:12.5px/1.45 ui-monospace,monospace;white-space:pre-wrap}pre{border:1px solid var(--line);border-radius:6px;padding:.6em;margin:.4em 0}
ul.edges{list-style:none;padding:0;margin:.3em 0}.left{color:var(--dim)}.taken{font-weight:600}table{border-collapse:collapse;margin:.3em 0;width:100%}
th,td{text-align:left;vertical-align:top;padding:.15em .8em .15em 0;font-weight:400;border-top:1px solid var(--line)}th[scope=row]{width:32%}.before{width:30%}summary{color:var(--dim);cursor:pointer;font-size:.9em}.long summary{color:inherit;font-size:1em}
.outline{columns:22em;margin:0}
@media (max-width:36em){article{margin-left:0!important;padding-right:0}tr,th,td{display:block;width:auto!important;padding-right:0}th,td{border:0}tr{border-top:1px solid var(--line)}tr:has([scope=col]){display:none}td{padding-left:1em}td:empty{display:none}.before::before{content:"before: ";color:var(--dim)}.before+td::before{content:"after: ";color:var(--dim)}}
@media print{main{max-width:none;padding:0}.graph{max-height:none;overflow:visible;border:0;padding:0}.graph svg{min-width:0!important}article,tr{break-inside:avoid}h2{break-after:avoid}}`;

/** Longer values are cut. */
const valueMax = 400;
const outputMax = 4_000;
const resultMax = 8_000;
/** Failures on the way that are listed at the top. */
const failuresMax = 20;

/** The names of the visits' places in the page. */
type Places = ReadonlyMap<VisitWords, string>;

/**
 * @param svg - the graph, as `pictureOf` draws it; without one the page has an outline of the nodes
 * @returns the page, values under names of secrets masked
 */
export function storyPage(story: PostMortem, svg?: string): string {
  const masked = maskedStory(story);
  const words = storyWords(masked);
  const summary = storySummary(masked, words);
  const visits = words.entries.filter((entry) => entry.kind === 'visit');
  const places: Places = new Map(visits.map((visit, index) => [visit, `v${index + 1}`]));
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="referrer" content="no-referrer">
<title>${escape(`${masked.graphId} ${summary.outcome ?? masked.status} · ${masked.runId}@${masked.seq}`)}</title>
<style>${style}</style>
</head>
<body>
<main>
${header(masked, words, summary)}
${summaryText(summary, places)}
<section><h2>The graph</h2>
${svg === undefined ? outline(visits) : picture(svg)}</section>
<section><h2>What happened</h2>
${words.entries.map((entry) => (entry.kind === 'visit' ? visitText(entry, places) : eventText(entry))).join('\n')}</section>
${masked.result === undefined ? '' : `<section><h2>Result</h2>\n<pre>${valueText(masked.result, resultMax)}</pre></section>`}
</main>
</body>
</html>
`;
}

function header(
  { runId, seq, graphId, status, startedAt }: PostMortem,
  { facts }: StoryWords,
  { outcome }: StorySummary,
): string {
  const when = `${new Date(startedAt).toISOString().replace('T', ' ').slice(0, 19)} UTC`;
  const ended = outcome === undefined ? '' : ` <span class="${toneOfStatus(outcome)}">${escape(outcome)}</span>`;
  return `<header><h1>${escape(graphId)} <span class="${toneOfStatus(status)}">${escape(status)}</span>${ended}</h1>
<p class="facts">${[`${runId}@${seq}`, when, ...facts].map(escape).join(' · ')}</p></header>`;
}

const tones: Readonly<Record<string, string>> = {
  completed: 'good',
  failed: 'bad',
  fail: 'bad',
  paused: 'warn',
  stopped: 'warn',
  partial_success: 'warn',
};
const toneOfStatus = (status: string): string => tones[status] ?? 'running';

/** What a reader asks first, each line with a way to its visit. */
function summaryText({ failures, open, gates, failedOnTheWay }: StorySummary, places: Places): string {
  const line = ({ text, visit }: SummaryLine): string => {
    const place = visit && places.get(visit);
    return `${foldedText(text)}${place === undefined ? '' : ` <a href="#${place}">${escape(visit?.place ?? '')}</a>`}`;
  };
  const more = failedOnTheWay.length - failuresMax;
  const lines = [
    ...failures.map((failure) => `<div class="bad">${line(failure)}</div>`),
    ...open.map((question) => `<div class="warn">${line(question)}</div>`),
    ...(gates.length === 0
      ? []
      : [`<p>goal gates: ${gates.map(([gate, how]) => `${escape(gate)} <b>${escape(how)}</b>`).join(', ')}</p>`]),
    ...(failedOnTheWay.length === 0
      ? []
      : [
          `<p>failed on the way:</p><ul>${failedOnTheWay
            .slice(0, failuresMax)
            .map((failure) => `<li>${line(failure)}</li>`)
            .join('')}${more > 0 ? `<li>… and ${more} more</li>` : ''}</ul>`,
        ]),
  ];
  return lines.length === 0 ? '' : `<section class="summary"><h2>In short</h2>\n${lines.join('\n')}</section>`;
}

/** The least share of its own width to which a picture shrinks: smaller letters could not be read. In a narrower place it is scrolled. */
const leastShare = 0.65;

const legend = [
  ...Object.entries({
    good: 'ended well',
    bad: 'failed',
    warn: 'waits, or a success in part',
    running: 'runs',
    skipped: 'skipped',
    untouched: 'not reached',
  }).map(([tone, words]) => `<span><i class="${tone}"></i>${words}</span>`),
  '<span>bold: a way that was taken</span>',
].join(' ');

function picture(svg: string): string {
  const [, width = '0'] = /^<svg[^>]* width="(\d+)/.exec(svg) ?? [];
  const least = Math.round(Number(width) * leastShare);
  return `<div class="graph" tabindex="0" role="group" aria-label="The graph">${svg.replace(/^<svg/, `<svg style="min-width:${least}px"`)}</div>
<p class="legend">${legend}</p>`;
}

/** Where nothing can be drawn: the nodes in the order in which they ended, and where each led. */
function outline(visits: readonly VisitWords[]): string {
  const lines = visits.map(({ visit, outcome }) => {
    const tone = toneOfVisit(visit);
    const led = visit.edges.filter(({ fired }) => fired).map(({ to }) => (to.startsWith('__') ? 'the end' : to));
    const how = tone === 'good' ? '' : ` ${outcome}`;
    return `<li class="${tone}">${escape(visit.path.join('/') + how)} → ${escape(led.join(', ') || 'nowhere')}</li>`;
  });
  return `<div class="graph" tabindex="0" role="group" aria-label="The nodes in order"><ol class="outline">${lines.join('')}</ol></div>`;
}

function placeText(place: string): string {
  return `<span class="seq">${escape(place)}</span>`;
}

function eventText({ place, text }: EventWords): string {
  return `<p class="event">${placeText(place)} ${escape(text)}</p>`;
}

const noteClasses: Readonly<Partial<Record<NoteWords['kind'], string>>> = { failure: 'bad', open: 'warn' };

function noteText({ kind, text }: NoteWords): string {
  const name = noteClasses[kind];
  return `<div${name === undefined ? '' : ` class="${name}"`}>${foldedText(text)}</div>`;
}

function visitText(words: VisitWords, places: Places): string {
  const { place, visit, outcome, facts, notes, changes, edges } = words;
  const { path, value } = visit;
  const lines = [
    ...notes.map(noteText),
    changesText(changes),
    edgesText(edges),
    value === undefined
      ? ''
      : `<details><summary>what it gave</summary><pre>${valueText(value, outputMax)}</pre></details>`,
  ];
  return `<article id="${places.get(words) ?? ''}" class="${toneOfVisit(visit)}" style="margin-left:${Math.min(6, Math.floor(path.length / 2)) * 1.5}em">
<h3>${placeText(place)} ${escape(path.join('/'))} <span class="tone">${escape(outcome)}</span> <span class="facts">${facts.map(escape).join(' · ')}</span></h3>
${lines.filter((line) => line !== '').join('\n')}
</article>`;
}

function changesText(changes: VisitWords['changes']): string {
  if (changes.length === 0) return '';
  const hasBefore = changes.some(({ before, beforeBytes }) => before !== undefined || beforeBytes !== undefined);
  const rows = changes.map(({ path, before, beforeWords, after, afterWords, isAppended }) => {
    const was = beforeWords === undefined ? (before === undefined ? '' : code(before)) : escape(beforeWords);
    const is = afterWords === undefined ? `${isAppended === true ? '+ ' : ''}${code(after)}` : escape(afterWords);
    return `<tr><th scope="row">${escape(formatPath(path))}</th>${hasBefore ? `<td class="before">${was}</td>` : ''}<td>${is}</td></tr>`;
  });
  const head = hasBefore ? '<tr><td></td><th scope="col">before</th><th scope="col">after</th></tr>' : '';
  const count = changes.length === 1 ? '1 value' : `${changes.length} values`;
  return `<details${changes.length > 4 ? '' : ' open'}><summary>${count} changed</summary><table>${head}${rows.join('')}</table></details>`;
}

function edgesText(edges: VisitWords['edges']): string {
  if (edges.length === 0) return '';
  const items = edges.map(({ target, label, fired, why }) => {
    const reasons = why.length === 0 ? '' : `<span>: ${escape(why.join(', '))}</span>`;
    const name = `${escape(target)}${label === undefined ? '' : ` <q>${escape(label)}</q>`}`;
    return `<li class="${fired ? 'taken' : 'left'}">${fired ? '→' : '·'} ${name}${reasons}</li>`;
  });
  return `<ul class="edges">${items.join('')}</ul>`;
}

function code(value: unknown): string {
  return `<code>${valueText(value, valueMax)}</code>`;
}
