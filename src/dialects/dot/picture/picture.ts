/**
 * Prints a graph of any dialect as DOT text for Graphviz, coloured by what happened if that is known. Nodes are named `n0`, `n1` and so on,
 * so that the author's node ids appear only in quoted labels.
 */
import { captionOf, exitChoice, readChoice, type StoredChoice } from '../run/stage/choose-edge.ts';
import { END, START, type GraphStructure } from '../../../graph/graph.ts';
import { printDot, type AttributeSyntax, type Syntax } from '../text/print-dot.ts';

/** How a node ended or stands, which decides its colour. */
export type PictureTone = 'good' | 'bad' | 'warn' | 'running' | 'skipped' | 'untouched';

/** What happened in a run, by the path of a node or of an edge's source, joined with `/`. Paths leave out the names of child runs. */
export interface PictureMarks {
  readonly nodes: ReadonlyMap<string, { readonly tone: PictureTone; readonly note?: string }>;
  /** How often each edge was taken. The key is the source's path, a line feed, and the target's id. */
  readonly taken: ReadonlyMap<string, number>;
}

const colours: Readonly<Record<PictureTone, readonly [fill: string, line: string]>> = {
  good: ['#dcf5e3', '#1a7f37'],
  bad: ['#ffe2e0', '#cf222e'],
  warn: ['#fff4ce', '#9a6700'],
  running: ['#ddf0ff', '#0969da'],
  skipped: ['#f0f1f3', '#8c959f'],
  untouched: ['#ffffff', '#b6bdc5'],
};
const plain: readonly [string, string] = ['#f6f8fa', '#57606a'];

/** At edges that were not taken: as pale as can be read. */
const paleText = '#6e7781';

/** Most levels of child graphs that are drawn inside their nodes. */
const depthMax = 3;
const labelMax = 60;
const font = 'Helvetica,Arial,sans-serif';

type Data = Readonly<Record<string, unknown>>;

/** @param marks - what happened in a run. Undefined for a definition, where nothing has happened. */
export function pictureOf(structure: GraphStructure, marks?: PictureMarks): string {
  const drawing = new Drawing(marks);
  const statements = drawing.graph(structure, [], 0);
  const defaults: readonly Syntax[] = [
    of('graph', {
      rankdir: 'TB',
      fontname: font,
      fontsize: '11',
      bgcolor: 'transparent',
      nodesep: '0.35',
      ranksep: '0.45',
    }),
    of('node', {
      fontname: font,
      fontsize: '11',
      style: 'filled,rounded',
      shape: 'box',
      penwidth: '1.2',
      margin: '0.14,0.07',
    }),
    of('edge', { fontname: font, fontsize: '9', arrowsize: '0.7' }),
  ];
  return printDot({ name: short(structure.id), comments: [], statements: [...defaults, ...statements], closing: [] });
}

class Drawing {
  readonly #marks: PictureMarks | undefined;
  #count = 0;

  constructor(marks: PictureMarks | undefined) {
    this.#marks = marks;
  }

  graph(structure: GraphStructure, path: readonly string[], depth: number): readonly Syntax[] {
    const ids = [START, ...structure.nodes.map((node) => String(node['id'])), END];
    const names = new Map(ids.map((id) => [id, this.#name('n')]));
    const edges = structure.edges.filter(({ from, to }) => names.has(String(from)) && names.has(String(to)));
    const labels = labelsOf(edges);
    const ends = [START, END].filter((id) => edges.some(({ from, to }) => from === id || to === id));
    const nodes = structure.nodes.flatMap((node) => this.#node(node, names.get(String(node['id'])) ?? '', path, depth));
    return [
      ...ends.map((id) =>
        statement(names.get(id) ?? '', {
          shape: 'circle',
          label: '',
          width: '0.16',
          fillcolor: '#57606a',
          color: '#57606a',
          ...(id === END && { peripheries: '2' }),
        }),
      ),
      ...nodes,
      ...edges.map((edge, index) => this.#edge(edge, labels[index], names, path)),
    ];
  }

  #node(node: Data, name: string, path: readonly string[], depth: number): readonly Syntax[] {
    const id = String(node['id']);
    const place = [...path, id];
    const mark = this.#marks?.nodes.get(place.join('/'));
    const [fill, line] = this.#marks === undefined ? plain : colours[mark?.tone ?? 'untouched'];
    const { type } = node as { readonly type?: string };
    const kind = type === undefined || type === 'function' || type === id ? '' : type;
    const lines = [id, kind, mark?.note ?? ''].filter((text) => text !== '').map(short);
    const own = statement(name, { label: lines.join('\n'), ...shapeOf(node), fillcolor: fill, color: line });
    const subgraph = node['subgraph'] as GraphStructure | undefined;
    if (subgraph === undefined || depth >= depthMax) return [own];
    const inner = this.graph(subgraph, place, depth + 1);
    return [
      own,
      {
        kind: 'subgraph',
        id: this.#name('cluster_'),
        at: 0,
        comments: [],
        closing: [],
        statements: [
          of('graph', {
            label: short(`${id}: its child runs`),
            color: '#d0d7de',
            style: 'rounded',
            fontcolor: '#57606a',
          }),
          ...inner,
        ],
      },
    ];
  }

  #edge(edge: Data, label: string | undefined, names: ReadonlyMap<string, string>, path: readonly string[]): Syntax {
    const [from, to] = [String(edge['from']), String(edge['to'])];
    const count = this.#marks?.taken.get(`${[...path, from].join('/')}\n${to}`) ?? 0;
    const isKnown = this.#marks !== undefined;
    const condition = (edge['condition'] as { readonly text?: string } | undefined)?.text;
    const times = count > 1 ? `${count}×` : '';
    const text = [label ?? condition ?? (edge['on'] === 'failed' ? 'failed' : ''), times]
      .filter((part) => part !== '')
      .map(short)
      .join(' ');
    const colour = !isKnown ? plain[1] : count > 0 ? '#24292f' : '#c4cad1';
    return {
      kind: 'edge',
      at: 0,
      comments: [],
      ends: [from, to].map((id) => ({ id: names.get(id) ?? '', at: 0 })),
      attributes: attributes({
        color: colour,
        fontcolor: isKnown && count === 0 ? paleText : colour,
        penwidth: isKnown && count > 0 ? '1.8' : '1',
        ...(isKnown && count === 0 && { style: 'dashed' }),
        // The blanks keep it clear of the line.
        ...(text !== '' && { label: `  ${text}  ` }),
      }),
    };
  }

  #name(kind: string): string {
    this.#count += 1;
    return `${kind}${this.#count}`;
  }
}

/** Shapes that are kept as the pipeline gives them. Other nodes get a shape by what they do. */
const shapes: ReadonlySet<unknown> = new Set([
  'Mdiamond',
  'Msquare',
  'box',
  'hexagon',
  'diamond',
  'component',
  'tripleoctagon',
  'parallelogram',
  'house',
]);

function shapeOf({ config, effect, type }: Data): Readonly<Record<string, string>> {
  const { attributes: given } = (config ?? {}) as { readonly attributes?: { readonly shape?: unknown } };
  const shape = type === 'exit' ? 'Msquare' : given?.shape;
  if (typeof shape === 'string' && shapes.has(shape)) return shape === 'box' ? {} : { shape, style: 'filled' };
  if (effect === 'human') return { shape: 'hexagon', style: 'filled' };
  return effect === 'external' || effect === 'write' ? { shape: 'box', style: 'filled,bold' } : {};
}

/** Shortens a label, and removes characters that would break a line or the file, or turn the direction of writing. */
function short(text: string): string {
  const plainText = text
    // oxlint-disable-next-line no-control-regex
    .replace(/[\u0000-\u001f\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff]+/g, ' ')
    .toWellFormed();
  return plainText.length > labelMax ? `${plainText.slice(0, labelMax - 1)}…` : plainText;
}

function statement(id: string, given: Readonly<Record<string, string>>): Syntax {
  return { kind: 'node', id, at: 0, comments: [], attributes: attributes(given) };
}

function of(what: 'graph' | 'node' | 'edge', given: Readonly<Record<string, string>>): Syntax {
  return { kind: 'defaults', of: what, at: 0, comments: [], attributes: attributes(given) };
}

function attributes(given: Readonly<Record<string, string>>): readonly AttributeSyntax[] {
  return Object.entries(given).map(([key, value]) => ({ key, value, at: 0, valueAt: 0 }));
}

// What stands at the edges of a graph that is drawn, as its description tells of them.

interface Written {
  readonly key: string;
  readonly from: string;
  readonly to: string;
  readonly label?: string;
  /** Edges that share a choice with an earlier one of their node name that edge. */
  readonly choice?: { readonly text: string } | { readonly sharedWith: string };
}

interface Read {
  readonly text: string;
  /** Undefined if it is no choice of a stage. */
  readonly stored: StoredChoice | undefined;
}

/** The labels that authors wrote, in the order of the edges. Of a pipeline, whose edges have names of their own, also conditions and jumps. */
export function labelsOf(edges: readonly Readonly<Record<string, unknown>>[]): readonly (string | undefined)[] {
  const choices = new Map<string, Read | undefined>();
  return (edges as unknown as readonly Written[]).map(({ key, from, to, label, choice }) => {
    if (choice === undefined) return label === to ? undefined : label;
    const read =
      'sharedWith' in choice
        ? choices.get(`${from}\n${choice.sharedWith}`)
        : { text: choice.text, stored: readChoice(choice.text) };
    choices.set(`${from}\n${key}`, read);
    if (read === undefined || (read.stored === undefined && read.text !== exitChoice)) return undefined;
    return captionOf(read.stored, label ?? to) || undefined;
  });
}
