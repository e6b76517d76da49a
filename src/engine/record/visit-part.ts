/** Which visit a part of a change is of: its node's, and those of the nodes above it; of a step, also after how many saves (X1, X2). */
import type { ChangePart } from '../../history/stored/change.ts';
import type { RunTree } from '../../state/tree.ts';
import type { Activation } from '../run/frame-run.ts';
import { recordIn } from './step-record.ts';

/** What is left out is a first visit, below first visits, before any save. */
export type VisitPart = Pick<ChangePart, 'visit' | 'outer' | 'saves'>;

function visitPart(visits: readonly number[], saves: number): VisitPart {
  const outer = visits.slice(0, -1);
  const visit = visits.at(-1) ?? 1;
  return {
    ...(visit > 1 ? { visit } : {}),
    ...(outer.some((above) => above > 1) ? { outer } : {}),
    ...(saves > 0 ? { saves } : {}),
  };
}

/** The visit of an activation, and of its next step. */
export function visitOf({ frameRun, node, visit }: Activation): VisitPart {
  return visitPart([...frameRun.outerVisits, visit], frameRun.openRecordOf(node)?.saves ?? 0);
}

/** The visit that a node's record in a tree is of. */
export function visitAt(root: RunTree, nodePath: readonly string[]): VisitPart {
  // Node ids and the names of child runs take turns.
  const places = nodePath.map((_, index) => nodePath.slice(0, index + 1)).filter((_, index) => index % 2 === 0);
  const records = places.map((place) => recordIn(root, place));
  return visitPart(
    records.map((record) => record?.visits ?? 1),
    records.at(-1)?.saves ?? 0,
  );
}

/** Names a visit of a node, or a step of it, in a table: what is recorded of one visit is no matter of another. */
export function placeOf(path: readonly string[], { visit = 1, outer, saves = 0 }: VisitPart, step?: string): string {
  const node = JSON.stringify(outer === undefined ? [path, visit] : [path, visit, outer]);
  return step === undefined ? node : `${node} ${saves} ${step}`;
}

/** The place of an activation, or of a step that it takes next. */
export function placeIn(activation: Activation, step?: string): string {
  return placeOf(activation.path, visitOf(activation), step);
}
