/** Reads a run's graph as data: the one recorded when the run was admitted, or the one with which it later went on. */
import type { GraphStructure } from '../../graph/graph.ts';
import type { BlobStore } from '../../ports/blobs.ts';
import type { RunRow } from '../../ports/store.ts';
import type { GraphDefinitionRecord } from '../../state/tree.ts';
import { foldStored } from '../load/fold-stored.ts';
import type { StatePlace } from '../access/place.ts';
import type { ResolvedReference } from '../read/references.ts';
import { readBlobValue, resolveValues } from '../stored/checkpoint.ts';
import { metaOf } from '../stored/stored-meta.ts';

/** Reads graph definitions, each once. */
export class Structures {
  readonly #blobs: BlobStore;
  readonly #byRun = new Map<string, GraphStructure | undefined>();
  #changed: { readonly record: unknown; readonly structure: GraphStructure } | undefined;

  constructor(blobs: BlobStore) {
    this.#blobs = blobs;
  }

  /**
   * @param definition - stored form of the graph with which the run went on later, if any. The result is undefined if no graph was
   * recorded.
   */
  async of(run: RunRow, definition: unknown): Promise<GraphStructure | undefined> {
    if (definition !== undefined) {
      if (this.#changed?.record !== definition) {
        const copy = structuredClone(definition);
        const { structure } = (await resolveValues(this.#blobs, run.tenant, copy)) as GraphDefinitionRecord;
        this.#changed = { record: definition, structure: JSON.parse(structure) as GraphStructure };
      }
      return this.#changed.structure;
    }
    if (!this.#byRun.has(run.key)) {
      const { structure } = metaOf(run);
      const found =
        structure === undefined ? undefined : await readBlobValue(this.#blobs, run.tenant, structure, JSON.parse);
      this.#byRun.set(run.key, found as GraphStructure | undefined);
    }
    return this.#byRun.get(run.key);
  }
}

type StoredNode = Readonly<Record<string, unknown>>;

/** The graph of a child run, if the definition of its parent contains it. @param frame - node ids, alternating with names of child runs */
export function structureWithin(
  structure: GraphStructure | undefined,
  frame: readonly string[],
): GraphStructure | undefined {
  let at = structure;
  for (let index = 0; index < frame.length; index += 2)
    at = nodeIn(at, frame[index] as string)?.['subgraph'] as GraphStructure | undefined;
  return at;
}

/** The nodes of a structure by id. A story asks at each visit, so the nodes are gone through once. */
const indexes = new WeakMap<GraphStructure, ReadonlyMap<unknown, StoredNode>>();

export function nodeIn(structure: GraphStructure | undefined, id: string): StoredNode | undefined {
  if (structure === undefined) return undefined;
  let index = indexes.get(structure);
  if (index === undefined) indexes.set(structure, (index = new Map(structure.nodes.map((node) => [node['id'], node]))));
  return index.get(id);
}

/** The graph of a run at a checkpoint. Undefined if it was not recorded. @throws what loading a checkpoint throws */
export async function readStructure(
  { store, blobs }: Pick<StatePlace, 'store' | 'blobs'>,
  { run, seq }: ResolvedReference,
): Promise<GraphStructure | undefined> {
  const { state } = await foldStored(store, blobs, run, seq);
  return new Structures(blobs).of(run, state.root['definition']);
}
