/** The meta of a run's row: what is needed to find the run's graph again and to compare it (H3). */
import { CairnError } from '../../errors.ts';
import type { RetentionAge } from '../../graph/retention.ts';
import type { Webhook } from '../../graph/webhooks.ts';
import type { RunRow } from '../../ports/store.ts';

/** A part of the system that starts runs under ids that it derives: a schedule, what one started when it was due, a chat, a webhook, an experiment, a dataset, a change of many runs. */
export type RunOrigin = 'schedule' | 'due' | 'chat' | 'webhook' | 'experiment' | 'dataset' | 'bulk';

/** A change of a run's labels, and who made it. */
export interface RelabellingAct {
  /** Epoch ms. */
  readonly at: number;
  readonly by?: string;
  readonly door?: string;
  readonly as?: 'owner' | 'program';
  readonly set?: Readonly<Record<string, string>>;
  readonly unset?: readonly string[];
}

export interface StoredMeta {
  /** Path or URL of the module or file that exports the graph. The name of the export is in `exportName`. */
  readonly source?: string;
  readonly exportName?: string;
  readonly labels?: Readonly<Record<string, string>>;
  /** For how long it is kept at least once it has ended, whatever the retention of its graph or store says. */
  readonly keepFor?: RetentionAge;
  /** Names of labels by which whoever made the run finds it again, so that nobody changes them. */
  readonly fixedLabels?: readonly string[];
  /** Who changed its labels since it was started, oldest first: the last few times. */
  readonly relabelled?: readonly RelabellingAct[];
  /** A line by which people tell it apart, made from its input when it was started. A fork has that of its original. */
  readonly title?: string;
  /** What the run's end and its questions are told to, beside what its graph and its store say. */
  readonly webhooks?: readonly Webhook[];
  /** Set on runs that were imported without being trusted, and on their forks. */
  readonly isImported?: true;
  /** Set on runs that were restored from a backup without being trusted, and on their forks. */
  readonly isRestored?: true;
  /** What derived the run's id and started it; absent for runs that a caller started, for forks of them, and for imports not trusted. */
  readonly origin?: RunOrigin;
  /** Who started the run, and made it of others by forks, as far as that is known by name. */
  readonly startedBy?: readonly string[];
  /** Seed of the run's idempotency keys: see key-seed.ts. */
  readonly keySeed?: string;
  /** Hash of the graph that the run was started with, which `structure` and `text` describe. */
  readonly graphHash?: string;
  /** Hash of a blob with the graph's structure, as JSON. */
  readonly structure?: string;
  /** Hash of a blob with the graph's source text, as a JSON string. */
  readonly text?: string;
}

const decoder = new TextDecoder();

/** Decodes the meta of a run's row. @throws CHECKPOINT_CORRUPT it cannot be decoded */
export function metaOf({ key, meta }: Pick<RunRow, 'key' | 'meta'>): StoredMeta {
  if (meta.byteLength === 0) return {};
  try {
    const stored: unknown = JSON.parse(decoder.decode(meta));
    if (typeof stored !== 'object' || stored === null) throw new TypeError('it is no object');
    return stored;
  } catch (error) {
    const data = { checkpoint: key, reason: 'what its row keeps beside the run cannot be read' };
    throw new CairnError('CHECKPOINT_CORRUPT', data, { cause: error });
  }
}

/** The blobs that a run's row refers to. They belong to the run like those of its checkpoints. */
export function listMetaBlobs(run: Pick<RunRow, 'key' | 'meta'>): ReadonlySet<string> {
  const { structure, text } = metaOf(run);
  return new Set([structure, text].filter((hash) => hash !== undefined));
}
