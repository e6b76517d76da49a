/** Identifies the visit that a part of a change belongs to: the node's visit, those of the nodes around it and, for a step, the number of saves (X1, X2). */
import type { RunTree } from '../../state/tree.ts';
import type { Activation } from '../live-run/loop.ts';
import { recordIn } from './step-record.ts';
import type { ChangePart } from '../../history/stored/change.ts';

/** Absent fields mean the first visit, first visits around it, and no saves. */
export type VisitPart = Pick<ChangePart, 'visit' | 'outer' | 'saves'>;

function visitPart(outer: readonly number[], visit: number, saves: number): VisitPart {
  return {
    ...(visit > 1 ? { visit } : {}),
    ...(outer.some((above) => above > 1) ? { outer } : {}),
    ...(saves > 0 ? { saves } : {}),
  };
}

/** The visit of an activation, and of its next step. */
export function visitOf({ frameRun, node, visit }: Activation): VisitPart {
  return visitPart(frameRun.outerVisits, visit, frameRun.openRecordOf(node)?.saves ?? 0);
}

/** The visit in a node's record in a tree. */
export function visitAt(root: RunTree, nodePath: readonly string[]): VisitPart {
  // Paths alternate between node ids and names of child runs.
  const places = nodePath.map((_, index) => nodePath.slice(0, index + 1)).filter((_, index) => index % 2 === 0);
  const records = places.map((place) => recordIn(root, place));
  const visits = records.map((record) => record?.visits ?? 1);
  return visitPart(visits.slice(0, -1), visits.at(-1) ?? 1, records.at(-1)?.saves ?? 0);
}

/** A key for a visit of a node, or for a step of it, in tables. Records of different visits must not be mixed. */
export function placeOf(path: readonly string[], { visit = 1, outer, saves = 0 }: VisitPart, step?: string): string {
  const node = JSON.stringify(outer === undefined ? [path, visit] : [path, visit, outer]);
  return step === undefined ? node : `${node} ${saves} ${step}`;
}

/** The key of an activation, or of its next step. */
export function placeIn(activation: Activation, step?: string): string {
  return placeOf(activation.path, visitOf(activation), step);
}
