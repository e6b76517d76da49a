/** The tree of a run and its forks as lines, newest first: a column for each run, and its fork point. */
import type { GraphRunsOutput } from '../../operations/runs/graph-runs.ts';

type Run = GraphRunsOutput['runs'][number];

/** A line: what is drawn, and the checkpoint it stands for. */
export interface GraphLine {
  readonly drawing: string;
  readonly run: Run;
  readonly seq: number;
  readonly isHead: boolean;
}

interface Lane {
  readonly run: Run;
  readonly column: number;
  /** Seqs between which its line is drawn: from its head down to where it leaves its original. */
  readonly to: number;
  readonly from: number;
}

/** Two runs share a column where neither's line meets the other's; the oldest ancestor has the first to itself. */
function layOut(runs: readonly Run[]): ReadonlyMap<string, Lane> {
  const lanes = new Map<string, Lane>();
  for (const run of runs) {
    const isRoot = lanes.size === 0;
    const [from, to] = [run.parent?.seq ?? 0, run.head];
    const others = [...lanes.values()].filter((lane) => lane.column > 0 && lane.from <= to && from <= lane.to);
    const taken = new Set(others.map(({ column }) => column));
    let column = isRoot ? 0 : 1;
    while (taken.has(column)) column += 1;
    lanes.set(run.runId, { run, column, from: isRoot ? -1 : from, to });
  }
  return lanes;
}

interface Point {
  readonly lane: Lane;
  readonly seq: number;
  readonly forks: readonly Lane[];
}

function pointsOf(lanes: ReadonlyMap<string, Lane>): readonly Point[] {
  const points = [...lanes.values()].flatMap((lane): readonly Point[] => {
    const forks = [...lanes.values()].filter(({ run }) => run.parent?.runId === lane.run.runId);
    const seqs = new Set([lane.to, ...lane.run.tags.map(({ seq }) => seq), ...forks.map(({ from }) => from)]);
    return [...seqs].map((seq) => ({ lane, seq, forks: forks.filter(({ from }) => from === seq) }));
  });
  return points.sort((a, b) => b.seq - a.seq || a.lane.column - b.lane.column);
}

function draw({ lane, seq, forks }: Point, lanes: readonly Lane[]): string {
  const width = 1 + Math.max(lane.column, ...forks.map(({ column }) => column), ...lanes.map(({ column }) => column));
  const cells = Array.from({ length: width * 2 - 1 }, () => ' ');
  for (const { column, from, to } of lanes) if (from < seq && seq <= to) cells[column * 2] = '│';
  const ends = forks.map(({ column }) => column);
  const [left, right] = [Math.min(lane.column, ...ends) * 2, Math.max(lane.column, ...ends) * 2];
  for (let at = left; at <= right; at++) {
    if (ends.includes(at / 2)) cells[at] = at === right ? '╯' : at === left ? '╰' : '┴';
    else cells[at] = cells[at] === '│' ? '┼' : '─';
  }
  cells[lane.column * 2] = lane.run.isCurrent && seq === lane.to ? '◉' : seq === lane.to ? '●' : '○';
  return cells.join('').trimEnd();
}

/** Newest first. */
export function graphLines(runs: readonly Run[]): readonly GraphLine[] {
  const lanes = layOut(runs);
  const all = [...lanes.values()];
  return pointsOf(lanes).map((point) => ({
    drawing: draw(point, all),
    run: point.lane.run,
    seq: point.seq,
    isHead: point.seq === point.lane.to,
  }));
}
