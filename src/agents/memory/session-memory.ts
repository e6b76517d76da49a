/** What a node remembers of its user over sessions, and how that goes together with a run that is killed and resumed. */
import { CairnError } from '../../errors.ts';
import type { NodeContext } from '../../graph/contracts/node-contract.ts';
import type { Memories, MemoryEntry, MemoryOwner } from '../../ports/memories.ts';

/**
 * How reads and writes of a run meet its memory. `live`: each attempt reads what is there now. `snapshot`: what was read is on record, so
 * that a resume and a fork see what the run saw; writes are made again by who repeats them, so a fork writes anew. `journaled`: writes are
 * on record too, and a fork takes them over. In each mode a write of a run happens once, however often it is killed.
 */
export type MemoryConsistency = 'live' | 'snapshot' | 'journaled';

const modes: readonly MemoryConsistency[] = ['live', 'snapshot', 'journaled'];

export interface SessionMemoryOptions {
  /** Default: that of the {@link MemorySource}. */
  readonly consistency?: MemoryConsistency;
  /** Tells the memories of several parts of one node apart. Default `memory`. */
  readonly name?: string;
}

/** The memory of one user and session, for one visit of a node. */
export interface SessionMemory {
  /** The newest entries, oldest of them first. */
  recall(query?: { readonly text?: string; readonly limit?: number }): Promise<readonly MemoryEntry[]>;
  /** Adds entries, all or none, once. */
  remember(...contents: readonly string[]): Promise<void>;
}

/** Where a graph's nodes remember, and how unless they say otherwise. */
export interface MemorySource {
  /** @throws CONFIG_INVALID */
  open(ctx: NodeContext, owner: MemoryOwner, options?: SessionMemoryOptions): SessionMemory;
}

/** Makes the memory of a graph. @param options.consistency - for nodes that say nothing. Default `snapshot` @throws CONFIG_INVALID */
export function sessionMemory(
  memories: Memories,
  { consistency: ofGraph = 'snapshot' }: { readonly consistency?: MemoryConsistency } = {},
): MemorySource {
  check(ofGraph);
  return {
    open(ctx, owner, { consistency = ofGraph, name = 'memory' } = {}) {
      check(consistency);
      if (typeof owner.user !== 'string' || typeof owner.session !== 'string')
        throw new CairnError('CONFIG_INVALID', { reason: 'a memory is that of a user and a session, both texts' });
      const { user, session } = owner;
      return new NodeMemory(memories, ctx, { user, session }, consistency, name);
    },
  };
}

function check(consistency: unknown): void {
  if (modes.includes(consistency as MemoryConsistency)) return;
  throw new CairnError('CONFIG_INVALID', { reason: `consistency of a memory must be one of ${modes.join(', ')}` });
}

class NodeMemory implements SessionMemory {
  readonly #memories: Memories;
  readonly #ctx: NodeContext;
  readonly #owner: MemoryOwner;
  readonly #consistency: MemoryConsistency;
  readonly #name: string;
  #writes = 0;

  constructor(memories: Memories, ctx: NodeContext, owner: MemoryOwner, consistency: MemoryConsistency, name: string) {
    this.#memories = memories;
    this.#ctx = ctx;
    this.#owner = owner;
    this.#consistency = consistency;
    this.#name = name;
  }

  async recall(query: Parameters<SessionMemory['recall']>[0] = {}): Promise<readonly MemoryEntry[]> {
    const read = (): Promise<readonly MemoryEntry[]> => this.#memories.read(this.#owner, query);
    if (this.#consistency === 'live') return read();
    const input = { owner: this.#owner, query };
    return this.#ctx.step(`${this.#name} recall`, { effect: 'read', input }, read);
  }

  async remember(...contents: readonly string[]): Promise<void> {
    this.#writes += 1;
    if (this.#consistency === 'snapshot')
      // What was read is durable before anything is written, or a run that is killed in between would read its own words.
      await this.#ctx.step(
        `${this.#name} write`,
        { effect: 'write', idempotent: true, input: this.#writes },
        () => null,
      );
    if (this.#consistency !== 'journaled') {
      // The same for every attempt, so that a repeated function writes nothing twice.
      const key = `${this.#ctx.idempotencyKey} ${this.#name} ${this.#writes}`;
      return this.#memories.write(this.#owner, contents, key);
    }
    const options = { effect: 'write', idempotent: true, input: { owner: this.#owner, contents } } as const;
    await this.#ctx.step(`${this.#name} remember`, options, async ({ idempotencyKey }) => {
      await this.#memories.write(this.#owner, contents, idempotencyKey);
      return null;
    });
  }
}
