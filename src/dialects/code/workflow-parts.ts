/** What each part of a workflow lays: one node, a branch with its arms, or arms side by side with their join. */
import type { Condition, Join, NodeDefinition, Reducer } from '../../graph/graph.ts';
import { defineNode, type AnyWork, type NodeSettings } from './node-draft.ts';
import { asChoice, type Choose } from './predicate.ts';
import type { Layout, Trail } from './trail.ts';

/** Lays something at the end of a trail. */
export type Part = (trail: Trail) => void;

/** Options of a branch. */
export interface BranchSettings {
  /** Id of the node that decides. Default: the id of the step before it and `_branch`. */
  readonly id?: string;
  /** Change it when the function's meaning changes. */
  readonly version?: string;
}

/** Options of a parallel part. */
export interface ParallelSettings {
  /** What the next step waits for: every arm, one of them, or so many. Default `all`. */
  readonly join?: 'all' | 'any' | { readonly quorum: number };
  /** Cancel what is still running when enough arms are done. Default true; only with `any` or a quorum. */
  readonly cancelRest?: boolean;
  /** Reducers by dotted path, for what the arms write side by side. */
  readonly merge?: Readonly<Record<string, Reducer>>;
  /** Id of the node that waits. Default: the id of the step before it and `_join`. */
  readonly id?: string;
}

const branchSettingNames = ['id', 'version'] as const satisfies readonly (keyof BranchSettings)[];
const parallelSettingNames = [
  'join',
  'cancelRest',
  'merge',
  'id',
] as const satisfies readonly (keyof ParallelSettings)[];

/** One step. Its output is an artifact under its id unless the draft or the settings name another. */
export function layStep(
  id: string,
  work: AnyWork,
  settings: NodeSettings<never> | undefined,
  place: string | undefined,
): Part {
  return (trail) => trail.lay({ outputAs: id, ...defineNode(id, work, settings, place, trail.layout) });
}

/** A router that does nothing itself: its edges choose, so a fork with another state chooses anew (H2). */
export function layBranch(
  choose: Choose<never, string>,
  arms: ReadonlyMap<string, Part>,
  settings: BranchSettings,
  place: string | undefined,
): Part {
  return (trail) => {
    const { id = `${trail.name}_branch`, version } = settings;
    const { faults } = trail.layout;
    faults.addUnknownOptions(settings, branchSettingNames, `branch ${id}`, place);
    if (arms.size === 0)
      faults.add({
        rule: 'G7',
        place,
        message: `branch ${id} has no arms`,
        fix: 'give one for each key that it may choose',
      });
    trail.lay(idleNode(id, 'router', place));
    const choice = asChoice(choose, choose.name === '' ? id : choose.name, version);
    trail.gather(walkArms(arms, (key) => trail.split(key, choice)));
  };
}

/** Arms from the same ends, and a node that joins them. */
export function layParallel(
  arms: ReadonlyMap<string, Part>,
  settings: ParallelSettings,
  place: string | undefined,
): Part {
  return (trail) => {
    const { id = `${trail.name}_join`, merge } = settings;
    const { faults, nodes } = trail.layout;
    faults.addUnknownOptions(settings, parallelSettingNames, `parallel ${id}`, place);
    if (arms.size === 0)
      faults.add({ rule: 'G7', place, message: `parallel ${id} has no arms`, fix: 'give at least one' });
    addReducers(trail, merge ?? {}, id, place);
    const join = joinOf(settings, arms.size, (message, fix) =>
      faults.add({ rule: 'G9', place, message: `parallel ${id}: ${message}`, fix }),
    );
    const nodesBefore = nodes.length;
    const ends = walkArms(arms, (key) => trail.split(key));
    for (const [index, end] of ends.entries()) {
      // A join counts edges, so an arm must end in one: the arms of a branch inside it are gathered first.
      if (end.isForked) end.lay(idleNode(`${[...arms.keys()][index]}_end`, 'join', place));
    }
    const armNodes = nodes.slice(nodesBefore);
    trail.gather(ends);
    trail.lay({ ...idleNode(id, 'join', place), join });
    if (typeof join === 'object' && join.cancelRest === true) tieToJoin(trail.layout, armNodes, id);
  };
}

const never: Condition = { text: 'false', evaluate: () => false };

/** A join cancels the sources of its edges. Edges that never fire make every step of an arm such a source, not only its last. */
function tieToJoin({ edges }: Layout, armNodes: readonly NodeDefinition[], to: string): void {
  const tied = new Set(edges.filter((edge) => edge.to === to).map(({ from }) => from));
  for (const { id: from, place } of armNodes) {
    if (!tied.has(from)) edges.push({ from, to, condition: never, ...(place === undefined ? {} : { place }) });
  }
}

function walkArms(arms: ReadonlyMap<string, Part>, begin: (key: string) => Trail): readonly Trail[] {
  return [...arms].map(([key, part]) => {
    const trail = begin(key);
    part(trail);
    return trail;
  });
}

function joinOf(
  { join = 'all', cancelRest }: ParallelSettings,
  armCount: number,
  report: (message: string, fix: string) => void,
): Join {
  if (join === 'all') {
    if (cancelRest !== undefined)
      report('cancelRest has no effect with join all', "leave it out, or join 'any' or a quorum");
    return 'all';
  }
  const first = join === 'any' ? 1 : join?.quorum;
  if (!Number.isInteger(first) || first < 1 || first > armCount) {
    report(
      `join ${JSON.stringify(join)} does not fit ${armCount} arms`,
      `use 'all', 'any' or { quorum: n } with n from 1 to ${armCount}`,
    );
    return 'all';
  }
  return { first, cancelRest: cancelRest ?? true };
}

function addReducers(
  trail: Trail,
  merge: Readonly<Record<string, Reducer>>,
  id: string,
  place: string | undefined,
): void {
  const { reducers, faults } = trail.layout;
  for (const [path, reducer] of Object.entries(merge)) {
    const other = reducers.get(path);
    if (other !== undefined && other !== reducer) {
      faults.add({
        rule: 'G9',
        place,
        message: `parallel ${id} gives ${path} a second reducer`,
        fix: 'a channel has one reducer in the whole workflow',
      });
    }
    reducers.set(path, reducer);
  }
}

function idleNode(id: string, type: string, place: string | undefined): NodeDefinition {
  return {
    id,
    type,
    effect: 'pure',
    implementation: { run: () => undefined },
    ...(place === undefined ? {} : { place }),
  };
}
