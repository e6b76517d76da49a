/** A history written through the store port, and beside it what every state must be: for tests of src/history. */
import * as fc from 'fast-check';
import type { Change } from '../../src/history/stored/change.ts';
import { encodeCheckpoint, storedForm, rootChecksum, runKeyOf } from '../../src/history/stored/checkpoint.ts';
import type { BlobStore } from '../../src/ports/blobs.ts';
import type { Claim, RunRow, Store } from '../../src/ports/store.ts';
import { createMemoryBlobs } from '../../src/blobs/memory-blobs.ts';
import { writeSnapshotOf } from '../../src/history/load/fold-stored.ts';
import { defaultBounds } from '../../src/engine/bounds.ts';
import type { RunTree } from '../../src/state/tree.ts';
import { copyValue } from '../../src/state/values/admit.ts';
import { encodeValue } from '../../src/state/values/encode.ts';
import { createMemoryStore } from '../../src/stores/memory/index.ts';

/** One op as a test gives it: set, delete, append to a list, append to a text. Values are real ones, not encodings. */
export type ModelOp =
  | readonly ['s', readonly string[], unknown]
  | readonly ['d', readonly string[]]
  | readonly ['a', readonly string[], readonly unknown[]]
  | readonly ['t', readonly string[], string];

type Tree = Record<string, unknown>;

export const tenant = 'default';
const pureSettle: Change = [{ kind: 'settle', node: ['n'], effect: 'pure' }];

/** The smallest tree that is a run's. */
export function emptyTree(): Tree {
  const frame = { input: null, channels: { scratch: {}, artifacts: {}, diagnostics: {} }, nodes: {} };
  return { status: 'running', graphHash: 'g1', waits: {}, frame };
}

export function applyModelOp(tree: Tree, op: ModelOp): Tree {
  const next = structuredClone(tree);
  const path = op[1];
  let holder: Tree = next;
  for (const key of path.slice(0, -1)) holder = holder[key] as Tree;
  const key = path.at(-1) as string;
  if (op[0] === 's') holder[key] = structuredClone(op[2]);
  else if (op[0] === 'd') delete holder[key];
  else if (op[0] === 'a') holder[key] = [...(holder[key] as unknown[]), ...structuredClone(op[2])];
  else holder[key] = (holder[key] as string) + op[2];
  return next;
}

/** As the engine takes values in: plain copies, of errors as of objects without a prototype. */
function encodeAny(value: unknown): string {
  return encodeValue(copyValue(value, [], defaultBounds));
}

export function encodeOps(ops: readonly ModelOp[]): string {
  return `[${ops.map((op) => (op[0] === 'd' ? JSON.stringify(op) : `["${op[0]}",${JSON.stringify(op[1])},${encodeAny(op[2])}]`)).join(',')}]`;
}

/** A run being written, with the states its checkpoints must have. */
export class ModelRun {
  readonly history: ModelHistory;
  readonly runId: string;
  readonly claim: Claim;
  /** By seq, ancestors' included. */
  readonly states: Map<number, Tree>;
  readonly links: Map<number, Uint8Array>;
  readonly sizes: Map<number, number> = new Map();
  readonly parent: ModelRun | undefined;
  /** Seq of its own first checkpoint. */
  readonly first: number;
  head: number;

  constructor(
    history: ModelHistory,
    claim: Claim,
    states: Map<number, Tree>,
    links: Map<number, Uint8Array>,
    parent?: ModelRun,
  ) {
    this.parent = parent;
    this.history = history;
    this.runId = claim.runId;
    this.claim = claim;
    this.states = states;
    this.links = links;
    this.head = Math.max(...states.keys());
    this.first = this.head;
  }

  get key(): string {
    return runKeyOf(tenant, this.runId);
  }

  get state(): Tree {
    return this.states.get(this.head) as Tree;
  }

  row(): Promise<RunRow> {
    return this.history.readRun(this.runId);
  }

  async commit(ops: readonly ModelOp[], change: Change = pureSettle): Promise<number> {
    const next = ops.reduce(applyModelOp, this.state);
    const seq = await this.commitJson(encodeOps(ops), change);
    this.states.set(seq, next);
    return seq;
  }

  /** Commits a delta as it stands; what state it makes is the caller's to say. */
  async commitJson(delta: string, change: Change = pureSettle): Promise<number> {
    const seq = this.head + 1;
    const parent = this.links.get(this.head) as Uint8Array;
    const at = 1_000 + seq;
    const changeJson = JSON.stringify(change);
    const { body: text, checksum } = encodeCheckpoint({ runKey: this.key, seq }, parent, at, changeJson, delta);
    const body = storedForm(seq, changeJson, text);
    await this.history.store.commit({
      claim: this.claim,
      checkpoint: { seq, at, body, checksum },
      durability: 'none',
    });
    this.links.set(seq, checksum);
    this.sizes.set(seq, body.length);
    this.head = seq;
    return seq;
  }
}

export class ModelHistory {
  readonly store: Store;
  readonly blobs: BlobStore;

  constructor(store: Store = createMemoryStore(), blobs: BlobStore = createMemoryBlobs()) {
    this.store = store;
    this.blobs = blobs;
  }

  async readRun(runId: string): Promise<RunRow> {
    const run = await this.store.readRun({ tenant, runId });
    if (run === undefined) throw new Error(`no run ${runId}`);
    return run;
  }

  async start(runId = 'run', tree: Tree = emptyTree()): Promise<ModelRun> {
    const ops = Object.entries(tree).map(([key, value]): ModelOp => ['s', [key], value]);
    return this.#admit(runId, ops, new Map([[-1, {}]]), new Map([[-1, rootChecksum]]), [{ kind: 'start' }]);
  }

  async fork(
    named: ModelRun,
    seq: number,
    runId: string,
    ops: readonly ModelOp[] = [],
    detail?: object,
  ): Promise<ModelRun> {
    // The parent is the run whose own checkpoint it is.
    let from = named;
    while (from.parent !== undefined && seq < from.first) from = from.parent;
    const upTo = <V>(map: Map<number, V>): Map<number, V> => new Map([...map].filter(([key]) => key <= seq));
    const parent = { runId: from.runId, seq };
    const change: Change = [{ kind: 'fork', from: parent, ...(detail !== undefined && { detail }) }];
    return this.#admit(runId, ops, upTo(from.states), upTo(from.links), change, from);
  }

  async #admit(
    runId: string,
    ops: readonly ModelOp[],
    states: Map<number, Tree>,
    links: Map<number, Uint8Array>,
    change: Change,
    parent?: ModelRun,
  ): Promise<ModelRun> {
    const key = runKeyOf(tenant, runId);
    const before = Math.max(...states.keys());
    const seq = before + 1;
    const link = links.get(before) as Uint8Array;
    const encoded = encodeCheckpoint({ runKey: key, seq }, link, 1_000 + seq, JSON.stringify(change), encodeOps(ops));
    const reply = await this.store.admitRun({
      tenant,
      runId,
      key,
      graphId: 'graph',
      graphHash: 'g1',
      status: 'running',
      meta: new Uint8Array(),
      ...(parent === undefined ? {} : { parent: { runId: parent.runId, seq: before } }),
      checkpoint: { seq, at: 1_000 + seq, ...encoded },
      waits: [],
      claim: { workerId: 'w', leaseMs: 1e9 },
      durability: 'none',
    });
    if (reply.claim === undefined) throw new Error('not claimed');
    states.set(seq, ops.reduce(applyModelOp, states.get(before) as Tree));
    links.set(seq, encoded.checksum);
    const run = new ModelRun(this, reply.claim, states, links, parent);
    run.sizes.set(seq, encoded.body.length);
    return run;
  }
}

const channel = (name: string): readonly string[] => ['frame', 'channels', 'scratch', name];

/** Turns random numbers into ops that fit the state at hand. */
function opsFor(run: ModelRun, picks: readonly (readonly [number, unknown])[]): ModelOp[] {
  const scratch = (run.state['frame'] as { channels: { scratch: Record<string, unknown> } }).channels.scratch;
  const known = new Map(Object.entries(scratch));
  return picks.map(([pick, value]): ModelOp => {
    const name = `c${pick % 3}`;
    const current = known.get(name);
    if (pick % 7 === 0 && known.has(name)) {
      known.delete(name);
      return ['d', channel(name)];
    }
    if (Array.isArray(current) && pick % 2 === 0) return ['a', channel(name), [value]];
    if (typeof current === 'string' && pick % 2 === 0) return ['t', channel(name), `+${pick}`];
    const next = pick % 5 === 0 ? [value] : value;
    known.set(name, next);
    return ['s', channel(name), next];
  });
}

const anyValue = fc.oneof(
  fc.string(),
  fc.string({ unit: 'binary' }),
  fc.jsonValue({ maxDepth: 2 }),
  fc.date({ noInvalidDate: true }),
  fc.bigInt(),
  fc.constant(new Map([['k', new Set([1])]])),
  fc.record({ $: fc.constantFrom('date', 'blob', 'map'), v: fc.string() }),
);
/** What happens to a history, in random numbers. */
export const anyStep = fc.record({
  picks: fc.array(fc.tuple(fc.nat(100), anyValue), { maxLength: 4 }),
  isSnapshot: fc.boolean(),
  fork: fc.option(fc.tuple(fc.nat(), fc.nat()), { freq: 5 }),
});

export type Step = typeof anyStep extends fc.Arbitrary<infer T> ? T : never;
export const anySteps: fc.Arbitrary<Step[]> = fc.array(anyStep, { maxLength: 25 });

/** Writes runs and forks of forks, with snapshots at random places; the first run is `r0`. */
export async function writeHistory(steps: readonly Step[]): Promise<ModelRun[]> {
  const history = new ModelHistory();
  const runs = [await history.start('r0')];
  let run = runs[0] as ModelRun;
  for (const { fork, picks, isSnapshot } of steps) {
    if (fork !== null) {
      const from = runs[fork[0] % runs.length] as ModelRun;
      run = await history.fork(from, fork[1] % (from.head + 1), `r${runs.length}`);
      runs.push(run);
    }
    await run.commit(opsFor(run, picks));
    if (isSnapshot) {
      const root = structuredClone(run.state) as unknown as RunTree;
      await writeSnapshotOf(history.store, await run.row(), run.head, run.links.get(run.head) as Uint8Array, root);
    }
  }
  return runs;
}
