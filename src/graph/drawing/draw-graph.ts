/**
 * The picture of a graph: one SVG for the page, which makes elements of it, and for files, which are text. Pure. The caller passes what
 * the two differ in: a page styles its classes, a file has its colours in attributes.
 */
import { layOut, type Layout, type Link, type PlacedEdge, type Size, type Spot } from './layout.ts';
import { marks, type Tone } from './marks.ts';

export type Attributes = Readonly<Record<string, string | number | undefined>>;

/** Makes an element. Children that are texts are texts, whatever is in them. */
export type MakeElement<T> = (tag: string, attributes: Attributes, children: readonly (T | string)[]) => T;

/** What a part of the picture is, for what it looks like. */
export type Part =
  | 'box'
  | 'end'
  | 'fold'
  | 'name'
  | 'below'
  | 'more'
  | 'acts'
  | 'edge'
  | 'edge taken'
  | 'edge back'
  | 'edge taken back'
  | 'edge-label'
  | 'stroke'
  | 'fill'
  | 'sign';

/** Attributes of a part. @param tone - undefined: of a definition, where nothing has happened */
export type Paint = (part: Part, tone: Tone | undefined) => Attributes;

export interface DrawnNode {
  readonly id: string;
  /** `end`: where a graph begins or ends. `fold`: stands for several. */
  readonly kind: 'node' | 'end' | 'fold';
  /** Its name, and what stands below it. */
  readonly lines: readonly string[];
  /** Undefined: nothing is known of it, as in a definition. */
  readonly tone: Tone | undefined;
  /** All of it in words. */
  readonly title: string;
  /** What stands at the right, such as how often it was visited. */
  readonly more?: string;
  /** Whether it acts outside. */
  readonly acts?: boolean;
  readonly isSelected?: boolean;
  readonly href?: string;
  /** The graph that it runs, drawn inside it. */
  readonly inner?: Drawing;
}

export interface DrawnEdge extends Link {
  /** What stands at it, and the whole of it if that is more. */
  readonly text?: string;
  readonly title?: string;
}

export interface Drawing {
  readonly nodes: readonly DrawnNode[];
  readonly edges: readonly DrawnEdge[];
}

/** Where everything is. */
export interface Placed extends Size {
  readonly layout: Layout<DrawnEdge>;
  readonly sizes: ReadonlyMap<string, Size>;
  readonly inner: ReadonlyMap<string, Placed>;
  /** The lines of the edges, in their order: they are drawn again and again while a run goes on. */
  readonly lines: readonly string[];
}

const gaps = { gapX: 22, gapY: 30 };
const margin = 10;
const nodeWidth = 172;
const nodeHeight = 38;
const lineHeight = 15;
/** Width of a letter, about: there is nothing here that could measure. */
const letter = 6.9;
const smallLetter = 6.3;
/** Left of the name: the mark. */
const markRoom = 33;
const headRoom = 34;
const padding = 14;
const loopRoom = 24;

function sizeOf({ kind, lines, more = '' }: DrawnNode, inner: Placed | undefined): Size {
  if (kind === 'end') return { width: 14, height: 14 };
  if (kind === 'fold') return { width: 112, height: 28 };
  const longest = Math.max(...lines.map(({ length }) => length));
  const width = Math.max(nodeWidth, Math.ceil(longest * letter + more.length * smallLetter) + markRoom + 13);
  const height = nodeHeight + (lines.length - 1) * lineHeight;
  if (inner === undefined) return { width, height };
  return { width: Math.max(width, inner.width + 2 * padding), height: height - 4 + inner.height + padding };
}

const isLoop = ({ from, to }: Link): boolean => from === to;
const labelOf = (text: string | undefined): Size | undefined =>
  text === undefined || text === '' ? undefined : { width: Math.ceil(text.length * smallLetter) + 8, height: 16 };

/** Places a graph, and the graphs in its nodes. It depends on the texts and not on what happened, so it holds while a run goes on. */
export function placeGraph({ nodes, edges }: Drawing): Placed {
  const inner = new Map(
    nodes.flatMap(({ id, inner: graph }) => (graph === undefined ? [] : [[id, placeGraph(graph)]])),
  );
  const sizes = new Map(nodes.map((node) => [node.id, sizeOf(node, inner.get(node.id))]));
  const loops = Map.groupBy(edges.filter(isLoop), ({ from }) => from);
  const roomOf = (id: string): number => {
    const own = loops.get(id);
    return own === undefined ? 0 : 2 * (loopRoom + Math.max(0, ...own.map(({ text }) => labelOf(text)?.width ?? 0)));
  };
  const placeable = nodes.map(({ id }) => {
    const { width = 0, height = 0 } = sizes.get(id) ?? {};
    return { id, height, width: width + roomOf(id) };
  });
  const layout = layOut(
    placeable,
    edges.map((edge) => ({ ...edge, room: labelOf(edge.text) })),
    gaps,
  );
  const lines = layout.edges.map((placed) => curve(placed) + headOf(placed));
  return { layout, sizes, inner, lines, width: layout.width, height: layout.height };
}

export interface DrawOptions<T> {
  readonly make: MakeElement<T>;
  readonly paint: Paint;
  /** Whether an edge was taken. */
  readonly isTaken: (edge: DrawnEdge) => boolean;
  /** Whether edges are drawn together, and nodes without their smaller parts: for a graph of many. */
  readonly isCoarse?: boolean;
  /** Attributes of the whole. */
  readonly svg: Attributes;
}

/** @param placed - as {@link placeGraph} gives it for a drawing with the same texts */
export function drawGraph<T>(drawing: Drawing, placed: Placed, options: DrawOptions<T>): T {
  const [width, height] = [Math.ceil(placed.width) + 2 * margin, Math.ceil(placed.height) + 2 * margin];
  const viewBox = `${-margin} ${-margin} ${width} ${height}`;
  return options.make('svg', { ...options.svg, width, height, viewBox }, new Picture(options).graph(drawing, placed));
}

const fixed = (value: number): string => String(Math.round(value * 10) / 10);

/** @param labelAt - where the line has a gap, for what stands there */
function curve({ points, labelAt }: PlacedEdge<Link>): string {
  const [first, ...rest] = points;
  if (first === undefined) return '';
  let at = first;
  let path = `M${fixed(at.x)} ${fixed(at.y)}`;
  for (const to of rest) {
    const isAtLabel = labelAt?.x === to.x && (labelAt.y - at.y) * (to.y - labelAt.y) > 0;
    const middle = fixed((at.y + to.y) / 2);
    path += isAtLabel
      ? `M${fixed(to.x)} ${fixed(to.y)}`
      : Math.abs(at.x - to.x) < 0.5
        ? `L${fixed(to.x)} ${fixed(to.y)}`
        : `C${fixed(at.x)} ${middle} ${fixed(to.x)} ${middle} ${fixed(to.x)} ${fixed(to.y)}`;
    at = to;
  }
  return path;
}

/** The head of an arrow: up, if the edge leads back. */
function headOf({ points, isBack }: PlacedEdge<Link>): string {
  const end = points.at(-1);
  if (end === undefined) return '';
  const y = end.y + (isBack ? 6 : -6);
  return `M${fixed(end.x - 4)} ${fixed(y)}L${fixed(end.x)} ${fixed(end.y)}L${fixed(end.x + 4)} ${fixed(y)}`;
}

class Picture<T> {
  readonly #options: DrawOptions<T>;

  constructor(options: DrawOptions<T>) {
    this.#options = options;
  }

  graph({ nodes, edges }: Drawing, placed: Placed): readonly T[] {
    const { isCoarse = false } = this.#options;
    const { lines } = placed;
    const placedEdges = placed.layout.edges;
    return [
      ...(isCoarse ? [this.#sharedMarks(nodes)] : []),
      ...(isCoarse
        ? this.#together(placedEdges, lines)
        : placedEdges.map((edge, index) => this.#edge(edge, lines[index] ?? ''))),
      ...edges.filter(isLoop).map((edge) => this.#loop(edge, placed)),
      ...nodes.map((node) => this.#node(node, placed)),
    ];
  }

  /** Edges of a large graph: one line for those that were taken, and one for the others. */
  #together(edges: readonly PlacedEdge<DrawnEdge>[], lines: readonly string[]): readonly T[] {
    const { make, isTaken } = this.#options;
    return [false, true].map((taken) => {
      const d = lines.filter((_, index) => isTaken((edges[index] as PlacedEdge<DrawnEdge>).edge) === taken).join('');
      return make('g', { key: `edges ${taken}`, ...this.#paint(taken ? 'edge taken' : 'edge') }, [
        make('path', { d }, []),
      ]);
    });
  }

  #edge(placed: PlacedEdge<DrawnEdge>, d: string): T {
    const { make } = this.#options;
    const { edge, isBack, labelAt } = placed;
    return make('g', { key: `${edge.from}\n${edge.to}`, ...this.#paintEdge(edge, isBack) }, [
      make('path', { d }, []),
      ...(labelAt === undefined ? [] : [this.#label(edge, labelAt)]),
    ]);
  }

  #loop(edge: DrawnEdge, { layout, sizes }: Placed): T {
    const { make } = this.#options;
    const { x = 0, y = 0 } = layout.spots.get(edge.from) ?? {};
    const right = x + (sizes.get(edge.from)?.width ?? 0) / 2;
    const { width = 0 } = labelOf(edge.text) ?? {};
    return make('g', { key: `${edge.from}\n${edge.to}`, ...this.#paintEdge(edge, true) }, [
      make('path', { d: `M${fixed(right)} ${fixed(y - 8)}c22 -6 22 22 0 16` }, []),
      ...(width === 0 ? [] : [this.#label(edge, { x: right + loopRoom - 4 + width / 2, y })]),
    ]);
  }

  #label(edge: DrawnEdge, { x, y }: Spot): T {
    const { make, isTaken } = this.#options;
    const { text = '', title } = edge;
    const place = { x: fixed(x), y: fixed(y + 4), 'text-anchor': 'middle' };
    const whole = title === undefined || title === text ? [] : [make('title', {}, [title])];
    return make('text', { ...this.#paint('edge-label', isTaken(edge) ? 'completed' : 'idle'), ...place }, [
      ...whole,
      text,
    ]);
  }

  #node(node: DrawnNode, placed: Placed): T {
    const { make } = this.#options;
    const { id, kind, title, href, isSelected = false, tone } = node;
    const { x, y } = placed.layout.spots.get(id) ?? { x: 0, y: 0 };
    const { width, height } = placed.sizes.get(id) ?? { width: 0, height: 0 };
    if (kind === 'end')
      return make('g', { key: id }, [
        make('circle', { cx: fixed(x), cy: fixed(y), r: 6, ...this.#paint('end', undefined) }, []),
      ]);
    const [left, top] = [x - width / 2, y - height / 2];
    const rect = (part: Part, rx: number): T =>
      make('rect', { x: fixed(left), y: fixed(top), width, height, rx, ...this.#paint(part, tone) }, []);
    const own =
      kind === 'fold'
        ? [rect('fold', 14), this.#text('more', tone, { x, y: y + 4 }, node.lines[0] ?? '', 'middle')]
        : [rect('box', 7), ...this.#inBox(node, placed, { x: left, y: top }, { width, height })];
    return make(
      href === undefined ? 'g' : 'a',
      {
        key: id,
        href,
        class: `${kind === 'fold' ? 'box fold' : 'box'}${isSelected ? ' selected' : ''}`,
        'data-tone': tone,
        'aria-label': href === undefined ? undefined : title,
        'aria-current': isSelected ? 'true' : undefined,
      },
      [...(this.#options.isCoarse === true && kind === 'node' ? [] : [make('title', {}, [title])]), ...own],
    );
  }

  /** What is in the box of a node. */
  #inBox(node: DrawnNode, placed: Placed, { x, y }: Spot, { width, height }: Size): readonly T[] {
    const { make, isCoarse = false } = this.#options;
    const { id, lines, tone, more = '', acts = false, inner } = node;
    const graph = placed.inner.get(id);
    const first = y + 23.5;
    const isMarked = tone !== undefined && !(isCoarse && tone === 'idle');
    return [
      ...(acts
        ? [make('path', { d: `M${fixed(x + 7)} ${fixed(y + height)}h${width - 14}`, ...this.#paint('acts', tone) }, [])]
        : []),
      ...(isMarked ? [this.#mark(tone, { x: x + 11, y: y + 12 })] : []),
      ...lines.map((line, index) =>
        this.#text(
          index === 0 ? 'name' : 'below',
          tone,
          { x: x + (tone === undefined ? 14 : markRoom), y: first + index * lineHeight },
          line,
        ),
      ),
      ...(more === '' ? [] : [this.#text('more', tone, { x: x + width - 10, y: first }, more, 'end')]),
      ...(inner === undefined || graph === undefined
        ? []
        : [
            make(
              'g',
              {
                transform: `translate(${fixed(x + (width - graph.width) / 2)} ${fixed(y + headRoom + (lines.length - 1) * lineHeight)})`,
              },
              this.graph(inner, graph),
            ),
          ]),
    ];
  }

  #text(part: Part, tone: Tone | undefined, { x, y }: Spot, text: string, anchor?: string): T {
    const attributes = { x: fixed(x), y: fixed(y), 'text-anchor': anchor, ...this.#paint(part, tone) };
    return this.#options.make('text', attributes, [text]);
  }

  #mark(tone: Tone, { x, y }: Spot): T {
    const { make, isCoarse = false } = this.#options;
    const place = { class: 'mark', x: fixed(x), y: fixed(y), width: 14, height: 14 };
    if (isCoarse) return make('use', { ...place, href: `#mark-${tone}` }, []);
    return make('svg', { ...place, viewBox: '0 0 16 16' }, this.#markParts(tone));
  }

  #markParts(tone: Tone): readonly T[] {
    return marks[tone].map(({ paint, d, dashes }) =>
      this.#options.make('path', { d, 'stroke-dasharray': dashes, ...this.#paint(paint, tone) }, []),
    );
  }

  /** The marks of a large graph are drawn once, and referred to. */
  #sharedMarks(nodes: readonly DrawnNode[]): T {
    const { make } = this.#options;
    const tones = [...new Set(nodes.flatMap(({ tone }) => tone ?? []))];
    const symbols = tones.map((tone) =>
      make('symbol', { id: `mark-${tone}`, viewBox: '0 0 16 16' }, this.#markParts(tone)),
    );
    return make('defs', { key: 'marks' }, symbols);
  }

  #paintEdge(edge: DrawnEdge, isBack: boolean): Attributes {
    const taken = this.#options.isTaken(edge) ? 'edge taken' : 'edge';
    return this.#paint(isBack ? `${taken} back` : taken);
  }

  #paint(part: Part, tone?: Tone): Attributes {
    return this.#options.paint(part, tone);
  }
}
