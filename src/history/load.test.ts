import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { ModelHistory, type ModelOp, type ModelRun } from '../../test/history/model-history.ts';
import { loadState, readHistory, writeSnapshotOf } from './load.ts';
import type { RunTree } from '../state/tree.ts';

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
const anyStep = fc.record({
  picks: fc.array(fc.tuple(fc.nat(100), anyValue), { maxLength: 4 }),
  isSnapshot: fc.boolean(),
  fork: fc.option(fc.tuple(fc.nat(), fc.nat()), { freq: 5 }),
});

test('C4 every checkpoint loads to its state, whatever snapshots and forks there are', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(anyStep, { maxLength: 25 }), async (steps) => {
      const history = new ModelHistory();
      const runs = [await history.start('r0')];
      let run = runs[0]!;
      for (const step of steps) {
        if (step.fork !== undefined && step.fork !== null) {
          const from = runs[step.fork[0] % runs.length]!;
          run = await history.fork(from, step.fork[1] % (from.head + 1), `r${runs.length}`, opsFor(from, []));
          runs.push(run);
        }
        await run.commit(opsFor(run, step.picks));
        if (step.isSnapshot) {
          const root = structuredClone(run.state) as unknown as RunTree;
          await writeSnapshotOf(history.store, await run.row(), run.head, run.links.get(run.head)!, root);
        }
      }
      for (const each of runs) {
        const row = await each.row();
        for (let seq = 0; seq <= each.head; seq++) {
          const loaded = await loadState(history.store, history.blobs, row, seq);
          expect(loaded.root).toEqual(each.states.get(seq));
          expect(Buffer.compare(loaded.checksum, each.links.get(seq)!)).toBe(0);
        }
        const seqs: number[] = [];
        for await (const { checkpoint } of readHistory(history.store, row, { from: 0, to: row.head }))
          seqs.push(checkpoint.seq);
        expect(seqs).toEqual(Array.from({ length: row.head + 1 }, (_, seq) => seq));
      }
    }),
    { numRuns: 150 },
  );
});
