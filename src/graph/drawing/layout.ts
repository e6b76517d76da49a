/**
 * Places a graph in layers, from the top down. Pure: the same graph is placed the same way each time.
 *
 * Edges that lead back are turned for the layering. Each node is one layer below the lowest that leads to it, edges over several layers go
 * through places of their own, sweeps put nodes near what they are linked with, and each layer is moved as near to its neighbours as the
 * gaps between its nodes allow.
 */

export interface Link {
  readonly from: string;
  readonly to: string;
  /** Room for what stands at it, between the layers. */
  readonly room?: Size | undefined;
}

export interface Spot {
  readonly x: number;
  readonly y: number;
}

export interface Size {
  readonly width: number;
  readonly height: number;
}

export interface Placeable extends Size {
  readonly id: string;
}

export interface PlacedEdge<E extends Link> {
  readonly edge: E;
  /** From the bottom of one node to the top of the other; in the order in which the edge leads. */
  readonly points: readonly Spot[];
  /** Whether it leads up, to a node that comes before. */
  readonly isBack: boolean;
  /** The middle of its label. */
  readonly labelAt?: Spot;
}

export interface Layout<E extends Link> extends Size {
  /** Centres of the nodes. */
  readonly spots: ReadonlyMap<string, Spot>;
  readonly edges: readonly PlacedEdge<E>[];
}

export interface Gaps {
  readonly gapX: number;
  readonly gapY: number;
}

interface Vertex extends Size {
  /** Nodes stand in even rows, labels between them in odd ones. */
  readonly row: number;
  x: number;
  readonly above: Vertex[];
  readonly below: Vertex[];
}

const sweeps = 4;
const alignments = 8;
/** Width of a place through which an edge passes. */
const passWidth = 14;

/** Edges that lead back to a node on the way to them, found in the order of the nodes. */
function findBackEdges<E extends Link>(ids: readonly string[], edges: readonly E[]): ReadonlySet<E> {
  const outgoing = Map.groupBy(edges, ({ from }) => from);
  const state = new Map<string, 'open' | 'done'>();
  const back = new Set<E>();
  for (const start of ids) {
    if (state.has(start)) continue;
    const stack: { readonly id: string; next: number }[] = [{ id: start, next: 0 }];
    state.set(start, 'open');
    for (let top = stack.at(-1); top !== undefined; top = stack.at(-1)) {
      const edge = outgoing.get(top.id)?.[top.next];
      top.next += 1;
      if (edge === undefined) {
        state.set(top.id, 'done');
        stack.pop();
      } else if (state.get(edge.to) === 'open') back.add(edge);
      else if (!state.has(edge.to)) {
        state.set(edge.to, 'open');
        stack.push({ id: edge.to, next: 0 });
      }
    }
  }
  return back;
}

/** Each node one layer below the lowest that leads to it. @param links - without circles */
function layersOf(ids: readonly string[], links: readonly Link[]): ReadonlyMap<string, number> {
  const outgoing = Map.groupBy(links, ({ from }) => from);
  const missing = new Map(ids.map((id) => [id, 0]));
  for (const { to } of links) missing.set(to, (missing.get(to) ?? 0) + 1);
  const layers = new Map(ids.map((id) => [id, 0]));
  const ready = ids.filter((id) => missing.get(id) === 0);
  for (const id of ready)
    for (const { to } of outgoing.get(id) ?? []) {
      layers.set(to, Math.max(layers.get(to) ?? 0, (layers.get(id) ?? 0) + 1));
      const remaining = (missing.get(to) ?? 0) - 1;
      missing.set(to, remaining);
      if (remaining === 0) ready.push(to);
    }
  return layers;
}

/** Edges as they are layered: without those to itself, and those that lead back turned. */
function downwards<E extends Link>(
  ids: readonly string[],
  edges: readonly E[],
): readonly (Link & { readonly edge: E; readonly isBack: boolean })[] {
  const known = new Set(ids);
  const inside = edges.filter(({ from, to }) => from !== to && known.has(from) && known.has(to));
  const back = findBackEdges(ids, inside);
  return inside.map((edge) => {
    const isBack = back.has(edge);
    return { from: isBack ? edge.to : edge.from, to: isBack ? edge.from : edge.to, edge, isBack };
  });
}

/** Sorts each layer by the middle of what its nodes are linked with in the layer before, down and up. */
function orderLayers(layers: Vertex[][]): void {
  const place = new Map<Vertex, number>();
  const number = (layer: readonly Vertex[]): void => layer.forEach((vertex, index) => void place.set(vertex, index));
  layers.forEach(number);
  const mean = (vertex: Vertex, near: readonly Vertex[]): number =>
    near.length === 0
      ? (place.get(vertex) ?? 0)
      : near.reduce((sum, one) => sum + (place.get(one) ?? 0), 0) / near.length;
  for (let sweep = 0; sweep < sweeps; sweep += 1) {
    const isDown = sweep % 2 === 0;
    for (const layer of isDown ? layers : layers.toReversed()) {
      const wanted = new Map(layer.map((vertex) => [vertex, mean(vertex, isDown ? vertex.above : vertex.below)]));
      layer.sort((a, b) => (wanted.get(a) ?? 0) - (wanted.get(b) ?? 0) || (place.get(a) ?? 0) - (place.get(b) ?? 0));
      number(layer);
    }
  }
}

/** Moves the nodes of a layer as near to the wanted places as their gaps allow: neighbours that would overlap share the mean. */
function alignLayer(layer: readonly Vertex[], gapX: number, near: (vertex: Vertex) => readonly Vertex[]): void {
  const offsets: number[] = [];
  let offset = 0;
  layer.forEach((vertex, index) => {
    const before = layer[index - 1];
    if (before !== undefined) offset += before.width / 2 + gapX + vertex.width / 2;
    offsets.push(offset);
  });
  const blocks: { sum: number; count: number }[] = [];
  layer.forEach((vertex, index) => {
    const linked = near(vertex);
    const wanted = linked.length === 0 ? vertex.x : linked.reduce((sum, { x }) => sum + x, 0) / linked.length;
    let block = { sum: wanted - (offsets[index] ?? 0), count: 1 };
    for (
      let last = blocks.at(-1);
      last !== undefined && last.sum / last.count > block.sum / block.count;
      last = blocks.at(-1)
    ) {
      block = { sum: block.sum + last.sum, count: block.count + last.count };
      blocks.pop();
    }
    blocks.push(block);
  });
  let index = 0;
  for (const { sum, count } of blocks)
    for (let remaining = count; remaining > 0; remaining -= 1, index += 1) {
      const vertex = layer[index];
      if (vertex !== undefined) vertex.x = sum / count + (offsets[index] ?? 0);
    }
}

/** Vertices in rows, and the way of each edge through them. */
class Rows<E extends Link> {
  readonly rows: Vertex[][] = [];
  readonly #labelled: ReadonlySet<number>;

  constructor(links: ReturnType<typeof downwards<E>>, layerOf: ReadonlyMap<string, number>) {
    this.#labelled = new Set(
      links.flatMap(({ edge, from }) => (edge.room === undefined ? [] : [2 * (layerOf.get(from) ?? 0) + 1])),
    );
  }

  add(row: number, { width, height }: Size): Vertex {
    const vertex: Vertex = { width, height, row, x: 0, above: [], below: [] };
    (this.rows[row] ??= []).push(vertex);
    return vertex;
  }

  /** Joins two vertices, by one in each row between them in which something stands. @returns the way, and where on it the label is */
  join(
    start: Vertex,
    end: Vertex,
    label: Size | undefined,
  ): { readonly way: readonly Vertex[]; readonly labelled?: Vertex } {
    const way = [start];
    let labelled: Vertex | undefined;
    for (let row = start.row + 1; row < end.row; row += 1) {
      const isFirst = row === start.row + 1;
      if (row % 2 === 1 && !this.#labelled.has(row)) continue;
      const vertex = this.add(row, isFirst && label !== undefined ? label : { width: passWidth, height: 0 });
      if (isFirst && label !== undefined) labelled = vertex;
      way.push(vertex);
    }
    way.push(end);
    for (const [index, vertex] of way.entries()) {
      const next = way[index + 1];
      if (next === undefined) break;
      vertex.below.push(next);
      next.above.push(vertex);
    }
    return { way, ...(labelled !== undefined && { labelled }) };
  }

  /** Orders the rows, and moves what is in them near to what it is linked with. */
  settle(gapX: number): void {
    const full = this.rows.filter((row) => row !== undefined);
    orderLayers(full);
    for (const row of full) alignLayer(row, gapX, () => []);
    for (let round = 0; round < alignments; round += 1)
      for (const row of round % 2 === 0 ? full : full.toReversed())
        alignLayer(row, gapX, round % 2 === 0 ? ({ above }) => above : ({ below }) => below);
  }

  /** Where each row begins and ends. */
  bands(gapY: number): readonly { readonly top: number; readonly bottom: number }[] {
    let top = 0;
    return Array.from({ length: this.rows.length }, (_, index) => {
      const bottom = top + Math.max(0, ...(this.rows[index] ?? []).map(({ height }) => height));
      const band = { top, bottom };
      top = bottom + gapY / 2;
      return band;
    });
  }
}

/** Places a graph. @param nodes - where all else is equal, earlier ones stand further up and to the left */
export function layOut<E extends Link>(
  nodes: readonly Placeable[],
  edges: readonly E[],
  { gapX, gapY }: Gaps,
): Layout<E> {
  const ids = nodes.map(({ id }) => id);
  const links = downwards(ids, edges);
  const layerOf = layersOf(ids, links);
  const rows = new Rows(links, layerOf);
  const vertices = new Map(nodes.map((node) => [node.id, rows.add(2 * (layerOf.get(node.id) ?? 0), node)]));
  const ways = links.flatMap(({ from, to, edge, isBack }) => {
    const [start, end] = [vertices.get(from), vertices.get(to)];
    return start === undefined || end === undefined ? [] : [{ edge, isBack, ...rows.join(start, end, edge.room) }];
  });
  rows.settle(gapX);
  const bands = rows.bands(gapY);
  const all = rows.rows.flat();
  const left = Math.min(0, ...all.map(({ x, width }) => x - width / 2));
  const bandOf = ({ row }: Vertex): { readonly top: number; readonly bottom: number } =>
    bands[row] ?? { top: 0, bottom: 0 };
  const middleOf = (vertex: Vertex): Spot => {
    const { top, bottom } = bandOf(vertex);
    return { x: vertex.x - left, y: (top + bottom) / 2 };
  };
  const pointsOf = (way: readonly Vertex[]): readonly Spot[] =>
    way.flatMap((vertex, index): readonly Spot[] => {
      const { x, y } = middleOf(vertex);
      if (index === 0) return [{ x, y: y + vertex.height / 2 }];
      if (index === way.length - 1) return [{ x, y: y - vertex.height / 2 }];
      const { top, bottom } = bandOf(vertex);
      return top === bottom
        ? [{ x, y: top }]
        : [
            { x, y: top },
            { x, y: bottom },
          ];
    });
  return {
    width: Math.max(1, ...all.map(({ x, width }) => x + width / 2 - left)),
    height: Math.max(1, ...bands.map(({ bottom }) => bottom)),
    spots: new Map([...vertices].map(([id, vertex]) => [id, middleOf(vertex)])),
    edges: ways.map(({ edge, isBack, way, labelled }) => {
      const points = pointsOf(way);
      return {
        edge,
        isBack,
        points: isBack ? points.toReversed() : points,
        ...(labelled !== undefined && { labelAt: middleOf(labelled) }),
      };
    }),
  };
}

/** A graph of at most so many nodes, with the others folded by layers. */
export interface Folded {
  readonly ids: readonly string[];
  readonly links: readonly Link[];
  /** What each fold stands for, by its id. */
  readonly folds: ReadonlyMap<string, readonly string[]>;
}

const foldOf = (band: number): string => `~fold ${band}`;

/**
 * Folds a graph that has more nodes than are drawn: layers are put together to bands, and of each band the nodes that are most worth seeing
 * are drawn, with one for the rest.
 *
 * @param weigh - how much a node is worth seeing; of equal ones the earlier is drawn
 * @param open - a fold of which as many nodes as possible are drawn
 */
export function foldGraph(
  ids: readonly string[],
  edges: readonly Link[],
  max: number,
  { weigh, open }: { readonly weigh: (id: string) => number; readonly open?: string | undefined },
): Folded {
  if (ids.length <= max) return { ids, links: edges, folds: new Map() };
  const layers = layersOf(ids, downwards(ids, edges));
  const depth = 1 + ids.reduce((deepest, id) => Math.max(deepest, layers.get(id) ?? 0), 0);
  const bands = Math.min(depth, Math.max(1, Math.floor(max / 6)));
  const drawnAs = new Map<string, string>();
  const folds = new Map<string, readonly string[]>();
  const drawn: string[] = [];
  const byBand = Map.groupBy(ids, (id) => Math.floor(((layers.get(id) ?? 0) * bands) / depth));
  const isOpen = (band: number): boolean => open === foldOf(band);
  const openRoom = [...byBand.keys()].some(isOpen) ? Math.floor(max / 2) : 0;
  const usualRoom = Math.max(1, Math.floor((max - openRoom) / byBand.size) - 1);
  for (const [band, members] of [...byBand].sort(([a], [b]) => a - b)) {
    const room = isOpen(band) ? openRoom : usualRoom;
    const visible =
      members.length <= room + 1 ? members : members.toSorted((a, b) => weigh(b) - weigh(a)).slice(0, room);
    const known = new Set(visible);
    const rest = members.filter((id) => !known.has(id));
    for (const id of visible) drawnAs.set(id, id);
    drawn.push(...visible);
    if (rest.length === 0) continue;
    for (const id of rest) drawnAs.set(id, foldOf(band));
    folds.set(foldOf(band), rest);
    drawn.push(foldOf(band));
  }
  const links = new Map<string, Link>();
  for (const edge of edges) {
    const [from, to] = [drawnAs.get(edge.from), drawnAs.get(edge.to)];
    if (from === undefined || to === undefined || (from === to && folds.has(from))) continue;
    links.set(`${from}\n${to}`, folds.has(from) || folds.has(to) ? { from, to } : edge);
  }
  return { ids: drawn, links: [...links.values()], folds };
}
