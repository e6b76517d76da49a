/** A graph as a picture: what each node is doing, how often it was visited, and which edges were taken. */
import { h, type JSX, type VNode } from 'preact';
import { useMemo } from 'preact/hooks';
import {
  drawGraph,
  placeGraph,
  type Drawing,
  type DrawnEdge,
  type DrawnNode,
  type Paint,
} from '../../src/graph/drawing/draw-graph.ts';
import { foldGraph, type Folded, type Link } from '../../src/graph/drawing/layout.ts';
import type { Structure, StructureNode } from '../data/types.ts';
import { actsOutside, edgeWords, labelOfNode, type NodeStanding } from './nodes.ts';
import { count, countOf, effectWords, toneWords, type Tone } from '../words.ts';

type Standings = ReadonlyMap<string, NodeStanding>;

export interface PictureProps {
  readonly structure: Structure;
  readonly nodes: Standings;
  /** Edges that were taken, as `FROM\nTO`. */
  readonly taken: ReadonlySet<string>;
  readonly selected: string | undefined;
  readonly linkTo: (id: string) => string;
  /** The fold that is opened. */
  readonly unfolded: string | undefined;
}

/** Nodes that are drawn at most: more would be no picture, but a texture. */
const drawnMax = 120;
/** Above this, edges are drawn together and nodes without their smaller parts. */
const fineMax = 60;
/** Letters of a name that fit beside what stands at the right; the whole is in its title. */
const nameMax = 18;
const labelMax = 28;
/** Failed, doubtful and open ones are seen first. */
const weights: Partial<Record<Tone, number>> = {
  failed: 6,
  doubt: 5,
  waiting: 4,
  running: 3,
  sleeping: 2,
  completed: 1,
};
const idle: NodeStanding = { tone: 'idle', visits: 0 };

const isPlace = (id: string): boolean => id.startsWith('__');
const shorten = (text: string, length: number): string =>
  text.length <= length ? text : `${text.slice(0, length - 1)}…`;

/** What a placing depends on: which nodes stand out, and not how often each was visited. */
function weightsOf(nodes: Standings, selected: string | undefined): string {
  let text = selected ?? '';
  for (const [id, { tone }] of nodes) if ((weights[tone] ?? 0) > 1) text += ` ${id} ${tone}`;
  return text;
}

function foldOf(
  { nodes, edges }: Structure,
  standings: Standings,
  selected: string | undefined,
  open?: string,
): Folded {
  const starts = edges.filter(({ from }) => from === '__start__').map(({ to }) => to);
  const ids = [...new Set([...starts, ...nodes.map(({ id }) => id)])];
  const inner = edges.filter(({ from, to }) => !isPlace(from) && !isPlace(to));
  const unique = [...new Map(inner.map((edge) => [`${edge.from}\n${edge.to}`, edge])).values()];
  const weigh = (id: string): number => (id === selected ? 9 : (weights[standings.get(id)?.tone ?? 'idle'] ?? 0));
  return foldGraph(ids, unique, drawnMax, { weigh, open });
}

const labelled = ({ from, to }: Link, title: string): DrawnEdge => ({
  from,
  to,
  text: shorten(title, labelMax),
  title,
});

/** How many nodes of a fold stand in each way, what needs to be seen first. */
function tonesOf(ids: readonly string[], nodes: Standings): readonly (readonly [Tone, number])[] {
  const counts = new Map<Tone, number>();
  for (const id of ids) {
    const { tone } = nodes.get(id) ?? idle;
    counts.set(tone, (counts.get(tone) ?? 0) + 1);
  }
  return [...counts].sort(([a], [b]) => (weights[b] ?? 0) - (weights[a] ?? 0));
}

function drawnFold(id: string, ids: readonly string[], nodes: Standings): DrawnNode {
  const tones = tonesOf(ids, nodes);
  const words = tones.map(([tone, times]) => `${times} ${toneWords[tone]}`).join(', ');
  const title = `${countOf(ids.length, 'more node')}: ${words}; show them`;
  return { id, kind: 'fold', lines: [`${count(ids.length)} more`], tone: tones[0]?.[0], title };
}

function drawnNode(id: string, node: StructureNode | undefined, { tone, visits }: NodeStanding): DrawnNode {
  const { effect = '', subgraph } = node ?? {};
  const inner = subgraph?.nodes.length ?? 0;
  const name = labelOfNode(node) ?? id;
  const more = [...(visits > 1 ? [`×${count(visits)}`] : []), ...(inner > 0 ? [`⊞ ${count(inner)}`] : [])].join(' ');
  const seen = shorten(name, more === '' ? nameMax : nameMax - 4);
  const words = [
    // What is seen comes first, so that it can be spoken.
    more === '' ? seen : `${seen} ${more}`,
    ...(seen === name ? [] : [name]),
    ...(name === id ? [] : [id]),
    toneWords[tone],
    ...(visits > 1 ? [`${visits} visits`] : []),
    effectWords[effect] ?? '',
    ...(inner > 0 ? [`${inner} nodes within`] : []),
  ];
  return {
    id,
    kind: 'node',
    lines: [seen],
    tone,
    more,
    title: words.filter(Boolean).join(', '),
    acts: node !== undefined && actsOutside(node),
  };
}

/** The page's style sheet says how each part looks. */
const paint: Paint = (part) => ({ class: part });

export function Picture({ structure, nodes, taken, selected, linkTo, unfolded }: PictureProps): JSX.Element {
  // A graph of usual size is placed once, however its nodes stand.
  const standsOut = structure.nodes.length > drawnMax ? weightsOf(nodes, selected) : undefined;
  const known = useMemo(() => {
    const folded = foldOf(structure, nodes, selected, unfolded);
    const types = new Map(structure.nodes.map((node) => [node.id, node]));
    const loops = structure.edges.filter(({ from, to }) => from === to);
    const isCoarse = folded.ids.length > fineMax;
    const links = [...folded.links, ...loops.filter(({ from }) => !folded.folds.has(from))];
    const words = edgeWords(structure.edges);
    const edges = links.map((link) =>
      isCoarse ? { from: link.from, to: link.to } : labelled(link, words.get(link) ?? ''),
    );
    const shown = (id: string): DrawnNode =>
      folded.folds.has(id) ? drawnFold(id, [], nodes) : drawnNode(id, types.get(id), idle);
    return { folded, types, edges, isCoarse, placed: placeGraph({ nodes: folded.ids.map(shown), edges }) };
  }, [structure, unfolded, standsOut]);
  const { folded, types, edges, isCoarse, placed } = known;
  const drawing: Drawing = {
    edges,
    nodes: folded.ids.map((id) => {
      const fold = folded.folds.get(id);
      const drawn =
        fold === undefined ? drawnNode(id, types.get(id), nodes.get(id) ?? idle) : drawnFold(id, fold, nodes);
      return { ...drawn, href: linkTo(id), isSelected: id === selected };
    }),
  };
  return drawGraph<VNode>(drawing, placed, {
    make: (tag, attributes, children) => h(tag, attributes, ...children),
    paint,
    isCoarse,
    isTaken: ({ from, to }) => taken.has(`${from}\n${to}`),
    svg: { class: 'picture', role: 'group', 'aria-label': `Graph of ${countOf(structure.nodes.length, 'node')}` },
  });
}
