/** Reads how a visit ended and which edges it took, at the very moment of its end: the whole checkpoint may hold later changes. */
import { outgoingEdges } from '../../graph/compile/outgoing-edges.ts';
import { START, type ChoiceExplainer, type ConditionScope, type GraphStructure } from '../../graph/graph.ts';
import type { BlobStore } from '../../ports/blobs.ts';
import type { Op } from '../../state/delta.ts';
import type { FrameTree, NodeRecord, RunTree } from '../../state/tree.ts';
import type { RunRow } from '../../ports/store.ts';
import type { HistoryEntry } from '../load/lineage.ts';
import { viewValues } from '../read/checkpoint-view.ts';
import { resolveValues } from '../stored/checkpoint.ts';
import type { StoredState } from '../stored/stored-state.ts';
import { frameAt } from './op-authors.ts';
import { decidingTexts, explainEdges, type ExplainedEdge } from './explain-edges.ts';
import { nodeIn, Structures, structureWithin } from './structures.ts';

/** The record of a visit and its edges, at the moment when it ended. */
export interface Ended {
  readonly record: NodeRecord;
  readonly edges: readonly ExplainedEdge[];
  readonly type: string | undefined;
  readonly when: string | undefined;
}

/** What the stored description of a node says of it. */
interface Described {
  readonly config: unknown;
  readonly onFailure: string;
  readonly maxVisits: number;
}

/** The op that ends a visit. */
interface EndOp {
  readonly node: readonly string[];
  readonly op: Op;
  /** Whether the state that is passed contains more than there was at that moment, so that nothing can be computed from it. */
  readonly isLaterState: boolean;
}

export class VisitEnds {
  readonly #blobs: BlobStore;
  readonly #structures: Structures;
  readonly #explainChoice: ChoiceExplainer | undefined;

  constructor(blobs: BlobStore, explainChoice: ChoiceExplainer | undefined) {
    this.#blobs = blobs;
    this.#structures = new Structures(blobs);
    this.#explainChoice = explainChoice;
  }

  /** @param state - the state at the moment when the visit ends, or a later one if that is pruned */
  async read({ run }: HistoryEntry, { node, op, isLaterState }: EndOp, state: StoredState): Promise<Ended> {
    const root = state.root as unknown as RunTree;
    const frame = node.slice(0, -1);
    const id = node.at(-1) as string;
    const structure = structureWithin(await this.#structures.of(run, root.definition), frame);
    // A record with steps is written field by field.
    const isWhole = typeof op[2] === 'object';
    // A later state may have no record of it any more.
    const stored = (isWhole ? op[2] : (recordAt(root.frame, node) ?? { status: op[2] })) as NodeRecord;
    const record = await this.#plain(run.tenant, withoutInside(stored));
    const of = nodeIn(structure, id);
    const error = record.error instanceof Error ? record.error : undefined;
    const { config, onFailure, maxVisits = Infinity } = (of ?? {}) as Partial<Described>;
    const { status, fired, goto, visits = 1 } = record;
    const isOverBound = visits > maxVisits;
    const visit = { id, status, fired, goto, error, config, onFailure, isOverBound };
    const isKnown = structure !== undefined && !(isLaterState && decidingTexts(structure, id).length > 0);
    const scope = isKnown ? await this.#scopeOf(run.tenant, root, { frame, structure, record, id }) : undefined;
    const when = (of?.['when'] as { readonly text?: string } | undefined)?.text;
    return {
      record,
      edges: isKnown ? explainEdges(structure, visit, scope, this.#explainChoice) : bareEdges(record, structure, id),
      type: of?.['type'] as string | undefined,
      when: record.status === 'skipped' ? when : undefined,
    };
  }

  /**
   * The values that conditions see. Undefined if none has to be evaluated. Only those parts of the state are loaded that the conditions
   * name.
   */
  async #scopeOf(
    tenant: string,
    root: RunTree,
    at: {
      readonly frame: readonly string[];
      readonly structure: GraphStructure;
      readonly record: NodeRecord;
      readonly id: string;
    },
  ): Promise<ConditionScope | undefined> {
    const texts = decidingTexts(at.structure, at.id);
    const { status, error, kept } = at.record;
    // An outcome that could not be routed is saved, to be routed again.
    const output = at.record.output ?? kept?.output;
    if (texts.length === 0 || (status !== 'completed' && status !== 'failed')) return undefined;
    const values = viewValues(frameAt(root, at.frame));
    const isNamed = (name: string): boolean => texts.some((text) => !text.startsWith('"') && text.includes(name));
    const isData = texts.some((text) => text.startsWith('[') || text.startsWith('{'));
    const part = async (name: keyof typeof values): Promise<Readonly<Record<string, unknown>>> =>
      (isNamed(name) || (isData && (name === 'scratch' || name === 'input'))
        ? await this.#plain(tenant, values[name] ?? {})
        : {}) as Readonly<Record<string, unknown>>;
    const state = {
      input: await part('input'),
      scratch: await part('scratch'),
      artifacts: await part('artifacts'),
      diagnostics: await part('diagnostics'),
      outputs: await part('outputs'),
      failures: await part('failures'),
    };
    return { outcome: { status, output, error: error instanceof Error ? error : undefined }, state } as ConditionScope;
  }

  async #plain<Value>(tenant: string, stored: Value): Promise<Value> {
    return (await resolveValues(this.#blobs, tenant, structuredClone(stored))) as Value;
  }
}

/** The record of a node, by its path from the root. */
export function recordAt(frame: FrameTree, path: readonly string[]): NodeRecord | undefined {
  let at: FrameTree | undefined = frame;
  for (let index = 0; index + 1 < path.length; index += 2)
    at = at?.nodes[path[index] as string]?.children?.[path[index + 1] as string];
  return at?.nodes[path.at(-1) as string];
}

/** The record without its steps and child runs, which have entries of their own. */
function withoutInside({ children: _children, steps: _steps, ...record }: NodeRecord): NodeRecord {
  return record;
}

/** An edge that was taken at least once. */
export interface TakenEdge {
  /** Of the node that it leaves. */
  readonly path: readonly string[];
  readonly to: string;
}

/** The edges that the last visits of all nodes took. */
export async function edgesTakenLast(blobs: BlobStore, run: RunRow, state: StoredState): Promise<readonly TakenEdge[]> {
  const root = state.root as unknown as RunTree;
  const structure = await new Structures(blobs).of(run, root.definition);
  const taken: TakenEdge[] = [];
  const collect = ({ nodes }: FrameTree, path: readonly string[]): void => {
    const within = structureWithin(structure, path);
    for (const [id, record] of Object.entries(nodes)) {
      // A story does not tell that a graph began at its start.
      if (id === START) continue;
      const at = [...path, id];
      for (const { to, fired } of bareEdges(record, within, id)) if (fired) taken.push({ path: at, to });
      for (const [name, child] of Object.entries(record.children ?? {})) collect(child, [...at, name]);
    }
  };
  collect(root.frame, []);
  return taken;
}

/** Without the graph only the edges that were taken are known; without the state at that moment, not why. */
function bareEdges(
  { fired = [] }: NodeRecord,
  structure: GraphStructure | undefined,
  id: string,
): readonly ExplainedEdge[] {
  if (structure === undefined) return fired.map((key) => ({ to: key, fired: true, because: 'it is on record' }));
  return outgoingEdges(structure, id).map(({ key, to, condition }) => ({
    to,
    ...(condition !== undefined && { condition: condition.text }),
    fired: fired.includes(key),
    because: 'what decided it was pruned',
  }));
}
