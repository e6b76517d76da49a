/** A graph as a picture: what each node is doing, how often it was visited, and which edges were taken. */
import type { JSX } from 'preact';
import { useMemo } from 'preact/hooks';
import type { Structure, StructureEdge } from '../data/types.ts';
import { MarkIn } from '../parts/icons.tsx';
import { count, countOf, effectWords, toneWords, type Tone } from '../words.ts';
import { foldGraph, layOut, type Link, type PlacedEdge, type Spot } from './layout.ts';

export interface DrawnNode {
  readonly tone: Tone;
  readonly visits: number;
}

export interface PictureProps {
  readonly structure: Structure;
  readonly nodes: ReadonlyMap<string, DrawnNode>;
  /** Edges that were taken, as `FROM\nTO`. */
  readonly taken: ReadonlySet<string>;
  readonly selected: string | undefined;
  readonly linkTo: (id: string) => string;
  /** The fold that is opened. */
  readonly unfolded: string | undefined;
}

const sizes = { node: { width: 172, height: 38 }, gapX: 22, gapY: 30 };
const margin = 10;
/** Nodes that are drawn at most: more would be no picture, but a texture. */
const drawnMax = 120;
/** Above this, edges are drawn together and nodes without their smaller parts. */
const fineMax = 60;
/** Failed, doubtful and open ones are seen first. */
const weights: Partial<Record<Tone, number>> = {
  failed: 6,
  doubt: 5,
  waiting: 4,
  running: 3,
  sleeping: 2,
  completed: 1,
};

const isPlace = (id: string): boolean => id.startsWith('__');

function curve(points: readonly Spot[]): string {
  const [first, ...rest] = points;
  if (first === undefined) return '';
  let at = first;
  let path = `M${at.x.toFixed(1)} ${at.y.toFixed(1)}`;
  rest.forEach((to) => {
    const middle = ((at.y + to.y) / 2).toFixed(1);
    path +=
      Math.abs(at.x - to.x) < 0.5
        ? `L${to.x.toFixed(1)} ${to.y.toFixed(1)}`
        : `C${at.x.toFixed(1)} ${middle} ${to.x.toFixed(1)} ${middle} ${to.x.toFixed(1)} ${to.y.toFixed(1)}`;
    at = to;
  });
  return path;
}

/** The head of an arrow: up, if the edge leads back. */
function headOf({ points, isBack }: PlacedEdge<Link>): string {
  const end = points.at(-1);
  if (end === undefined) return '';
  const dy = isBack ? 6 : -6;
  return `M${end.x - 4} ${end.y + dy}L${end.x} ${end.y}L${end.x + 4} ${end.y + dy}`;
}

/** What a text of this length shows of a name; the whole is in its title. */
const shorten = (text: string, length: number): string =>
  text.length <= length ? text : `${text.slice(0, length - 1)}…`;

export function Picture({ structure, nodes, taken, selected, linkTo, unfolded }: PictureProps): JSX.Element {
  const { drawn, layout, folds } = useMemo(() => {
    const ids = structure.nodes.map(({ id }) => id);
    const starts = structure.edges.filter(({ from }) => from === '__start__').map(({ to }) => to);
    const ordered = [...new Set([...starts, ...ids])];
    const inner = structure.edges.filter(({ from, to }) => !isPlace(from) && !isPlace(to));
    const unique = [...new Map(inner.map((edge) => [`${edge.from}\n${edge.to}`, edge])).values()];
    const weigh = (id: string): number => (id === selected ? 9 : (weights[nodes.get(id)?.tone ?? 'idle'] ?? 0));
    const folded = foldGraph(ordered, unique, drawnMax, { weigh, open: unfolded });
    return { drawn: folded.ids, folds: folded.folds, layout: layOut(folded.ids, folded.links, sizes) };
    // A graph of usual size is placed once, however its nodes stand.
  }, [structure, unfolded, structure.nodes.length > drawnMax ? weightsOf(nodes, selected) : undefined]);
  const isFine = drawn.length <= fineMax;
  const types = useMemo(() => new Map(structure.nodes.map((node) => [node.id, node])), [structure]);
  const loops = structure.edges.filter(({ from, to }) => from === to);
  const width = layout.width + 2 * margin + (loops.length > 0 ? 20 : 0);
  const height = layout.height + 2 * margin;
  return (
    <svg
      class="picture"
      width={width}
      height={height}
      viewBox={`${-margin} ${-margin} ${width} ${height}`}
      role="group"
      aria-label={`Graph of ${countOf(structure.nodes.length, 'node')}`}
    >
      {!isFine && <CoarseEdges edges={layout.edges} taken={taken} />}
      {(isFine ? layout.edges : []).map((placed) => {
        const { edge, isBack } = placed;
        const isTaken = taken.has(`${edge.from}\n${edge.to}`);
        return (
          <g class={`edge${isTaken ? ' taken' : ''}${isBack ? ' back' : ''}`}>
            <path d={curve(placed.points)} />
            <path d={headOf(placed)} />
            <EdgeLabel edge={edge} points={placed.points} />
          </g>
        );
      })}
      {loops.map((edge) => {
        const spot = layout.spots.get(edge.from);
        return spot === undefined ? null : (
          <g class={`edge back${taken.has(`${edge.from}\n${edge.to}`) ? ' taken' : ''}`}>
            <path d={`M${spot.x + 86} ${spot.y - 8}c22 -6 22 22 0 16`} />
          </g>
        );
      })}
      {drawn.map((id) => {
        const spot = layout.spots.get(id);
        if (spot === undefined) return null;
        const fold = folds.get(id);
        if (fold !== undefined)
          return <FoldBox key={id} spot={spot} tones={tonesOf(fold, nodes)} size={fold.length} link={linkTo(id)} />;
        const node = types.get(id);
        return (
          <NodeBox
            key={id}
            id={id}
            spot={spot}
            drawn={nodes.get(id) ?? { tone: 'idle', visits: 0 }}
            effect={node?.effect ?? ''}
            inner={node?.subgraph?.nodes.length ?? 0}
            isSelected={id === selected}
            isFine={isFine}
            link={linkTo(id)}
          />
        );
      })}
    </svg>
  );
}

function EdgeLabel({
  edge,
  points,
}: {
  readonly edge: Partial<StructureEdge>;
  readonly points: readonly Spot[];
}): JSX.Element | null {
  const { label, to, on } = edge;
  const text = label !== undefined && label !== to ? label : on === 'failed' ? 'if it fails' : '';
  const [from, next] = points;
  if (text === '' || from === undefined || next === undefined) return null;
  return (
    <text class="edge-label" x={(from.x + next.x) / 2} y={(from.y + next.y) / 2 + 3}>
      <title>{text}</title>
      {shorten(text, 22)}
    </text>
  );
}

/** Edges of a large graph: one line for those that were taken, and one for the others. */
function CoarseEdges({
  edges,
  taken,
}: {
  readonly edges: readonly PlacedEdge<Link>[];
  readonly taken: ReadonlySet<string>;
}): JSX.Element {
  const isTaken = ({ edge }: PlacedEdge<Link>): boolean => taken.has(`${edge.from}\n${edge.to}`);
  const pathOf = (some: readonly PlacedEdge<Link>[]): string =>
    some.map((placed) => curve(placed.points) + headOf(placed)).join('');
  return (
    <>
      <g class="edge">
        <path d={pathOf(edges.filter((placed) => !isTaken(placed)))} />
      </g>
      <g class="edge taken">
        <path d={pathOf(edges.filter(isTaken))} />
      </g>
    </>
  );
}

/** What a placing depends on: which nodes stand out, and not how often each was visited. */
function weightsOf(nodes: ReadonlyMap<string, DrawnNode>, selected: string | undefined): string {
  let text = selected ?? '';
  for (const [id, { tone }] of nodes) if ((weights[tone] ?? 0) > 1) text += ` ${id} ${tone}`;
  return text;
}

/** How many nodes of a fold stand in each way, what needs to be seen first. */
function tonesOf(ids: readonly string[], nodes: ReadonlyMap<string, DrawnNode>): readonly (readonly [Tone, number])[] {
  const counts = new Map<Tone, number>();
  for (const id of ids) {
    const { tone } = nodes.get(id) ?? { tone: 'idle' as Tone };
    counts.set(tone, (counts.get(tone) ?? 0) + 1);
  }
  return [...counts].sort(([a], [b]) => (weights[b] ?? 0) - (weights[a] ?? 0));
}

interface FoldBoxProps {
  readonly spot: Spot;
  readonly size: number;
  readonly tones: readonly (readonly [Tone, number])[];
  readonly link: string;
}

function FoldBox({ spot, size, tones, link }: FoldBoxProps): JSX.Element {
  const words = tones.map(([tone, times]) => `${times} ${toneWords[tone]}`).join(', ');
  return (
    <a
      href={link}
      class="box fold"
      data-tone={tones[0]?.[0]}
      aria-label={`${countOf(size, 'more node')}: ${words}; show them`}
    >
      <title>{words}</title>
      <rect x={spot.x - 56} y={spot.y - 14} width="112" height="28" rx="14" />
      <text x={spot.x} y={spot.y + 4} text-anchor="middle">{`${count(size)} more`}</text>
    </a>
  );
}

interface NodeBoxProps {
  readonly id: string;
  readonly spot: Spot;
  readonly drawn: DrawnNode;
  readonly effect: string;
  /** Nodes within it. */
  readonly inner: number;
  readonly isSelected: boolean;
  /** Whether its smaller parts are drawn. */
  readonly isFine: boolean;
  readonly link: string;
}

function NodeBox(props: NodeBoxProps): JSX.Element {
  const { id, spot, drawn, effect, inner, isSelected, isFine, link } = props;
  const { tone, visits } = drawn;
  const { width, height } = sizes.node;
  const [x, y] = [spot.x - width / 2, spot.y - height / 2];
  const more = [...(visits > 1 ? [`×${count(visits)}`] : []), ...(inner > 0 ? [`⊞ ${count(inner)}`] : [])].join(' ');
  const acts = isFine && (effect === 'external' || effect === 'write');
  const words = [
    id,
    toneWords[tone],
    ...(visits > 1 ? [`${visits} visits`] : []),
    effectWords[effect] ?? '',
    ...(inner > 0 ? [`${inner} nodes within`] : []),
  ];
  return (
    <a
      href={link}
      class={`box${isSelected ? ' selected' : ''}`}
      data-tone={tone}
      aria-label={words.filter(Boolean).join(', ')}
      aria-current={isSelected ? 'true' : undefined}
    >
      {isFine && <title>{words.filter(Boolean).join(', ')}</title>}
      <rect x={x} y={y} width={width} height={height} rx="7" />
      {acts && <path class="acts" d={`M${x + 7} ${y + height}h${width - 14}`} />}
      {(isFine || (tone !== 'idle' && tone !== 'completed')) && <MarkIn tone={tone} x={x + 11} y={spot.y - 7} />}
      <text x={x + 33} y={spot.y + 4.5}>
        {shorten(id, more === '' ? 18 : 14)}
      </text>
      {more !== '' && (
        <text class="more" x={x + width - 10} y={spot.y + 4.5} text-anchor="end">
          {more}
        </text>
      )}
    </a>
  );
}
