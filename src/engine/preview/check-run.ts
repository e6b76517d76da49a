/** What would become of one run under other code: a preview, with what is lost, asked anew, or in the way (X5.4). */
import { CairnError } from '../../errors.ts';
import { compareStructures, probableRenames, type GraphDifference } from '../../graph/compile/compare-graphs.ts';
import { undeclaredFunctions } from '../../graph/compile/compile-graph.ts';
import type { Graph, GraphStructure } from '../../graph/graph.ts';
import { loadState } from '../../history/load/load.ts';
import type { RunRow } from '../../ports/store.ts';
import type { NodeRecord, RunTree } from '../../state/tree.ts';
import type { PreviewRow } from '../api.ts';
import { findingKinds, type CheckOptions, type RunCheck, type RunFinding } from '../run-check.ts';
import { livePositions, recodedNodes, savedStructure } from '../commands/graph-change.ts';
import type { EngineEnvironment } from '../live-run/run-core.ts';
import { ofAgents, ofApprovals } from './agent-changes.ts';
import type { RepeatEnd } from './repeat.ts';
import { previewResume, type Repeats } from './preview.ts';

/** Structures that checks have read, by their blob store. Runs of one version share theirs, and few versions have open runs. */
const structures = new WeakMap<object, Map<string, GraphStructure>>();
const structuresMax = 100;

function structuresIn({ blobs }: EngineEnvironment): Map<string, GraphStructure> {
  const known = structures.get(blobs);
  const found = known === undefined || known.size > structuresMax ? new Map<string, GraphStructure>() : known;
  structures.set(blobs, found);
  return found;
}

/** Never throws for what is wrong with the run, or with it under this graph: that is a finding. */
export async function checkRun(
  outer: EngineEnvironment,
  run: RunRow,
  graph: Graph,
  { replay = false, leaveOutAdded = false }: Omit<CheckOptions, 'graph'> = {},
): Promise<RunCheck> {
  const about = { runId: run.runId, graphId: run.graphId, graphHash: run.graphHash, status: run.status };
  const env = { ...outer, structures: structuresIn(outer) };
  try {
    const loaded = await loadState(env.store, env.blobs, run);
    const { root } = loaded;
    const stored = await savedStructure(env, run, root);
    const recoded = await recodedNodes(env, run, root, graph);
    const isOther = stored !== undefined && root.graphHash !== graph.hash;
    const differences = isOther
      ? compareStructures(stored, graph, livePositions(root.frame, root.codeHash)).differences
      : [];
    // Before the preview, which changes the state.
    const ofState = [
      ...ofDifferences(differences, root, isOther ? probableRenames(stored, graph) : new Map()),
      ...(isOther ? [...ofAgents(stored, graph, root), ...ofApprovals(stored, graph, root)] : []),
    ];
    const sameSource = ofSource(graph, root, recoded);
    const repeats: Repeats = { isRepeated: replay ? 'all' : 'questions', ends: new Map(), changed: new Set() };
    const rows = await previewResume(env, run, loaded, graph, { leaveOutAdded, repeats });
    const agents = new Set(ofState.flatMap(({ kind, node = '' }) => (kind === 'agent' ? [node] : [])));
    // Of an agent whose definition alone has changed is told more than that.
    const changed = changedNodes(
      differences.filter(({ detail }) => !agents.has(detail.split(': ')[0] ?? '')),
      recoded,
    );
    const findings = [...ofState, ...ofRepeats(repeats, graph), ...ofRows(rows, changed, repeats)];
    return { ...about, findings: findings.toSorted((a, b) => gravity(a) - gravity(b)), sameSource };
  } catch (error) {
    if (!CairnError.is(error)) throw error;
    return { ...about, findings: ofRefusal(error, run), sameSource: [] };
  }
}

/** Nodes of the run whose code is the same as far as their source tells. */
function ofSource(graph: Graph, { frame }: RunTree, recoded: true | readonly string[] | undefined): readonly string[] {
  if (recoded === true) return [];
  const known = undeclaredFunctions(graph);
  return Object.keys(frame.nodes).filter((id) => known.has(id) && recoded?.includes(id) !== true);
}

const gravity = ({ kind }: RunFinding): number => findingKinds.indexOf(kind);

/** What is said of a difference beside what it is. */
const verdictWords: Readonly<Record<string, string>> = {
  'needs-migration': '; its state needs a migration',
  'needs-consent': '; a resume is refused unless it leaves it out (leaveOutAdded)',
};

const removedHint = '; put it back, or say which node it is now (renamed; renamed_from in YAML and DOT)';

function ofRefusal(error: CairnError, { runId }: RunRow): readonly RunFinding[] {
  const differences = (error.data['differences'] ?? []) as readonly GraphDifference[];
  const inTheWay = differences.filter(({ verdict }) => verdict !== 'compatible');
  if (inTheWay.length > 0)
    return inTheWay.map(({ what, detail, verdict }) => ({
      kind: 'bricks',
      why: `${what}: ${detail}${verdictWords[verdict] ?? ''}${what === 'node removed' ? removedHint : ''}`,
    }));
  return [{ kind: 'bricks', why: `${error.code}: ${error.message.replaceAll(runId, 'RUN')}` }];
}

/** The nodes that are other ones than those with which the run went on, by id, with what has changed. */
function changedNodes(
  differences: readonly GraphDifference[],
  recoded: true | readonly string[] | undefined,
): (id: string) => string | undefined {
  return (id) => {
    const changed = differences.find(({ what, detail }) => what === 'node changed' && detail.startsWith(`${id}: `));
    const fields = changed?.detail.slice(id.length + 2).split(';')[0];
    if (recoded === true || recoded?.includes(id) === true)
      return fields === undefined ? 'its code has changed' : `its code has changed, and its ${fields}`;
    return fields === undefined ? undefined : `its ${fields} changed`;
  };
}

function ofDifferences(
  differences: readonly GraphDifference[],
  root: RunTree,
  renames: ReadonlyMap<string, string>,
): readonly RunFinding[] {
  const { frame } = root;
  return differences.flatMap(({ what, detail }): readonly RunFinding[] => {
    const [node = '', ...more] = detail.split('; ');
    if (what === 'node added')
      return [
        { kind: 'differs', node, why: more.length > 0 ? 'added, and skipped: the run is past it' : 'added ahead' },
      ];
    if (what === 'node moved')
      return [{ kind: 'differs', node, why: 'moved, and skipped: it was ahead, and the run is past where it is now' }];
    if (what !== 'node removed') return [];
    const record = Object.hasOwn(frame.nodes, node) ? (frame.nodes[node] as NodeRecord) : undefined;
    const name = renames.get(node);
    const renamed =
      name === undefined
        ? ''
        : `; ${name} is the same under another name: say so (renamed; renamed_from in YAML and DOT)`;
    if (record === undefined) return [{ kind: 'differs', node, why: 'removed before the run came to it' }];
    if (record.fired === undefined) return ofRemovedWaits(node, root, renamed);
    const hasOutput = record.output !== undefined || record.outputOfSteps !== undefined;
    const why = hasOutput ? 'removed: its output stays on record, and nobody reads it' : 'removed: it has run';
    return [{ kind: 'loses', node, why: `${why}${renamed}` }];
  });
}

/** A node that is removed while the run waits at it. What a person was to decide there is decided by nobody, so that both are told. */
function ofRemovedWaits(node: string, { waits }: RunTree, renamed: string): readonly RunFinding[] {
  const open = Object.values(waits).filter((wait) => wait.node[0] === node);
  const questions = open.filter(({ kind }) => kind === 'question' || kind === 'doubt');
  if (questions.length === 0)
    return [
      { kind: 'loses', node, why: `removed while it waits: the run goes on without what it waits for${renamed}` },
    ];
  const what = questions.some(({ isApproval }) => isApproval === true) ? 'approval' : 'question';
  return [
    { kind: 'loses', node, why: `removed while it waits: the run goes on without an answer to its ${what}${renamed}` },
    { kind: 'asks', node, why: `its ${what} is closed as changed: an answer to it is kept and not used` },
  ];
}

function ofRepeats({ ends, changed }: Repeats, { nodeIndex }: Graph): readonly RunFinding[] {
  // Of nodes that are gone is told where what is removed is.
  const isThere = (path: string): boolean => nodeIndex.has(path.split('/')[0] ?? '');
  const changedQuestions = [...changed].filter(isThere).map((node): RunFinding => ({
    kind: 'asks',
    node,
    why: 'its question is another one now: the old one is closed as changed',
  }));
  const others = [...ends].flatMap(([node, end]): readonly RunFinding[] => {
    if (end.kind === 'fails') return [{ kind: 'bricks', node, why: `${end.code}: ${end.message}` }];
    return [];
  });
  return [...changedQuestions, ...others];
}

/** What is run again or asked that was not so under the code of before. */
function ofRows(
  rows: readonly PreviewRow[],
  changed: (id: string) => string | undefined,
  { ends }: Repeats,
): readonly RunFinding[] {
  return rows.flatMap(({ node, prediction }): readonly RunFinding[] => {
    const path = node.join('/');
    const why = changed(node[0] ?? '');
    if (prediction !== 'runs again' || why === undefined || ends.get(path)?.kind === 'fails') return [];
    return [{ kind: 'again', node: path, why: `${why}${begins(ends.get(path))}` }];
  });
}

function begins(end: RepeatEnd | undefined): string {
  return end?.kind === 'begins' ? `; goes on with ${end.what}` : '';
}
