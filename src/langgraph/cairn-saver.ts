/** A checkpoint saver of LangGraph over a store: its interface, in terms of {@link Threads}. */
import type * as LangGraph from '@langchain/langgraph-checkpoint';
import type {
  BaseCheckpointSaver,
  ChannelVersions,
  Checkpoint,
  CheckpointListOptions,
  CheckpointMetadata,
  CheckpointPendingWrite,
  CheckpointTuple,
  PendingWrite,
  SerializerProtocol,
} from '@langchain/langgraph-checkpoint';
import { historyOptionNames, openPlace, type HistoryOptions } from '../app/open-store/open-history.ts';
import { CairnError } from '../errors.ts';
import { refuseUnknownKeys } from '../graph/known-keys.ts';
import { importPeer } from '../optional-peers.ts';
import type { Store } from '../ports/store.ts';
import { serializedOf, toStored } from './stored-value.ts';
import type { StoredCheckpoint, TaskWrite, TaskWrites } from './thread-tree.ts';
import { Threads, type ThreadName } from './threads.ts';

type Peer = typeof LangGraph;
/** The configuration of a call, as LangGraph passes it. */
type Config = Parameters<BaseCheckpointSaver['getTuple']>[0];

/** Options for {@link saverOver}. */
export interface SaverOptions extends Pick<HistoryOptions, 'blobs' | 'tenant'> {
  /** Converts values to what is stored. Default: LangGraph's own, whose JSON can be read and compared in the history. */
  readonly serde?: SerializerProtocol;
}

const optionNames: readonly (keyof SaverOptions)[] = [
  ...historyOptionNames.filter((name): name is 'blobs' | 'tenant' => name !== 'byPrefix'),
  'serde',
];

/**
 * Makes a checkpoint saver for LangGraph that keeps threads in a store: `graph.compile({ checkpointer: await saverOver(store) })`. A thread
 * is a run with its id, and each of its checkpoints one of that run. One that is put under an older one begins a fork. Several processes may
 * use one store; of two that go on from the same checkpoint of a thread, one is refused.
 *
 * @throws CONFIG_MISSING_PEER `@langchain/langgraph-checkpoint` is not installed; CONFIG_INVALID the store is of another kind and there is
 * no blob store. The methods throw COMMIT_CONFLICT and CLAIM_TAKEN for a writer that is refused, USAGE_INVALID without a thread id, and the
 * errors of stores
 */
export async function saverOver(store: Store, options: SaverOptions = {}): Promise<BaseCheckpointSaver> {
  refuseUnknownKeys('saverOver', options, optionNames);
  const { serde, ...place } = options;
  const peer = await importPeer<Peer>('@langchain/langgraph-checkpoint');
  return makeSaver(peer, new Threads(openPlace(store, place)), serde);
}

/** Makes an instance of LangGraph's class, whose methods are those of {@link ThreadSaver}. */
function makeSaver(peer: Peer, threads: Threads, serde: SerializerProtocol | undefined): BaseCheckpointSaver {
  class CairnSaver extends peer.BaseCheckpointSaver {
    readonly #saver = new ThreadSaver(peer, threads, this);

    getTuple(config: Config): Promise<CheckpointTuple | undefined> {
      return this.#saver.getTuple(config);
    }

    list(config: Config, options?: CheckpointListOptions): AsyncGenerator<CheckpointTuple> {
      return this.#saver.list(config, options);
    }

    put(config: Config, ...put: [Checkpoint, CheckpointMetadata, ChannelVersions]): Promise<Config> {
      return this.#saver.put(config, ...put);
    }

    putWrites(config: Config, writes: PendingWrite[], taskId: string, taskPath?: string): Promise<void> {
      return this.#saver.putWrites(config, writes, taskId, taskPath);
    }

    deleteThread(threadId: string): Promise<void> {
      return threads.remove(threadId);
    }
  }
  return new CairnSaver(serde);
}

/** What a saver does. It has no class of LangGraph's above it, since the package with that class need not be installed. */
class ThreadSaver {
  readonly #peer: Peer;
  readonly #threads: Threads;
  readonly #base: Pick<BaseCheckpointSaver, 'serde' | 'getNextVersion'>;

  constructor(peer: Peer, threads: Threads, base: Pick<BaseCheckpointSaver, 'serde' | 'getNextVersion'>) {
    this.#peer = peer;
    this.#threads = threads;
    this.#base = base;
  }

  async getTuple(config: Config): Promise<CheckpointTuple | undefined> {
    const { thread_id: thread, checkpoint_ns: namespace = '', checkpoint_id: id } = partsOf(config);
    if (thread === undefined) return undefined;
    const name = { thread, namespace };
    const stored = await (id === undefined ? this.#threads.readNewest(name) : this.#threads.read(name, id));
    return stored && this.#tupleOf(name, stored);
  }

  async *list(config: Config, options: CheckpointListOptions = {}): AsyncGenerator<CheckpointTuple> {
    const { thread_id: thread, checkpoint_ns: namespace, checkpoint_id: only } = partsOf(config);
    const { limit = Infinity, before, filter = {} } = options;
    const bound = before && partsOf(before).checkpoint_id;
    const isAsked = (id: string): boolean => (only === undefined || id === only) && (bound === undefined || id < bound);
    let count = 0;
    for (const name of await this.#threads.listNames({
      ...(thread !== undefined && { thread }),
      ...(namespace !== undefined && { namespace }),
    }))
      for (const id of (await this.#threads.listIds(name)).filter(isAsked)) {
        if (count >= limit) return;
        const stored = await this.#threads.read(name, id);
        const tuple = stored && (await this.#tupleOf(name, stored));
        if (tuple === undefined || !fits(tuple.metadata, filter)) continue;
        count += 1;
        yield tuple;
      }
  }

  async put(
    config: Config,
    checkpoint: Checkpoint,
    metadata: CheckpointMetadata,
    newVersions: ChannelVersions,
  ): Promise<Config> {
    const name = nameIn(config);
    const { checkpoint_id: parent } = partsOf(config);
    const { channel_values: given, ...rest } = checkpoint;
    const changed = Object.keys(given).filter((channel) => Object.hasOwn(newVersions, channel));
    const values = await Promise.all(
      changed.map(async (channel) => [channel, await toStored(this.#base.serde, given[channel])] as const),
    );
    const stored = {
      id: checkpoint.id,
      ...(parent !== undefined && { parent }),
      checkpoint: await toStored(this.#base.serde, rest),
      metadata: await toStored(this.#base.serde, metadata),
    };
    await this.#threads.put(name, `${metadata.source} ${metadata.step}`, (before) => {
      // A channel without a new version has the value that it had.
      const same = Object.entries(before?.channels ?? {}).filter(([channel]) => Object.hasOwn(given, channel));
      return { ...stored, channels: Object.fromEntries([...same, ...values]) };
    });
    return configOf(name, checkpoint.id);
  }

  async putWrites(config: Config, writes: PendingWrite[], taskId: string, taskPath = ''): Promise<void> {
    const name = nameIn(config);
    const { checkpoint_id: id } = partsOf(config);
    if (id === undefined) throw missing('checkpoint_id');
    const stored = await Promise.all(
      writes.map(async ([channel, value], index): Promise<readonly [string, TaskWrite]> => [
        String(this.#peer.WRITES_IDX_MAP[channel] ?? index),
        { channel, value: await toStored(this.#base.serde, value), path: taskPath },
      ]),
    );
    await this.#threads.putWrites(name, id, taskId, labelOf(taskPath, taskId), Object.fromEntries(stored));
  }

  async #tupleOf(name: ThreadName, stored: StoredCheckpoint): Promise<CheckpointTuple> {
    const { id, parent } = stored;
    const channels = Object.entries(stored.channels).map(([channel, value]) => [channel, serializedOf(value)] as const);
    const [rest, details] = [serializedOf(stored.checkpoint), serializedOf(stored.metadata)];
    const values = channels.map(
      async ([channel, value]) => [channel, await this.#base.serde.loadsTyped(...value)] as const,
    );
    const checkpoint = {
      ...((await this.#base.serde.loadsTyped(...rest)) as Omit<Checkpoint, 'channel_values'>),
      channel_values: Object.fromEntries(await Promise.all(values)) as Checkpoint['channel_values'],
    };
    if (checkpoint.v < 4 && parent !== undefined) await this.#takeSends(checkpoint, name, parent);
    return {
      config: configOf(name, id),
      checkpoint,
      metadata: (await this.#base.serde.loadsTyped(...details)) as CheckpointMetadata,
      ...(parent !== undefined && { parentConfig: configOf(name, parent) }),
      pendingWrites: await this.#writesOf(name, id),
    };
  }

  /** The writes to a checkpoint, in the order in which a run applies them. */
  async #writesOf(name: ThreadName, id: string): Promise<CheckpointPendingWrite[]> {
    const writes = flatten(await this.#threads.readWrites(name, id));
    writes.sort((a, b) =>
      this.#peer.compareWritesSortKeys(
        this.#peer.writesSortKey(a.path, a.task, a.index),
        this.#peer.writesSortKey(b.path, b.task, b.index),
      ),
    );
    return Promise.all(
      writes.map(async ({ task, channel, value }): Promise<CheckpointPendingWrite> => [
        task,
        channel,
        await this.#base.serde.loadsTyped(...serializedOf(value)),
      ]),
    );
  }

  /** Checkpoints before version 4 did not hold the tasks that were sent. They are among the writes to their parent. */
  async #takeSends(checkpoint: Checkpoint, name: ThreadName, parent: string): Promise<void> {
    const sent = (await this.#writesOf(name, parent)).filter(([, channel]) => channel === this.#peer.TASKS);
    const versions = Object.values(checkpoint.channel_versions);
    checkpoint.channel_values[this.#peer.TASKS] = sent.map(([, , value]) => value);
    checkpoint.channel_versions[this.#peer.TASKS] =
      versions.length > 0 ? this.#peer.maxChannelVersion(...versions) : this.#base.getNextVersion(undefined);
  }
}

/** What LangGraph names a checkpoint by. */
interface ConfigParts {
  readonly thread_id?: string;
  readonly checkpoint_ns?: string;
  readonly checkpoint_id?: string;
}

/** Empty ids stand for none. */
function partsOf({ configurable = {} }: Config): ConfigParts {
  const { thread_id, checkpoint_ns, checkpoint_id } = configurable as Readonly<Record<string, unknown>>;
  return {
    ...((typeof thread_id === 'number' || isText(thread_id)) && { thread_id: String(thread_id) }),
    ...(typeof checkpoint_ns === 'string' && { checkpoint_ns }),
    ...(isText(checkpoint_id) && { checkpoint_id }),
  };
}

const isText = (value: unknown): value is string => typeof value === 'string' && value !== '';

/** @throws USAGE_INVALID there is no thread id */
function nameIn(config: Config): ThreadName {
  const { thread_id: thread, checkpoint_ns: namespace = '' } = partsOf(config);
  if (thread === undefined) throw missing('thread_id');
  return { thread, namespace };
}

function missing(name: keyof ConfigParts): CairnError {
  return new CairnError('USAGE_INVALID', {
    reason: `the configuration has no ${name}`,
    hint: 'Call the graph with { configurable: { thread_id: "…" } }.',
  });
}

function configOf({ thread, namespace }: ThreadName, id: string): Config {
  return { configurable: { thread_id: thread, checkpoint_ns: namespace, checkpoint_id: id } };
}

function fits(metadata: CheckpointMetadata | undefined, filter: Readonly<Record<string, unknown>>): boolean {
  const found: Readonly<Record<string, unknown>> = { ...metadata };
  return Object.entries(filter).every(([key, value]) => value === undefined || found[key] === value);
}

/** Whom writes are of: the node that a task's path ends with. A `Command` of the caller has no path, and an id of zeros. */
function labelOf(path: string, task: string): string {
  return path.split(',').at(-1)?.trim() || (/^[0-]+$/.test(task) ? 'command' : task);
}

interface NamedWrite extends TaskWrite {
  readonly task: string;
  readonly index: number;
}

function flatten(writes: TaskWrites): NamedWrite[] {
  return Object.entries(writes).flatMap(([task, byIndex]) =>
    Object.entries(byIndex).map(([index, write]) => ({ task, index: Number(index), ...write })),
  );
}
