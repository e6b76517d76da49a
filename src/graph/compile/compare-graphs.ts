/** Decides whether a run may go on under a changed graph (H3). */
import { END, START, isFollowUp, type GraphStructure, type Graph } from '../graph.ts';
import { canonicalText } from '../canonical.ts';
import { loopIdsOf } from '../shape/link-graph.ts';
import { holdsOneToken } from '../shape/loops.ts';

/** Verdicts, from the mildest to the gravest. */
const verdicts = ['unchanged', 'compatible', 'needs-migration', 'needs-consent', 'refused'] as const;
type GraphVerdict = (typeof verdicts)[number];

/** Where a run, or child run, stands in its graph. */
export interface LivePositions {
  /** The nodes that the run has visited. */
  readonly nodes: readonly LiveNode[];
  /** Ids of the loops that are past their first round. */
  readonly loops?: readonly string[];
  /** How many rounds of loops were opened in it. */
  readonly epoch?: number;
  /** Paths of channels that hold a value. An added reducer matters only to these. */
  readonly channels?: readonly string[];
  /** `codeHash` of the graph under which the run was last advanced. */
  readonly codeHash?: string;
}

export interface LiveNode {
  readonly id: string;
  /** Whether a visit is in progress: started, waiting, or failed without being handled. */
  readonly isOpen: boolean;
  /** Whether an effect was started and its result is not recorded. */
  readonly hasIntent: boolean;
  /** Whether the visit in progress has done nothing but wait: for an answer, a signal or a time. */
  readonly onlyWaits?: boolean;
  /** Keys of the edges that its last visit fired. */
  readonly fired?: readonly string[];
  /** The child runs of the visit in progress (W6). */
  readonly children?: readonly LivePositions[];
}

export interface GraphDifference {
  /** The kind of difference in a few words: `node removed`, `reducer changed`, … */
  readonly what: string;
  /** Where the difference is; for a refusal also why. */
  readonly detail: string;
  /** The verdict if this were the only difference. */
  readonly verdict: GraphVerdict;
}

interface GraphComparison {
  readonly verdict: GraphVerdict;
  readonly differences: readonly GraphDifference[];
}

type Data = Readonly<Record<string, unknown>>;
type Add = (verdict: GraphVerdict, what: string, detail: string) => void;

const isSame = (a: unknown, b: unknown): boolean => canonicalText(a) === canonicalText(b);

/** Names of the fields in which two records differ. */
function changedFields(a: Data, b: Data): readonly string[] {
  return [...new Set([...Object.keys(a), ...Object.keys(b)])].filter((field) => !isSame(a[field], b[field])).sort();
}

/** Why a changed field is a problem for a visit in progress; undefined if the visit can go on. */
function reasonAgainst(live: LiveNode, fields: readonly string[]): string | undefined {
  if (fields.includes('type')) return 'its node type changed';
  if (fields.includes('effect')) return 'its effect class changed';
  const isOtherEffect = fields.includes('config') || fields.includes('version');
  if (live.hasIntent && isOtherEffect) return 'an effect of it may have happened under its old definition';
  return undefined;
}

function compareNode(add: Add, before: Data, after: Data, live: LiveNode | undefined): void {
  const id = String(before['id']);
  const fields = changedFields(before, after);
  const [old, now] = [before['subgraph'], after['subgraph']] as readonly (GraphStructure | undefined)[];
  // If the child run is in progress, its state must fit the changed child graph. Otherwise the child graph may change freely.
  const isNested =
    fields.includes('subgraph') && old !== undefined && now !== undefined && live?.children !== undefined;
  const own = isNested ? fields.filter((field) => field !== 'subgraph') : fields;
  if (isNested) {
    for (const child of live.children) {
      const inner: Add = (verdict, what, detail) => add(verdict, what, `${id} / ${detail}`);
      compareData(inner, old, now, child);
    }
  }
  if (own.length === 0) return;
  const detail = `${id}: ${own.join(', ')}`;
  const isLive = live !== undefined && (live.isOpen || live.hasIntent);
  const reason = isLive ? reasonAgainst(live, own) : undefined;
  if (reason === undefined) add('compatible', 'node changed', detail);
  else add('refused', 'node changed', `${detail}; a visit is under way and ${reason}`);
}

function compareNodes(add: Add, stored: GraphStructure, current: GraphStructure, live: LivePositions): void {
  const after = new Map(current.nodes.map((node) => [node['id'], node]));
  const positions = new Map(live.nodes.map((node) => [node.id, node]));
  for (const node of stored.nodes) {
    const id = String(node['id']);
    const position = positions.get(id);
    const now = after.get(id);
    if (now !== undefined) compareNode(add, node, now, position);
    else if (position !== undefined && (position.isOpen || position.hasIntent)) {
      if (position.onlyWaits === true) add('compatible', 'node removed', `${id}; what it waited for is closed`);
      else add('refused', 'node removed', `${id}; a visit to it is under way`);
    } else if (position === undefined) add('compatible', 'node removed', id);
    else add('compatible', 'node removed', `${id}; what it recorded is kept, and nobody reads it`);
  }
  comparePlaces(add, stored, current, live);
}

/** Tells which nodes are new, and which will never run: new ones where the run is past, and those moved there that were still to come. */
function comparePlaces(add: Add, stored: GraphStructure, current: GraphStructure, { nodes }: LivePositions): void {
  const before = new Set(stored.nodes.map(({ id }) => id));
  const isMovable = !isSame(stored.edges, current.edges);
  if (!isMovable && current.nodes.every(({ id }) => before.has(id))) return;
  const visited = new Set(nodes.map(({ id }) => id));
  const passed = passedNodes(current, nodes, routedAgain(stored, current, nodes));
  const passedBefore = passedNodes(stored, nodes);
  for (const node of current.nodes) {
    const id = String(node['id']);
    const isAdded = !before.has(id);
    const isMoved = isMovable && !isAdded && !visited.has(id) && !passedBefore.has(id);
    if (passed.has(id) && (isAdded || isMoved))
      add(
        hasEffect(node) ? 'needs-consent' : 'compatible',
        isAdded ? 'node added' : 'node moved',
        `${id}; the run is past it: it is never run`,
      );
    else if (isAdded) add('compatible', 'node added', id);
  }
}

/** Whether a node, or a node of its subgraph, has an effect on the outside. */
function hasEffect({ effect, subgraph }: Data): boolean {
  if (effect !== 'pure' && effect !== 'read') return true;
  return (subgraph as GraphStructure | undefined)?.nodes.some(hasEffect) === true;
}

const edgeName = (edge: Data): string => `${String(edge['from'])} -> ${String(edge['key'])}`;

function compareEdges(add: Add, stored: GraphStructure, current: GraphStructure): void {
  const name = (edge: Data): string => canonicalText([edge['from'], edge['key']]);
  const after = new Map(current.edges.map((edge) => [name(edge), edge]));
  const before = new Set(stored.edges.map(name));
  for (const edge of stored.edges) {
    const now = after.get(name(edge));
    if (now === undefined) add('compatible', 'edge removed', edgeName(edge));
    else if (!isSame(edge, now))
      add('compatible', 'edge changed', `${edgeName(edge)}: ${changedFields(edge, now).join(', ')}`);
  }
  for (const edge of current.edges) if (!before.has(name(edge))) add('compatible', 'edge added', edgeName(edge));
}

function compareState(add: Add, stored: GraphStructure, current: GraphStructure, live: LivePositions): void {
  const holds = (path: string): boolean =>
    live.channels?.some(
      (channel) => channel === path || channel.startsWith(`${path}.`) || path.startsWith(`${channel}.`),
    ) ?? false;
  for (const path of changedFields(stored.reducers, current.reducers)) {
    const isAdded = !Object.hasOwn(stored.reducers, path);
    if (isAdded && !holds(path)) add('compatible', 'reducer added', path);
    else
      add('needs-migration', isAdded ? 'reducer added' : 'reducer changed', `${path}, whose value was made without it`);
  }
  for (const part of changedFields(stored.schemas, current.schemas)) {
    const isRemoved = !Object.hasOwn(current.schemas, part);
    add(isRemoved ? 'compatible' : 'needs-migration', isRemoved ? 'schema removed' : 'schema changed', part);
  }
  const policies = changedFields({ ...stored.policies }, { ...current.policies });
  if (policies.length > 0) add('compatible', 'policies changed', policies.join(', '));
}

/**
 * A graph that holds one token is planned by other means than others (G11). A run may go from one kind to the other while it has been in
 * one place at a time, and nowhere twice: then the two see the same in it.
 */
function comparePlanning(add: Add, stored: GraphStructure, current: GraphStructure, live: LivePositions): void {
  const isOneToken = holdsOneToken(current);
  if (holdsOneToken(stored) === isOneToken) return;
  const { epoch = 0, nodes } = live;
  const isInOnePlace =
    nodes.every(({ fired = [] }) => fired.length <= 1) &&
    nodes.filter(({ isOpen }) => isOpen).length <= 1 &&
    // What fires always may have fired out of a node that has no record.
    stored.edges.every(({ always }) => always !== true);
  if (epoch === 0 && isInOnePlace) return;
  const where = epoch > 0 ? 'has gone round a loop' : 'is in several places';
  const what = isOneToken ? 'side by side no more' : 'side by side from now on';
  add('refused', what, `routing, joins or always edges; the run ${where}`);
}

/** Where one token is followed, its place does not depend on loops, and one that is gone is no hindrance. */
function compareLoops(add: Add, current: GraphStructure, { loops = [] }: LivePositions): void {
  if (loops.length === 0 || holdsOneToken(current)) return;
  const known = loopIdsOf(current);
  for (const id of loops)
    if (!known.has(id)) add('refused', 'loop removed', `${id}; the run is in a later round of it`);
}

function compareData(add: Add, stored: GraphStructure, current: GraphStructure, live: LivePositions): void {
  compareNodes(add, stored, current, live);
  compareEdges(add, stored, current);
  compareState(add, stored, current, live);
  comparePlanning(add, stored, current, live);
  compareLoops(add, current, live);
}

/**
 * Compares the stored structure of a run's graph with a new graph, by how far the run has come (H3). Lists all differences; the verdict
 * is that of the gravest.
 * - `unchanged`, `compatible`: the run goes on.
 * - `needs-migration`: it goes on after its state was migrated.
 * - `needs-consent`: effects were added, or moved, to places that the run has passed. It goes on if the caller agrees that they never run.
 * - `refused`: it cannot go on.
 */
export function compareStructures(stored: GraphStructure, current: Graph, live: LivePositions): GraphComparison {
  const differences: GraphDifference[] = [];
  const add: Add = (verdict, what, detail) => differences.push({ what, detail, verdict });
  if (stored.id !== current.id) add('refused', 'other graph', `the run is of ${stored.id}, not of ${current.id}`);
  compareData(add, stored, current.structure, live);
  if (live.codeHash !== undefined && live.codeHash !== current.codeHash) {
    add('compatible', 'code changed', 'the text of functions; what they did stays as recorded');
  }
  const verdict = verdicts.findLast((grade) => differences.some((difference) => difference.verdict === grade));
  return { verdict: verdict ?? 'unchanged', differences };
}

/** Nodes that are gone, and the new one that is the same but for its id, where there is one: it was probably renamed. */
export function probableRenames(stored: GraphStructure, current: Graph): ReadonlyMap<string, string> {
  const [before, now] = [stored, current.structure].map(({ nodes }) => new Set(nodes.map(({ id }) => String(id))));
  const formsOf = ({ nodes }: GraphStructure, code: GraphStructure['nodeCode'], others = new Set<string>()) =>
    nodes.flatMap(({ id, outputAs, ...rest }) => {
      const name = String(id);
      if (others.has(name)) return [];
      const form = canonicalText([rest, outputAs === id ? null : (outputAs ?? null), code?.[name] ?? null]);
      return [{ name, form }];
    });
  const gone = formsOf(stored, stored.nodeCode, now);
  const added = formsOf(current.structure, current.nodeCode, before);
  return new Map(
    gone.flatMap(({ name, form }) => {
      const same = added.filter((one) => one.form === form);
      const isOnly = same.length === 1 && gone.filter((one) => one.form === form).length === 1;
      return isOnly ? [[name, same[0]?.name ?? ''] as const] : [];
    }),
  );
}

// Finds the nodes of a changed graph that a run has already passed and that nothing still to come leads to, so that
// they will never run (H3).

/** How far a run has come at a node. */
interface Position {
  readonly id: string;
  readonly isOpen: boolean;
  /** Keys of the edges that its last visit fired. */
  readonly fired?: readonly string[];
}

/**
 * The nodes of `current` that the run can no longer reach, whether or not the run has visited them. Not those that follow its end.
 * @param current - the structure of the graph under which the run is to go on
 * @param again - the nodes from which it is routed anew: see {@link routedAgain}
 */
export function passedNodes(
  current: GraphStructure,
  positions: readonly Position[],
  again: ReadonlyMap<string, ReadonlySet<string>> = new Map(),
): ReadonlySet<string> {
  const targets = targetsOf(current);
  const known = new Map(positions.map((position) => [position.id, position]));
  const next = positions.filter(({ isOpen }) => isOpen).map(({ id }) => id);
  for (const edge of current.edges) {
    const [from, to] = [String(edge['from']), String(edge['to'])];
    if (again.has(from) && !known.has(to)) next.push(to);
    if (known.get(from)?.fired?.includes(String(edge['key'])) !== true) continue;
    // The edge fired and its target has not begun. In a loop, the target may have to begin once more.
    if (!known.has(to) || reachedFrom([to], targets).has(from)) next.push(to);
  }
  const ahead = reachedFrom(next, targets);
  const isPassed = (id: string): boolean => !ahead.has(id) && !isFollowUp(current.policies ?? {}, id);
  return new Set(current.nodes.map(({ id }) => String(id)).filter(isPassed));
}

/**
 * Where a run is routed anew because a node that is gone stands between what it has done and what is still to come: a visit to it is open,
 * or it has ended, and something that it led to has not begun.
 *
 * @returns the nodes before such ones, with the keys of their edges to them
 */
export function routedAgain(
  stored: GraphStructure,
  current: GraphStructure,
  positions: readonly Position[],
): ReadonlyMap<string, ReadonlySet<string>> {
  const known = new Map(positions.map((position) => [position.id, position]));
  const there = new Set([START, ...current.nodes.map(({ id }) => String(id))]);
  const leads = new Map<string, boolean>();
  const firedOf = (id: string): readonly Data[] =>
    stored.edges.filter(({ from, key }) => String(from) === id && known.get(id)?.fired?.includes(String(key)) === true);
  const isAhead = (id: string): boolean => {
    const position = known.get(id);
    if (position === undefined) return id !== END;
    if (there.has(id) || position.isOpen) return !there.has(id);
    const found = leads.get(id);
    if (found !== undefined) return found;
    // A way back to it leads nowhere else.
    leads.set(id, false);
    leads.set(
      id,
      firedOf(id).some(({ to }) => isAhead(String(to))),
    );
    return leads.get(id) === true;
  };
  const again = new Map<string, Set<string>>();
  for (const { id } of positions)
    for (const { to, key } of there.has(id) ? firedOf(id) : [])
      if (known.has(String(to)) && !there.has(String(to)) && isAhead(String(to)))
        again.set(id, (again.get(id) ?? new Set()).add(String(key)));
  return again;
}

function targetsOf({ edges }: GraphStructure): ReadonlyMap<string, readonly string[]> {
  const targets = new Map<string, string[]>();
  for (const { from, to } of edges) {
    const known = targets.get(String(from));
    if (known === undefined) targets.set(String(from), [String(to)]);
    else known.push(String(to));
  }
  return targets;
}

/** These nodes, and all that can be reached from them. */
function reachedFrom(starts: readonly string[], targets: ReadonlyMap<string, readonly string[]>): ReadonlySet<string> {
  const reached = new Set(starts);
  // A set's iteration also visits items that are added meanwhile.
  for (const id of reached) for (const to of targets.get(id) ?? []) reached.add(to);
  return reached;
}
