import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { measureValue } from '../stored/measure-value.ts';
import { costOf, rowBytes, SnapshotPolicy } from './snapshot-policy.ts';

const nothingRead = { deltaBytes: 0, rows: 0, ownCost: 0, stateBytes: 0, snapshotSeq: undefined };

/** A phase of work: each commit overwrites or adds so many bytes. */
const anyPhase = fc.record({
  commits: fc.integer({ min: 1, max: 400 }),
  writtenBytes: fc.oneof(fc.integer({ min: 20, max: 200 }), fc.integer({ min: 20, max: 60_000 })),
  isGrowing: fc.boolean(),
  pauseEvery: fc.option(fc.integer({ min: 1, max: 50 }), { nil: undefined }),
  isReloaded: fc.boolean(),
});

interface Totals {
  deltaBytes: number;
  rows: number;
  snapshotBytes: number;
  /** The most that reading a head cost above what C4 allows. */
  excessBytes: number;
  snapshots: number;
}

type Phase = typeof anyPhase extends fc.Arbitrary<infer T> ? T : never;

/** Drives the policy as the engine does, with a model of what is stored. */
class Simulation {
  readonly totals: Totals = { deltaBytes: 0, rows: 0, snapshotBytes: 0, excessBytes: 0, snapshots: 0 };
  #policy = new SnapshotPolicy(nothingRead);
  #live = 300;
  #since = { deltaBytes: 0, rows: 0 };
  #snapshot: number | undefined;

  run(phase: Phase): void {
    // A resume in another process knows what it read, and no more.
    if (phase.isReloaded) {
      const { deltaBytes, rows } = this.#since;
      const known = { stateBytes: this.#snapshot ?? 0, snapshotSeq: this.#snapshot === undefined ? undefined : 0 };
      this.#policy = new SnapshotPolicy({ deltaBytes, rows, ownCost: costOf(deltaBytes, rows), ...known });
    }
    for (let i = 1; i <= phase.commits; i++) {
      this.#commit(phase.writtenBytes, phase.isGrowing);
      if (phase.pauseEvery !== undefined && i % phase.pauseEvery === 0 && this.#policy.isWorthAtPause(this.#live))
        this.#write();
    }
  }

  #commit(writtenBytes: number, isGrowing: boolean): void {
    const rowSize = writtenBytes + 150;
    // What is overwritten was there before, so the state is never more than all that was written.
    this.#live = isGrowing ? this.#live + writtenBytes : Math.max(this.#live, writtenBytes);
    this.#since.deltaBytes += rowSize;
    this.#since.rows += 1;
    this.totals.deltaBytes += rowSize;
    this.totals.rows += 1;
    this.#policy.onCommit(rowSize);
    if (this.#policy.isDue) this.#policy.onMeasure(this.#live);
    if (this.#policy.isDue) this.#write();
    const { deltaBytes, rows } = this.#since;
    this.totals.excessBytes = Math.max(
      this.totals.excessBytes,
      costOf(deltaBytes, rows) - (3 * this.#live + 64 * 1024),
    );
  }

  #write(): void {
    this.#policy.onSnapshot(this.#live);
    this.totals.snapshotBytes += this.#live;
    this.totals.snapshots += 1;
    this.#snapshot = this.#live;
    this.#since = { deltaBytes: 0, rows: 0 };
  }
}

test('C4 snapshots take at most half of the deltas and 0.5 KiB a checkpoint, and any head is read within three times its state', () => {
  let snapshots = 0;
  fc.assert(
    fc.property(fc.array(anyPhase, { minLength: 1, maxLength: 8 }), (phases) => {
      const simulation = new Simulation();
      for (const phase of phases) simulation.run(phase);
      const { deltaBytes, rows, snapshotBytes, excessBytes } = simulation.totals;
      expect(snapshotBytes).toBeLessThanOrEqual(deltaBytes / 2 + (rows * rowBytes) / 2);
      expect(excessBytes).toBe(0);
      snapshots += simulation.totals.snapshots;
    }),
    { numRuns: 500 },
  );
  expect(snapshots).toBeGreaterThan(1_000);
});

const phase = { commits: 1, writtenBytes: 100, isGrowing: false, pauseEvery: undefined, isReloaded: false };

test('C4 a state that only grows is never worth a snapshot', () => {
  const simulation = new Simulation();
  simulation.run({ ...phase, commits: 5_000, writtenBytes: 4_000, isGrowing: true });
  expect(simulation.totals.snapshots).toBe(0);
});

test('C4 a large state and then a counter gets snapshots, and one at the pause', () => {
  const simulation = new Simulation();
  simulation.run({ ...phase, commits: 200, writtenBytes: 2_048, isGrowing: true });
  simulation.run({ ...phase, commits: 9_800, writtenBytes: 20 });
  const before = simulation.totals.snapshots;
  expect(before).toBeGreaterThan(3);
  simulation.run({ ...phase, commits: 5, writtenBytes: 20, pauseEvery: 5 });
  expect(simulation.totals.snapshots).toBe(before + 1);
});

test('C4 a pause right after a snapshot writes none', () => {
  const policy = new SnapshotPolicy(nothingRead);
  policy.onCommit(10_000);
  expect(policy.isWorthAtPause(2_000)).toBe(true);
  policy.onSnapshot(2_000);
  expect(policy.isWorthAtPause(2_000)).toBe(false);
});

test('C4 the measured size is near the encoded one', () => {
  fc.assert(
    fc.property(
      fc.array(
        // What is measured was taken in, so that its objects are plain.
        fc.record(
          {
            name: fc.string({ minLength: 20, maxLength: 99, unit: 'grapheme-ascii' }),
            n: fc.nat(),
            on: fc.boolean(),
          },
          { noNullPrototype: true },
        ),
        { minLength: 5 },
      ),
      (rows) => {
        const ratio = measureValue(rows) / JSON.stringify(rows).length;
        expect(ratio).toBeGreaterThan(0.6);
        expect(ratio).toBeLessThan(1.4);
      },
    ),
  );
}, 30_000);

test('C4 values of every kind are measured', () => {
  const kinds = [
    new Uint8Array(3_000),
    new Map([['k', 'x'.repeat(3_000)]]),
    new Set(['x'.repeat(3_000)]),
    new Error('x'.repeat(3_000)),
  ];
  for (const value of kinds) expect(measureValue({ value })).toBeGreaterThan(2_900);
  for (const value of [new Date(), new URL('https://example.org'), 5n, null, undefined, true])
    expect(measureValue(value)).toBeLessThan(100);
});
