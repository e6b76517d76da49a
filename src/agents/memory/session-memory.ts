/** The memory of a user across sessions, and how it stays consistent when a run is killed and resumed. */
import { CairnError } from '../../errors.ts';
import { memoryConsistencies, type MemoryConsistency } from '../../graph/contracts/memory-consistency.ts';
import type { NodeContext, StateView } from '../../graph/contracts/node-contract.ts';
import { withoutSecrets } from '../../model-calls/model-access.ts';
import type { Memories, MemoryEntry, MemoryOwner } from '../../ports/memories.ts';
import { refuseUnknownKeys } from '../../graph/known-keys.ts';
import type { FromState, OfState } from '../../nodes/draft/computed.ts';
import { tool, type AgentTool } from '../tools/tool-box.ts';

export interface SessionMemoryOptions {
  /** Default: that of the node or its graph, else that of the {@link MemorySource}. */
  readonly consistency?: MemoryConsistency;
  /** Name that tells the memories of several parts of one node apart. Default `memory`. */
  readonly name?: string;
}

/** The memory of one user and session, for one visit of a node. */
export interface SessionMemory {
  /** The newest entries, in order from oldest to newest. */
  recall(query?: { readonly text?: string; readonly limit?: number }): Promise<readonly MemoryEntry[]>;
  /** Adds entries, all or none, exactly once. Secrets that the run knows are masked in them. */
  remember(...contents: readonly string[]): Promise<void>;
}

/** The memories of a graph's nodes. */
export interface MemorySource {
  /** Opens the memory of an owner. @throws CONFIG_INVALID */
  open(ctx: NodeContext, owner: MemoryOwner, options?: SessionMemoryOptions): SessionMemory;
}

/**
 * Makes the memories of a graph. @param options.consistency - for nodes and graphs that do not choose one. Default `snapshot`. @throws
 * CONFIG_INVALID
 */
export function sessionMemory(
  memories: Memories,
  options: { readonly consistency?: MemoryConsistency } = {},
): MemorySource {
  refuseUnknownKeys('sessionMemory', options, ['consistency']);
  const { consistency: ofGraph = 'snapshot' } = options;
  check(ofGraph);
  return {
    open(ctx, owner, more = {}) {
      refuseUnknownKeys('the memory of a node', more, ['consistency', 'name']);
      const { consistency = ctx.memoryConsistency ?? ofGraph, name = 'memory' } = more;
      check(consistency);
      if (typeof owner.user !== 'string' || typeof owner.session !== 'string')
        throw new CairnError('CONFIG_INVALID', { reason: 'a memory is that of a user and a session, both texts' });
      const { user, session } = owner;
      return new NodeMemory(memories, ctx, { user, session }, consistency, name);
    },
  };
}

function check(consistency: unknown): void {
  if (memoryConsistencies.includes(consistency as MemoryConsistency)) return;
  throw new CairnError('CONFIG_INVALID', {
    reason: `consistency of a memory must be one of ${memoryConsistencies.join(', ')}`,
  });
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
    const { cannotAct } = this.#ctx;
    if (this.#consistency === 'live' && !cannotAct) return read();
    const input = { owner: this.#owner, query };
    // There it is the memory of then or none: what others have written since is no part of what would have happened.
    if (cannotAct) return this.#ctx.step(`${this.#name} recall`, { effect: 'read', input }, read);
    // The class is `pure`, not `read`: a fork repeats reads, and would find the words of the run from which it was forked.
    return this.#ctx.step(`${this.#name} recall`, { effect: 'pure', input }, read);
  }

  async remember(...texts: readonly string[]): Promise<void> {
    this.#writes += 1;
    // A memory outlives the run, and others read it without knowing the run's secrets.
    const contents = withoutSecrets(texts, this.#ctx.secrets);
    if (this.#consistency === 'snapshot')
      // The reads must be durable before anything is written. Otherwise a run killed in between would read its own writes.
      await this.#ctx.step(
        `${this.#name} write`,
        { effect: 'write', idempotent: true, input: this.#writes },
        () => null,
      );
    if (this.#consistency !== 'journaled') {
      // Such a fork is over once its write is refused; one that the record has was written then.
      if (this.#ctx.cannotAct) return;
      // The key is the same in every attempt, so a repeated function writes nothing twice.
      const key = `${this.#ctx.idempotencyKey} ${this.#name} ${this.#writes}`;
      return this.#memories.write(this.#owner, contents, key);
    }
    const options = { effect: 'write', idempotent: true, input: { owner: this.#owner, contents: texts } } as const;
    await this.#ctx.step(`${this.#name} remember`, options, async ({ idempotencyKey }) => {
      await this.#memories.write(this.#owner, contents, idempotencyKey);
      return null;
    });
  }
}

// Tools with which a model recalls what is known about its user, and remembers more.

export interface MemoryToolsOptions<S extends StateView = StateView> {
  /** Owner of the memory, determined by the run's state and never by the model. */
  readonly owner: FromState<MemoryOwner, S>;
}

/**
 * Makes the tools `recall` and `remember`. Both are always recorded, whatever the graph's mode, because what was sent to a model is part of
 * its conversation. They ask nobody, because only this user's session sees what is remembered.
 */
export function memoryTools<S extends StateView = StateView>(
  source: MemorySource,
  options: MemoryToolsOptions<S>,
): Readonly<Record<'recall' | 'remember', AgentTool & OfState<S>>> {
  refuseUnknownKeys('memoryTools', options, ['owner']);
  const { owner } = options as MemoryToolsOptions<never>;
  const open = (ctx: NodeContext): SessionMemory =>
    source.open(ctx, owner({ state: ctx.state as never }), { consistency: 'journaled' });
  return {
    recall: tool({
      description: 'Gives what is remembered of this user: the newest entries, or those that hold a text.',
      input: { type: 'object', properties: { text: { type: 'string' } }, additionalProperties: false },
      composed: true,
      run: async (args, ctx) => {
        return (await open(ctx).recall(args as { readonly text?: string })).map(({ content }) => content);
      },
    }),
    remember: tool({
      description: 'Remembers something of this user for later sessions: one fact, in a sentence.',
      input: {
        type: 'object',
        required: ['content'],
        properties: { content: { type: 'string', minLength: 1 } },
        additionalProperties: false,
      },
      composed: true,
      run: async (args, ctx) => {
        await open(ctx).remember((args as { readonly content: string }).content);
        return 'remembered';
      },
    }),
  };
}
