/**
 * The state of an imported run, built from its checkpoints. The index rows are derived from it and not from the export's header, which no
 * checksum covers (H4, C6).
 */
import { isDeepStrictEqual } from 'node:util';
import type { BlobStore } from '../../ports/blobs.ts';
import type { RunKey } from '../../ports/store.ts';
import type { StoredStatus, WaitRow } from '../../ports/store.ts';
import type { RunTree } from '../../state/tree.ts';
import type { DecodedCheckpoint } from '../stored/checkpoint.ts';
import { invalidLine, type HeaderLine } from './export-format.ts';
import { readBlobText, resolveValues } from '../stored/resolve-values.ts';
import type { DecodedSnapshot } from '../stored/snapshot.ts';
import { metaOf, type StoredMeta } from '../stored/stored-meta.ts';
import { StoredState } from '../stored/stored-state.ts';
import { openWaitRows } from '../stored/open-waits.ts';

/** What the index says about a run at its last checkpoint. */
export interface Standing {
  readonly status: StoredStatus;
  readonly graphHash: string;
  readonly waits: readonly WaitRow[];
}

export class ImportedState {
  readonly #blobs: BlobStore;
  readonly #run: RunKey;
  #state: StoredState | undefined;

  /** @param run - the run under its new identity */
  constructor(blobs: BlobStore, run: RunKey) {
    this.#blobs = blobs;
    this.#run = run;
  }

  /** Applies one checkpoint. @throws CHECKPOINT_CORRUPT the delta does not apply; BLOB_NOT_FOUND, BLOB_CORRUPT */
  async apply({ key }: { readonly key: string }, checkpoint: DecodedCheckpoint): Promise<void> {
    this.#state ??= new StoredState({}, false);
    await this.#state.apply(this.#blobs, { key, tenant: this.#run.tenant }, checkpoint);
  }

  /** Starts with the snapshot of the first checkpoint of a pruned history. @throws CHECKPOINT_CORRUPT */
  beginAt(snapshot: DecodedSnapshot): void {
    this.#state = new StoredState(snapshot.parseTree(), snapshot.hasTags);
  }

  /** What the index is to say. @throws INPUT_INVALID the header says something else; BLOB_NOT_FOUND, BLOB_CORRUPT */
  async standing(header: HeaderLine): Promise<Standing> {
    const { status, graphHash, waits, definition } = this.#state!.root;
    const part = await resolveValues(this.#blobs, this.#run.tenant, structuredClone({ status, graphHash, waits }));
    const root = part as RunTree;
    const rows = openWaitRows(this.#run, root);
    const idsOf = (listed: readonly { readonly waitId: string }[]): readonly string[] =>
      listed.map(({ waitId }) => waitId).sort();
    const facts: readonly (readonly [name: keyof HeaderLine, isTrue: boolean])[] = [
      ['status', header.status === root.status],
      ['graphHash', header.graphHash === root.graphHash],
      ['waits', isDeepStrictEqual(idsOf(header.waits), idsOf(rows))],
      ['graphId', definition !== undefined || (await this.#isGraph(header))],
    ];
    const wrong = facts.find(([, isTrue]) => !isTrue)?.[0];
    if (wrong !== undefined) throw invalidLine(1, `its ${wrong} is not that of checkpoint ${header.head}`);
    return { status: root.status, graphHash: root.graphHash, waits: rows };
  }

  /** Whether the exported definition, if there is one, belongs to the graph with this hash. */
  async #isGraph(header: HeaderLine): Promise<boolean> {
    const { structure } = headerMeta(header);
    if (structure === undefined) return true;
    const { id } = JSON.parse(await readBlobText(this.#blobs, this.#run.tenant, structure)) as {
      readonly id?: unknown;
    };
    return id === header.graphId;
  }
}

/** The run's meta from the header. @throws INPUT_INVALID */
export function headerMeta({ meta }: Pick<HeaderLine, 'meta'>): StoredMeta {
  try {
    return metaOf({ key: '', meta: Buffer.from(meta, 'base64') });
  } catch (error) {
    throw invalidLine(1, 'what it keeps beside the run cannot be read', error);
  }
}
