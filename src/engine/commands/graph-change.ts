/** Changes the graph of a run in a resume or a fork, after comparing it with how far the run has come (H3). */
import { CairnError } from '../../errors.ts';
import { compareStructures, type GraphDifference, type LivePositions } from '../../graph/compile/compare-graphs.ts';
import type { Graph, GraphStructure } from '../../graph/graph.ts';
import { partitions } from '../../graph/contracts/node-contract.ts';
import { readBlobValue } from '../../history/stored/checkpoint.ts';
import { metaOf } from '../../history/stored/stored-meta.ts';
import type { RunKey, RunRow } from '../../ports/store.ts';
import { admitValue, encodeValue } from '../../state/values/codec.ts';
import type { FrameTree, GraphDefinitionRecord, RunTree } from '../../state/tree.ts';
import type { TreeWriter } from '../../state/tree-writer.ts';
import type { ResumeOptions } from '../api.ts';
import { storedForms } from '../validate/admit-outcome.ts';
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
  { migrate, leaveOutAdded }: Pick<ResumeOptions, 'migrate' | 'leaveOutAdded'>,
  owner: RunKey = run,
): Promise<readonly unknown[] | undefined> {
  const { root } = state;
  if (root.graphHash === graph.hash) {
    if (!hasOtherCode(root, graph)) return undefined;
    state.set(['codeHash'], graph.codeHash);
    return [{ what: 'code', detail: 'the text of some function has changed' }];
  }
  const stored = await storedStructure(env, run, root);
  const { verdict, differences } = compareStructures(stored, graph, livePositions(root.frame, root.codeHash));
  if (verdict === 'refused')
    throw changedError(run, differences, 'what it waits for or works on is gone or is something else');
  const needs = new Set(differences.map((difference) => difference.verdict));
  if (needs.has('needs-consent') && leaveOutAdded !== true)
    throw changedError(
      run,
      differences,
      'effects were added where it is past, and would never run (leaveOutAdded goes on without)',
    );
  let migrated: FrameTree['channels'] = {};
  if (needs.has('needs-migration')) {
    if (migrate === undefined) throw changedError(run, differences, 'its state needs a migration');
    migrated = admitMigrated(env, migrate(root.frame.channels));
  }
  const definition = definitionOf(graph);
  state.set(['graphHash'], graph.hash);
  state.set(['codeHash'], graph.codeHash);
  state.set(['definition'], definition, encodeValue(await storedForms(env, owner, { ...definition })));
  for (const [partition, values] of Object.entries(migrated))
    state.set(['frame', 'channels', partition], values, encodeValue(await storedForms(env, owner, values)));
  return differences;
}

/**
 * Whether the source of some function differs from that of the state's last graph. If so, recorded outcomes of pure work are not reused
 * (X2).
 */
export function hasOtherCode({ codeHash }: RunTree, graph: Graph): boolean {
  return codeHash !== undefined && codeHash !== graph.codeHash;
}

/** The definition stored for later resumes, in place of the one from the run's start. */
function definitionOf({ structure, text }: Graph): GraphDefinitionRecord {
  return { structure: JSON.stringify(structure), ...(text === undefined ? {} : { text }) };
}

/** @throws VALUE_UNSTORABLE, STATE_UNKNOWN_CHANNEL a key is not a partition */
function admitMigrated(env: EngineEnvironment, partsByName: Readonly<Record<string, unknown>>): FrameTree['channels'] {
  const migrated: FrameTree['channels'] = {};
  for (const [name, values] of Object.entries(partsByName)) {
    const partition = partitions.find((known) => known === name);
    if (partition === undefined) throw new CairnError('STATE_UNKNOWN_CHANNEL', { channel: name, known: partitions });
    migrated[partition] = { ...(admitValue(values, [name], env.limits, env.intake).value as object) };
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
  });
}

/** Puts what is said of a difference in brackets, since semicolons stand between differences. */
function inBrackets(detail: string): string {
  return detail.replace(/; (.+)$/u, ' ($1)');
}

async function storedStructure(env: EngineEnvironment, run: RunRow, root: RunTree): Promise<GraphStructure> {
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
  if (root.definition !== undefined) return JSON.parse(root.definition.structure) as GraphStructure;
  const { structure } = metaOf(run);
  if (structure === undefined) return undefined;
  return (await readBlobValue(env.blobs, env.tenant, structure, JSON.parse)) as GraphStructure;
}

/** How far a frame of the run has come. */
function livePositions(frame: FrameTree, codeHash: string | undefined): LivePositions {
  return {
    nodes: Object.entries(frame.nodes).map(([id, record]) => ({
      id,
      isOpen: record.fired === undefined,
      // What failed before anything happened may go on under another definition.
      hasIntent: record.intent !== undefined && record.applied !== 'no',
      ...(record.fired === undefined ? {} : { fired: record.fired }),
      ...(record.fired === undefined && record.children !== undefined
        ? { children: Object.values(record.children).map((child) => livePositions(child, undefined)) }
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
