/** Random workers that take, keep, lose and give back places: no prefix of what they do has more holders than the limit, and nobody is stuck. */
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, test } from 'vitest';
import { openOn, preparePostgres } from '../../../test/support/postgres-store.ts';
import { seeds } from '../../../test/support/scale.ts';
import { CairnError } from '../../errors.ts';
import { defineLimit } from '../../graph/limit.ts';
import type { LimitStore, LimitWrite } from '../../ports/limits.ts';
import type { Claim, Renewal, Store } from '../../ports/store.ts';
import { createMemoryStore } from '../../stores/memory/memory-store.ts';
import { openSqliteStore } from '../../stores/sqlite/sqlite-store.ts';
import { createSeededRandom, type SeededRandom } from '../../ports/seeded-random.ts';
import { admission, commitOf, leaseMs, tenant } from '../../testing/store-suite/examples.ts';
import { LimitRecords } from './limit-records.ts';
import { stateOf } from './place-state.ts';
import { RunPlaces } from './run-places.ts';

const most = 2;
type Advance = (ms: number) => Promise<void> | void;
const limit = defineLimit('random-runs', { concurrency: most, counts: 'claimed' });
const keys = [{ name: limit.name, key: limit.name }];

/**
 * What each write of the limit's record did, in the write's own transaction: it is written over the version that was read, so the records
 * that were written are all the prefixes of what was granted, given back and revoked.
 */
class GrantLog {
  readonly #holders = new Map<string, readonly string[]>();
  /** Claims whose places were given back or revoked. */
  readonly #gone = new Set<string>();
  grants = 0;

  note({ changes }: LimitWrite): void {
    for (const { name, version, expected = '', body } of changes) {
      if (!name.startsWith('place ')) continue;
      const { holders, reservations } = stateOf(body);
      assert.ok(holders.length <= most, `${holders.length} holders in one record`);
      assert.ok(
        holders.length + reservations.length <= most + 16,
        'more places are reserved than leave a line at once',
      );
      const before = this.#holders.get(expected) ?? [];
      const claims = holders.map(nameOf);
      this.#holders.set(version, claims);
      this.grants += claims.filter((claim) => !before.includes(claim)).length;
      for (const claim of before) if (!claims.includes(claim)) this.#gone.add(claim);
    }
  }

  /** Who could renew a claim still has its place: what was taken from it was revoked first. */
  renewed(claims: readonly Claim[], renewals: readonly Renewal[]): void {
    for (const [index, claim] of claims.entries())
      assert.ok(
        renewals[index]?.isHeld !== true || !this.#gone.has(nameOf(claim)),
        `${claim.runId} has lost its place`,
      );
  }
}

const nameOf = ({ runId, token }: { readonly runId: string; readonly token?: number }): string => `${token} ${runId}`;

/** Notes what was written when it is. */
function logged(store: LimitStore, log: GrantLog): LimitStore {
  return {
    ...store,
    write: async (write) => {
      const isWritten = await store.write(write);
      if (isWritten) log.note(write);
      return isWritten;
    },
  };
}

/** Calls that reach the store some turns later, in any order. */
function unsteady(store: LimitStore, random: SeededRandom): LimitStore {
  return new Proxy(store, {
    get: (target, name) => {
      const member: unknown = Reflect.get(target, name);
      if (typeof member !== 'function') return member;
      return async (...args: unknown[]): Promise<unknown> => {
        for (let turns = random.integer(4); turns > 0; turns -= 1)
          await new Promise((resolve) => setImmediate(resolve));
        return (member as (...given: unknown[]) => unknown).apply(target, args);
      };
    },
  });
}

/** Whether nobody has claimed the run since: asked with a commit that is refused in either case. */
async function isNewest(store: Store, claim: Claim): Promise<boolean> {
  try {
    await store.commit(commitOf(claim, 999));
  } catch (error) {
    return CairnError.is(error, 'COMMIT_CONFLICT');
  }
  return true;
}

interface Held {
  readonly claim: Claim;
  readonly worker: number;
  isFrozen: boolean;
}

class Fleet {
  readonly #store: Store;
  readonly #random: SeededRandom;
  readonly #advance: Advance;
  readonly log = new GrantLog();
  readonly #workers: readonly RunPlaces[];
  #held: Held[] = [];
  readonly ready: Promise<void>[] = [];
  done = 0;

  constructor(stores: readonly [Store, ...Store[]], random: SeededRandom, advance: Advance, now: () => number) {
    this.#store = stores[0];
    this.#random = random;
    this.#advance = advance;
    const setTimer = (_: number, call: () => void): (() => void) => {
      setImmediate(call);
      return () => undefined;
    };
    const clock = { now, monotonic: now, setTimer };
    this.#workers = [0, 1, 2].map((index) => {
      const limits = unsteady(logged((stores[index % stores.length] as Store).limits as LimitStore, this.log), random);
      const records = new LimitRecords({ store: limits, tenant, clock, workerId: `w${index}` });
      this.ready.push(records.define(limit));
      return new RunPlaces(records, () => undefined);
    });
  }

  async look(worker: number): Promise<void> {
    const granted = await this.#store.claimNext({
      tenant,
      workerId: `w${worker}`,
      leaseMs,
      at: 1e15,
      limit: 1 + this.#random.integer(3),
    });
    for (const { claim, run } of granted) {
      const queued = await this.#workers[worker]?.enter({ claim, keys, mayBeInLine: run.status === 'paused' });
      if (queued !== undefined) continue;
      this.#held.push({ claim, worker, isFrozen: false });
      await this.#count();
    }
  }

  /** Those whose claims could be renewed are no more than the limit. */
  async #count(): Promise<void> {
    const newest = await Promise.all(this.#held.map(async ({ claim }) => isNewest(this.#store, claim)));
    this.#held = this.#held.filter((_, index) => newest[index] === true);
    assert.ok(this.#held.length <= most, `${this.#held.length} hold places`);
  }

  /** Ends a run, and is killed right after at times. */
  async end(): Promise<void> {
    const one = this.#held.splice(this.#random.integer(this.#held.length || 1), 1)[0];
    if (one === undefined) return;
    const commit = commitOf(one.claim, 1, { status: 'completed', releases: true });
    await this.#store.commit(commit).then(
      () => (this.done += 1),
      // Its lease may have run out while another one froze.
      (error: unknown) => assert.ok(CairnError.is(error, 'CLAIM_FENCED'), String(error)),
    );
    if (this.#random.chance(0.7)) await this.#workers[one.worker]?.leave(one.claim, keys, true);
  }

  /** A process stands still for longer than a lease; the others renew theirs. */
  async freeze(): Promise<void> {
    const one = this.#held[this.#random.integer(this.#held.length || 1)];
    if (one === undefined) return;
    one.isFrozen = true;
    await this.#advance(leaseMs / 2 + 1);
    await this.#renew(this.#held.filter(({ isFrozen }) => !isFrozen));
    await this.#advance(leaseMs / 2 + 1);
  }

  async #renew(held: readonly Held[]): Promise<readonly Renewal[]> {
    const claims = held.map(({ claim }) => claim);
    const renewals = await this.#store.renewClaims(claims);
    this.log.renewed(claims, renewals);
    return renewals;
  }

  /** It wakes up, and renews what it still has. */
  async thaw(): Promise<void> {
    const frozen = this.#held.filter(({ isFrozen }) => isFrozen);
    const renewals = await this.#renew(frozen);
    frozen.forEach((one, index) => {
      if (renewals[index]?.isHeld === true) one.isFrozen = false;
      else this.#held = this.#held.filter((other) => other !== one);
    });
  }

  async sweep(worker: number): Promise<void> {
    await this.#advance(leaseMs / 4);
    await this.#workers[worker]?.sweep();
  }

  /** One stands still, others take its place from it, and it wakes up before anybody has claimed its run: it must not renew. */
  async oversleep(worker: number): Promise<void> {
    await this.freeze();
    await this.sweep(worker);
    await this.thaw();
  }

  async act(): Promise<void> {
    const worker = this.#random.integer(3);
    const acts = [
      () => Promise.all([this.look(0), this.look(1), this.look(2)]),
      () => this.look(worker),
      () => Promise.all([this.end(), this.look(worker)]),
      () => this.end(),
      () => Promise.all([this.freeze(), this.end()]),
      () => this.thaw(),
      () => Promise.all([this.sweep(worker), this.look(0)]),
      () => this.oversleep(worker),
    ];
    await acts[this.#random.integer(acts.length)]?.();
  }
}

/** Plays over a store, and further connections to it, which some of the workers use. @param advanceStore - moves the store’s clock, if it has one */
async function play(
  [store, ...others]: readonly [Store, ...Store[]],
  seed: number,
  clock: { timeMs: number },
  advanceStore: Advance = () => undefined,
): Promise<void> {
  const random = createSeededRandom(seed);
  const advance: Advance = (ms) => {
    clock.timeMs += ms;
    return advanceStore(ms);
  };
  const fleet = new Fleet([store, ...others], random, advance, () => clock.timeMs);
  await Promise.all(fleet.ready);
  const count = 8;
  for (let index = 0; index < count; index += 1) await store.admitRun(admission(`run-${index}`));
  for (let index = 0; index < 25; index += 1) await fleet.act();
  // From now on nobody is killed: whatever was left behind is healed, and every run has its turn.
  for (let rounds = 0; fleet.done < count; rounds += 1) {
    assert.ok(rounds < 200, `stuck with ${fleet.done} of ${count} done`);
    await advance(leaseMs + 11_000);
    await fleet.thaw();
    await fleet.sweep(rounds % 3);
    await fleet.look(rounds % 3);
    await fleet.end();
  }
  assert.ok(fleet.log.grants >= count, `${fleet.log.grants} grants for ${count} runs`);
}

test.each(seeds(40, 1_000))(
  'FL6 whatever workers do, die and freeze, no more than the limit hold places, in memory, seed %i',
  async (seed) => {
    const clock = { timeMs: 1_000_000 };
    await play([createMemoryStore({ now: () => clock.timeMs })], seed, clock);
  },
);

test.each(seeds(10, 2_000))('FL6 the same in SQLite over two connections, seed %i', async (seed) => {
  const folder = mkdtempSync(join(tmpdir(), 'cairn-places-'));
  const clock = { timeMs: 1_000_000 };
  const open = (): Store => openSqliteStore({ path: join(folder, 'store.db'), now: () => clock.timeMs });
  const [store, other] = [open(), open()];
  try {
    await play([store, other], seed, clock);
  } finally {
    await store.close();
    await other.close();
    rmSync(folder, { recursive: true });
  }
});

const server = await preparePostgres();

describe.skipIf(typeof server === 'string')(`Postgres${typeof server === 'string' ? `: ${server}` : ''}`, () => {
  if (typeof server === 'string') return;
  afterAll(() => server.stop());

  test.each(seeds(3, 2_000))('FL6 the same in Postgres over two connections, seed %i', async (seed) => {
    await server.empty();
    const [store, other] = [openOn(server), openOn(server)];
    try {
      await play([store, other], seed, { timeMs: Date.now() }, server.advance);
    } finally {
      await Promise.all([store.close(), other.close()]);
    }
  });
});
