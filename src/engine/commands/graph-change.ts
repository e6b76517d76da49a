/** Changes the graph of a run in a resume or a fork, after comparing it with how far the run has come (H3). */
import { CairnError } from '../../errors.ts';
import { storedStructure } from './admit-run.ts';
import { migrateChannels, stateVersionOf } from '../../graph/compile/migrations.ts';
import { compareStructures, type GraphDifference, type LivePositions } from '../../graph/compile/compare-graphs.ts';
import { START, type Graph, type GraphStructure } from '../../graph/graph.ts';
import { partitions } from '../../graph/contracts/node-contract.ts';
import { readBlobValue } from '../../history/stored/checkpoint.ts';
import { metaOf } from '../../history/stored/stored-meta.ts';
import { codeOfRun, readCode } from '../../ports/graph-code.ts';
import type { RunKey, RunRow } from '../../ports/store.ts';
import { admitValue } from '../../state/values/admit.ts';
import { encodeValue } from '../../state/values/encode.ts';
import type { FrameTree, GraphDefinitionRecord, NodeRecord, RunTree } from '../../state/tree.ts';
import type { TreeWriter } from '../../state/tree-writer.ts';
import type { GraphFile, ResumeOptions } from '../api.ts';
import { storedForms } from '../validate/offload.ts';
import { dropRemovedVisits } from './removed-visits.ts';
import type { EngineEnvironment } from '../live-run/run-core.ts';

/**
 * Changes a state's graph, if the run can go on under it: hashes, definition, migrated channels.
 *
 * @returns the differences in words; undefined if there are none
 * @throws RUN_GRAPH_CHANGED it cannot go on, or not without a migration
 */
export async function applyGraphChange(
  env: EngineEnvironment,
  run: RunRow,
  state: TreeWriter,
  graph: Graph,
  { migrate, leaveOutAdded, file }: Pick<ResumeOptions, 'migrate' | 'leaveOutAdded' | 'file'>,
  owner: RunKey = run,
): Promise<readonly unknown[] | undefined> {
  const { root } = state;
  const moved = [...otherFile(run, root, file), ...(await migrateState(env, run, state, graph, owner))];
  if (root.graphHash === graph.hash) {
    const isOtherCode = hasOtherCode(root, graph);
    if (!isOtherCode && moved.length === 0) return undefined;
    state.set(['codeHash'], graph.codeHash);
    await setDefinition(env, state, graph, { file, owner });
    if (!isOtherCode) return moved;
    return [...moved, otherCode(run, graph)];
  }
  const stored = await requireStructure(env, run, root);
  const positions = livePositions(root.frame, root.codeHash);
  const { verdict, differences } = compareStructures(stored, graph, positions);
  if (verdict === 'refused')
    throw changedError(run, differences, 'what it waits for or works on is gone or is something else');
  const visited = Object.keys(root.frame.nodes).filter((id) => id !== START);
  const isOfGraph = (id: string): boolean => (graph.nodeIndex.get(id) ?? 0) > 1;
  if (visited.length > 0 && !stored.nodes.some(({ id }) => isOfGraph(String(id))))
    throw changedError(run, differences, 'the graph has none of the nodes of the one that it began under');
  const needs = new Set(differences.map((difference) => difference.verdict));
  if (needs.has('needs-consent') && leaveOutAdded !== true)
    throw changedError(
      run,
      differences,
      'effects were added, or moved to, where it is past, and would never run (leaveOutAdded goes on without)',
    );
  let migrated: FrameTree['channels'] = {};
  if (needs.has('needs-migration') && moved.every(({ what }) => what !== migratedWord)) {
    if (migrate === undefined) throw changedError(run, differences, 'its state needs a migration');
    migrated = admitMigrated(env, migrate(root.frame.channels));
  }
  state.set(['graphHash'], graph.hash);
  state.set(['codeHash'], graph.codeHash);
  await setDefinition(env, state, graph, { file, owner });
  dropRemovedVisits(state, stored, graph, positions.nodes);
  for (const [partition, values] of Object.entries(migrated))
    state.set(['frame', 'channels', partition], values, encodeValue(await storedForms(env, owner, values)));
  return [...moved, ...differences];
}

/**
 * Brings the channels of the run, and of its child runs that are under way, to the form that their graphs' code expects, before anything of
 * the graph is taken up.
 * @returns what was done, for the record; empty if there was nothing to do
 * @throws RUN_GRAPH_CHANGED a migration fails, or a state is of newer code
 */
async function migrateState(
  env: EngineEnvironment,
  run: RunRow,
  state: TreeWriter,
  graph: Graph,
  owner: RunKey,
): Promise<readonly GraphDifference[]> {
  const { stateVersion, frame } = state.root;
  const done: GraphDifference[] = [];
  const migrate = async (path: readonly string[], tree: FrameTree, of: Graph, name: string, had = 1): Promise<void> => {
    const known = stateVersionOf(of.migrations);
    const whose = name === '' ? 'its state' : `the state of ${name}`;
    if (had > known) {
      const newer = `${whose} is of version ${had}, and this code knows ${known}: it is older than what the run went on with`;
      throw changedError(run, [], newer);
    }
    if (had < known) {
      const channels = migratedOf(env, run, tree, of, had);
      for (const [partition, values] of Object.entries(channels))
        if (values !== tree.channels[partition])
          state.set([...path, 'channels', partition], values, encodeValue(await storedForms(env, owner, values)));
      state.set(name === '' ? ['stateVersion'] : [...path, 'stateVersion'], known);
      const at = name === '' ? '' : `${name}: `;
      done.push({ what: migratedWord, detail: `${at}from version ${had} to ${known}`, verdict: 'compatible' });
    }
    for (const [id, { fired, children = {} }] of Object.entries(tree.nodes)) {
      const child = of.nodes[of.nodeIndex.get(id) ?? -1]?.subgraph;
      if (fired !== undefined || child === undefined) continue;
      for (const [key, inner] of Object.entries(children))
        await migrate(
          [...path, 'nodes', id, 'children', key],
          inner,
          child,
          `${name === '' ? '' : `${name} / `}${id}`,
          inner.stateVersion,
        );
    }
  };
  await migrate(['frame'], frame, graph, '', stateVersion);
  return done;
}

/** @throws RUN_GRAPH_CHANGED a migration fails */
function migratedOf(
  env: EngineEnvironment,
  run: RunRow,
  { channels }: FrameTree,
  { migrations }: Graph,
  had: number,
): FrameTree['channels'] {
  try {
    return migrateChannels(migrations, had, channels, (given) => admitMigrated(env, given));
  } catch (error) {
    if (!CairnError.is(error)) throw error;
    const { reason } = error.data;
    throw changedError(run, [], typeof reason === 'string' ? reason : error.message);
  }
}

/**
 * Whether the source of some function differs from that of the state's last graph. If so, recorded outcomes of pure work are not reused
 * (X2).
 */
function hasOtherCode({ codeHash }: RunTree, graph: Graph): boolean {
  return codeHash !== undefined && codeHash !== graph.codeHash;
}

/**
 * The nodes whose code differs from that of the state's last graph, by id: of these, recorded outcomes of pure work are not reused (X2).
 * True: it is not known of which. Undefined: nobody's. Call before the graph is changed.
 */
export async function recodedNodes(
  env: EngineEnvironment,
  run: RunRow,
  root: RunTree,
  graph: Graph,
): Promise<true | readonly string[] | undefined> {
  if (!hasOtherCode(root, graph)) return undefined;
  const before = (await savedStructure(env, run, root))?.nodeCode;
  if (before === undefined) return true;
  return Object.entries(graph.nodeCode).flatMap(([id, code]) => (before[id] === code ? [] : [id]));
}

/** What a fork under other code runs again, beside what it did before. */
export function rerunsOf(before: RunTree['rerunPure'], recoded: true | readonly string[]): true | readonly string[] {
  if (before === true || recoded === true) return true;
  return [...new Set([...(before === undefined || before === false ? [] : before), ...recoded])];
}

/** How the code differs, in words, where the graph is the same: a function's source, or the version that its author gives it. */
function otherCode(run: RunRow, { version }: Graph): GraphDifference {
  const { version: before } = readCode(codeOfRun(run));
  const detail =
    version === before
      ? 'the text of some function has changed'
      : `version ${version ?? 'without a name'}; before it was ${before ?? 'one without a name'}`;
  return { what: 'code', detail, verdict: 'compatible' };
}

const migratedWord = 'state migrated';

/** That the run has another file from now on, if a resume names one. */
function otherFile(run: RunRow, { definition }: RunTree, file: GraphFile | undefined): readonly GraphDifference[] {
  const known = definition?.source ?? metaOf(run).source;
  if (file === undefined || file.source === known) return [];
  return [{ what: 'file', detail: `${file.source} from now on`, verdict: 'compatible' }];
}

/** Stores the definition for later resumes, in place of the one from the run's start. */
async function setDefinition(
  env: EngineEnvironment,
  state: TreeWriter,
  graph: Graph,
  { file, owner }: { readonly file: GraphFile | undefined; readonly owner: RunKey },
): Promise<void> {
  const { source, exportName } = file ?? state.root.definition ?? {};
  const definition: GraphDefinitionRecord = {
    structure: storedStructure(graph),
    ...(graph.text !== undefined && { text: graph.text }),
    ...(source !== undefined && { source }),
    ...(exportName !== undefined && { exportName }),
  };
  state.set(['definition'], definition, encodeValue(await storedForms(env, owner, { ...definition })));
}

/** @throws VALUE_UNSTORABLE, STATE_UNKNOWN_CHANNEL a key is not a partition */
function admitMigrated(env: EngineEnvironment, partsByName: Readonly<Record<string, unknown>>): FrameTree['channels'] {
  const migrated: FrameTree['channels'] = {};
  for (const [name, values] of Object.entries(partsByName)) {
    const partition = partitions.find((known) => known === name);
    if (partition === undefined) throw new CairnError('STATE_UNKNOWN_CHANNEL', { channel: name, known: partitions });
    migrated[partition] = { ...(admitValue(values, [name], env.bounds, env.intake).value as object) };
  }
  return migrated;
}

/** The most differences named in a message; the error's data has all. */
const namedMax = 3;

function changedError(run: RunRow, differences: readonly GraphDifference[], reason: string): CairnError {
  const inTheWay = differences.filter(({ verdict }) => verdict !== 'compatible');
  const named = inTheWay.slice(0, namedMax).map(({ what, detail }) => `${what} ${inBrackets(detail)}`);
  if (inTheWay.length > namedMax) named.push(`and ${inTheWay.length - namedMax} more`);
  return new CairnError('RUN_GRAPH_CHANGED', {
    runId: run.runId,
    reason: [reason, ...(named.length === 0 ? [] : [named.join('; ')])].join(': '),
    differences,
    ...(inTheWay.length > 0 && { hint: hintFor(inTheWay, metaOf(run).text !== undefined) }),
  });
}

/** What helps with each thing that is in the way. @param keepsText - whether the run has a definition of its own to go on under */
function hintFor(inTheWay: readonly GraphDifference[], keepsText: boolean): string {
  const kinds = new Set(inTheWay.map(({ what }) => what));
  const needs = new Set(inTheWay.map(({ verdict }) => verdict));
  const ways = [
    ...(kinds.has('other graph') ? ['give the graph its id back, or name the file that has the graph'] : []),
    ...(kinds.has('node removed')
      ? ['put the node back, or say which one it is now (renamed; in YAML and DOT renamed_from)']
      : []),
    ...(needs.has('needs-migration') ? ['bring the state along by migrations'] : []),
    ...(needs.has('needs-consent') ? ['go on without what is left out (leaveOutAdded, --leave-out-added)'] : []),
    ...(needs.has('refused') && !kinds.has('other graph') && !kinds.has('node removed')
      ? ['put back what has changed']
      : []),
    ...(keepsText ? ['resume it under the text that it keeps, without --file'] : []),
    'fork the run from before it',
  ];
  const text = ways.join('; or ');
  return `${text[0]?.toUpperCase()}${text.slice(1)}.`;
}

/** Puts what is said of a difference in brackets, since semicolons stand between differences. */
function inBrackets(detail: string): string {
  return detail.replace(/; (.+)$/u, ' ($1)');
}

async function requireStructure(env: EngineEnvironment, run: RunRow, root: RunTree): Promise<GraphStructure> {
  const structure = await savedStructure(env, run, root);
  if (structure === undefined) throw changedError(run, [], 'the definition it was started with is not kept');
  return structure;
}

/** The structure of a state's graph; undefined if it was not recorded. */
export async function savedStructure(
  env: EngineEnvironment,
  run: RunRow,
  root: RunTree,
): Promise<GraphStructure | undefined> {
  const { structures } = env;
  const key = root.definition?.structure ?? metaOf(run).structure;
  if (key === undefined) return undefined;
  const known = structures?.get(key);
  if (known !== undefined) return known;
  const read =
    root.definition === undefined ? await readBlobValue(env.blobs, env.tenant, key, JSON.parse) : JSON.parse(key);
  structures?.set(key, read as GraphStructure);
  return read as GraphStructure;
}

/** How far a frame of the run has come. */
export function livePositions(frame: FrameTree, codeHash: string | undefined, isRoot = true): LivePositions {
  return {
    nodes: Object.entries(frame.nodes).map(([id, record]) => ({
      id,
      isOpen: record.fired === undefined,
      // What failed before anything happened may go on under another definition.
      hasIntent: record.intent !== undefined && record.applied !== 'no',
      ...(record.fired === undefined ? { onlyWaits: isRoot && onlyWaits(record) } : { fired: record.fired }),
      ...(record.fired === undefined && record.children !== undefined
        ? { children: Object.values(record.children).map((child) => livePositions(child, undefined, false)) }
        : {}),
    })),
    loops: Object.keys(frame.loops ?? {}),
    epoch: frame.epoch ?? 0,
    channels: Object.entries(frame.channels).flatMap(([partition, values]) =>
      Object.keys(values).map((key) => `${partition}.${key}`),
    ),
    ...(codeHash === undefined ? {} : { codeHash }),
  };
}

/** Whether a visit has done nothing but ask or wait, so that nothing is lost with it but that. */
function onlyWaits({ status, intent, children = {}, saves, retired, steps = {} }: NodeRecord): boolean {
  if (status !== 'waiting' && status !== 'started') return false;
  if (intent !== undefined || saves !== undefined || retired !== undefined || Object.keys(children).length > 0)
    return false;
  return Object.values(steps).every(({ kind }) => kind !== 'step') && Object.keys(steps).length > 0;
}
