/** The parts that a workflow is made of: a step, a branch with its arms, and parallel arms with their join. */
import type { Condition, Join, NodeDefinition, Reducer } from '../../graph/graph.ts';
import {
  defineNode,
  type AnyWork,
  type NodeSettings,
  asChoice,
  type Choose,
  type Layout,
  type Trail,
} from './graph-parts.ts';

/** Adds one part of a workflow to the end of a trail. */
export type Part = (trail: Trail) => void;

/** Options of a branch. */
export interface BranchSettings {
  /** Id of the node that decides. Default: the previous step's id with `_branch` added. */
  readonly id?: string;
  /** Change this when the function's meaning changes; the graph's hash depends on it. */
  readonly version?: string;
}

/** Options of a parallel part. */
export interface ParallelSettings {
  /** What the next step waits for: every arm, any one of them, or a number of them. Default `all`. */
  readonly join?: 'all' | 'any' | { readonly quorum: number };
  /** Cancel the remaining arms when enough are done. Used with `any` or a quorum. Default true. */
  readonly cancelRest?: boolean;
  /** Reducers by dotted path, for channels that several arms write. */
  readonly merge?: Readonly<Record<string, Reducer>>;
  /** Id of the node that joins the arms. Default: the previous step's id with `_join` added. */
  readonly id?: string;
}

const branchSettingNames = ['id', 'version'] as const satisfies readonly (keyof BranchSettings)[];
const parallelSettingNames = [
  'join',
  'cancelRest',
  'merge',
  'id',
] as const satisfies readonly (keyof ParallelSettings)[];

/** Adds one step. Its output becomes an artifact under the step's id, unless the draft or the settings give another name. */
export function layStep(
  id: string,
  work: AnyWork,
  settings: NodeSettings<never> | undefined,
  place: string | undefined,
): Part {
  return (trail) => trail.lay({ outputAs: id, ...defineNode(id, work, settings, place, trail.layout) });
}

/** Adds a branch: a router node that does nothing but route. Its edges hold the choice, so a fork with changed state chooses again (H2). */
export function layBranch(
  choose: Choose<never, string>,
  arms: ReadonlyMap<string, Part>,
  settings: BranchSettings,
  place: string | undefined,
): Part {
  return (trail) => {
    const { id = `${trail.name}_branch`, version } = settings;
    const { faults } = trail.layout;
    faults.checkOptions(settings, branchSettingNames, `branch ${id}`, place);
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

/** Adds arms that start from the same place, and a node that joins them. */
export function layParallel(
  arms: ReadonlyMap<string, Part>,
  settings: ParallelSettings,
  place: string | undefined,
): Part {
  return (trail) => {
    const { id = `${trail.name}_join`, merge } = settings;
    const { faults, nodes } = trail.layout;
    faults.checkOptions(settings, parallelSettingNames, `parallel ${id}`, place);
    if (arms.size === 0)
      faults.add({ rule: 'G7', place, message: `parallel ${id} has no arms`, fix: 'give at least one' });
    addReducers(trail, merge ?? {}, id, place);
    const join = joinOf(settings, arms.size, (message, fix) =>
      faults.add({ rule: 'G9', place, message: `parallel ${id}: ${message}`, fix }),
    );
    const nodesBefore = nodes.length;
    const ends = walkArms(arms, (key) => trail.split(key));
    for (const [index, end] of ends.entries()) {
      // A join counts edges, so each arm must end in exactly one. If an arm ends in a branch, its ends are gathered first.
      if (end.isForked) end.lay(idleNode(`${[...arms.keys()][index]}_end`, 'join', place));
    }
    const armNodes = nodes.slice(nodesBefore);
    trail.gather(ends);
    trail.lay({ ...idleNode(id, 'join', place), join });
    if (typeof join === 'object' && join.cancelRest === true) tieToJoin(trail.layout, armNodes, id);
  };
}

const never: Condition = { text: 'false', evaluate: () => false };

/**
 * Adds an edge that never fires from every step of the arms to the join. A join cancels the sources of its incoming edges, and so it can
 * cancel any step of an arm, not only the last.
 */
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
