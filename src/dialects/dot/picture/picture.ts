/**
 * Draws a graph of any dialect as SVG text, coloured by what happened if that is known. What anybody wrote is text in it; nothing in it can
 * act, and it refers to nothing outside.
 */
import {
  drawGraph,
  placeGraph,
  type Attributes,
  type DrawnEdge,
  type DrawnNode,
  type Drawing,
  type Paint,
} from '../../../graph/drawing/draw-graph.ts';
import type { Tone } from '../../../graph/drawing/marks.ts';
import { END, START, type GraphStructure } from '../../../graph/graph.ts';
import { writtenLabels } from './edge-labels.ts';

/** How a node ended or stands, which decides its colour. */
export type PictureTone = 'good' | 'bad' | 'warn' | 'running' | 'skipped' | 'untouched';

/** What happened in a run, by the path of a node or of an edge's source, joined with `/`. Paths leave out the names of child runs. */
export interface PictureMarks {
  readonly nodes: ReadonlyMap<string, { readonly tone: PictureTone; readonly note?: string }>;
  /** How often each edge was taken. The key is the source's path, a line feed, and the target's id. */
  readonly taken: ReadonlyMap<string, number>;
}

const tones: Readonly<Record<PictureTone, Tone>> = {
  good: 'completed',
  bad: 'failed',
  warn: 'waiting',
  running: 'running',
  skipped: 'skipped',
  untouched: 'idle',
};

const colours: Partial<Record<Tone, readonly [fill: string, line: string]>> = {
  completed: ['#dcf5e3', '#1a7f37'],
  failed: ['#ffe2e0', '#cf222e'],
  waiting: ['#fff4ce', '#9a6700'],
  running: ['#ddf0ff', '#0969da'],
  skipped: ['#f0f1f3', '#6e7781'],
  idle: ['#ffffff', '#6e7781'],
};
const plain: readonly [string, string] = ['#f6f8fa', '#57606a'];
const ink = '#24292f';
/** As pale as can be read. */
const pale = '#6e7781';
const paleLine = '#c4cad1';

/** Most levels of child graphs that are drawn inside their nodes. */
const depthMax = 3;
const labelMax = 60;

type Data = Readonly<Record<string, unknown>>;

/** An edge, with where it is in the graphs within graphs. */
interface PathEdge extends DrawnEdge {
  readonly count: number;
}

/** @param marks - what happened in a run. Undefined for a definition, where nothing has happened */
export function pictureOf(structure: GraphStructure, marks?: PictureMarks): string {
  const drawing = drawingOf(structure, marks, [], 0);
  const isKnown = marks !== undefined;
  const { markup } = drawGraph(drawing, placeGraph(drawing), {
    make: makeText,
    paint: paintOf(isKnown),
    isTaken: (edge) => !isKnown || (edge as PathEdge).count > 0,
    svg: {
      xmlns: 'http://www.w3.org/2000/svg',
      role: 'img',
      'aria-label': `The graph ${short(structure.id)}`,
      'font-family': 'Helvetica, Arial, sans-serif',
    },
  });
  return markup;
}

function drawingOf(
  structure: GraphStructure,
  marks: PictureMarks | undefined,
  path: readonly string[],
  depth: number,
): Drawing {
  const ids = new Set([START, ...structure.nodes.map(({ id }) => String(id)), END]);
  const edges = structure.edges.filter(({ from, to }) => ids.has(String(from)) && ids.has(String(to)));
  const labels = writtenLabels(edges);
  const ends = [START, END].filter((id) => edges.some(({ from, to }) => from === id || to === id));
  const endOf = (id: string): DrawnNode => ({ id, kind: 'end', lines: [], tone: undefined, title: '' });
  const nodes = structure.nodes.map((node) => nodeOf(node, marks, path, depth));
  return {
    nodes: [...ends.filter((id) => id === START).map(endOf), ...nodes, ...ends.filter((id) => id === END).map(endOf)],
    edges: edges.map((edge, index) => edgeOf(edge, labels[index], marks, path)),
  };
}

function nodeOf(node: Data, marks: PictureMarks | undefined, path: readonly string[], depth: number): DrawnNode {
  const id = String(node['id']);
  const place = [...path, id];
  const mark = marks?.nodes.get(place.join('/'));
  const { type, effect, subgraph } = node as {
    readonly type?: string;
    readonly effect?: string;
    readonly subgraph?: GraphStructure;
  };
  const kind = type === undefined || type === 'function' || type === id ? '' : type;
  const lines = [id, kind, mark?.note ?? ''].filter((text) => text !== '').map(short);
  return {
    id,
    kind: 'node',
    lines,
    tone: marks && tones[mark?.tone ?? 'untouched'],
    title: readable([id, kind, mark?.note ?? ''].filter((text) => text !== '').join(', ')),
    acts: effect === 'external' || effect === 'write',
    ...(subgraph !== undefined && depth < depthMax && { inner: drawingOf(subgraph, marks, place, depth + 1) }),
  };
}

function edgeOf(
  edge: Data,
  label: string | undefined,
  marks: PictureMarks | undefined,
  path: readonly string[],
): PathEdge {
  const [from, to] = [String(edge['from']), String(edge['to'])];
  const count = marks?.taken.get(`${[...path, from].join('/')}\n${to}`) ?? 0;
  const condition = (edge['condition'] as { readonly text?: string } | undefined)?.text;
  const parts = [label ?? condition ?? (edge['on'] === 'failed' ? 'failed' : ''), count > 1 ? `${count}×` : ''];
  const words = parts.filter((part) => part !== '');
  return { from, to, count, text: words.map(short).join(' '), title: readable(words.join(' ')) };
}

/** Removes characters that would break a line or the file, or turn the direction of writing. */
const readable = (text: string): string =>
  text
    // oxlint-disable-next-line no-control-regex
    .replace(/[\u0000-\u001f\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff\ufffe\uffff]+/g, ' ')
    .toWellFormed();

function short(text: string): string {
  const whole = readable(text);
  return whole.length > labelMax ? `${whole.slice(0, labelMax - 1).toWellFormed()}…` : whole;
}

// What it looks like in a file, where no style sheet is.

function paintOf(isKnown: boolean): Paint {
  return (part, tone) => {
    const [fill, line] = (tone && colours[tone]) ?? plain;
    const isPale = tone === 'idle' || tone === 'skipped';
    const looks: Readonly<Record<string, Attributes>> = {
      box: {
        fill,
        stroke: isPale ? paleLine : line,
        'stroke-width': 1.2,
        'stroke-dasharray': isPale ? '3 3' : undefined,
      },
      end: { fill: plain[1] },
      name: { fill: isPale ? pale : ink, 'font-size': 12.5, 'font-weight': 'bold' },
      below: { fill: isPale ? pale : plain[1], 'font-size': 11 },
      more: { fill: plain[1], 'font-size': 11 },
      acts: { stroke: plain[1], 'stroke-width': 2.5 },
      'edge-label': { fill: isKnown && isPale ? pale : ink, 'font-size': 11 },
      stroke: { fill: 'none', stroke: line, 'stroke-width': 1.6 },
      fill: { fill: line },
      sign: { fill: 'none', stroke: '#ffffff', 'stroke-width': 1.7 },
    };
    return looks[part] ?? paintEdge(part, isKnown);
  };
}

function paintEdge(part: string, isKnown: boolean): Attributes {
  const isTaken = part.includes('taken');
  const stroke = !isKnown ? plain[1] : isTaken ? ink : paleLine;
  return {
    fill: 'none',
    stroke,
    'stroke-width': isKnown && isTaken ? 1.8 : 1.1,
    'stroke-dasharray': (isKnown && !isTaken) || part.includes('back') ? '4 3' : undefined,
  };
}

// As text.

interface Markup {
  readonly markup: string;
}

const signs: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', "'": '&#39;' };
const escaped = (text: string): string => text.replace(/[&<>"']/g, (sign) => signs[sign] ?? sign);

function makeText(tag: string, attributes: Attributes, children: readonly (Markup | string)[]): Markup {
  const own = Object.entries(attributes)
    .filter(([name, value]) => value !== undefined && name !== 'key')
    .map(([name, value]) => ` ${name}="${escaped(String(value))}"`)
    .join('');
  const inner = children.map((child) => (typeof child === 'string' ? escaped(child) : child.markup)).join('');
  return { markup: inner === '' ? `<${tag}${own}/>` : `<${tag}${own}>${inner}</${tag}>` };
}
