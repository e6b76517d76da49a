/** What a run's row keeps beside the run, for those who must find its graph again and compare it (H3). */
import { CairnError } from '../../errors.ts';
import type { RunRow } from '../../ports/store.ts';

export interface StoredMeta {
  /** Path or URL of the module or file, and the export in it. */
  readonly source?: string;
  readonly exportName?: string;
  readonly labels?: Readonly<Record<string, string>>;
  /** What its idempotency keys derive from: see key-seed.ts. */
  readonly keySeed?: string;
  /** Hash of the graph that the run was admitted under: of what `structure` and `text` tell. */
  readonly graphHash?: string;
  /** Blob of the graph's structure, as JSON. */
  readonly structure?: string;
  /** Blob of the text that the graph was compiled from, as a JSON string. */
  readonly text?: string;
}

const decoder = new TextDecoder();

/** What a run's row keeps beside the run. @throws CHECKPOINT_CORRUPT it cannot be read */
export function metaOf({ key, meta }: Pick<RunRow, 'key' | 'meta'>): StoredMeta {
  if (meta.byteLength === 0) return {};
  try {
    return JSON.parse(decoder.decode(meta)) as StoredMeta;
  } catch (error) {
    const data = { checkpoint: key, reason: 'what its row keeps beside the run cannot be read' };
    throw new CairnError('CHECKPOINT_CORRUPT', data, { cause: error });
  }
}

/** The blobs that a run's row names: they belong to the run as those that its checkpoints name do. */
export function listMetaBlobs(run: Pick<RunRow, 'key' | 'meta'>): ReadonlySet<string> {
  const { structure, text } = metaOf(run);
  return new Set([structure, text].filter((hash) => hash !== undefined));
}
