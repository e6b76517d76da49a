/** The store in a folder, whose process dies at each of its calls to the file system: before it, in the middle of a write, and in power cuts. */
import { join } from 'node:path';
import { inspect } from 'node:util';
import { afterAll, describe, expect, test, vi } from 'vitest';
import { createFileBlobs } from '../../src/blobs/file-blobs.ts';
import type { Store } from '../../src/ports/store.ts';
import { openFileStore } from '../../src/stores/file/index.ts';
import { compareTrials } from '../../src/testing/crash-kit/compare-trials.ts';
import { crashFree, runTrial } from '../../src/testing/crash-kit/crash-everywhere.ts';
import type { CrashCase, CrashKitOptions, CrashStorage } from '../../src/testing/crash-kit/process-life.ts';
import {
  admission,
  checkpoint,
  commitOf,
  keyOf,
  leaseMs,
  snapshot,
  startRun,
} from '../../src/testing/store-suite/examples.ts';
import { createSeededRandom } from '../../src/ports/seeded-random.ts';
import { agentCase, planAgent } from '../agents/agent-plan.ts';
import { wholeCase, wholeLimits } from '../crash/cases/whole.ts';
import { planRandomGraph } from '../random-graph/plan-random-graph.ts';
import { randomGraphCase } from '../random-graph/random-graph.ts';
import { createTrialFolder } from '../support/crash-storage.ts';
import { FileKills, type FilePoint, type Loss } from '../support/file-kills.ts';
import { contentsOf, fillStore } from '../support/filled-store.ts';
import { sample, scale, seeds } from '../support/scale.ts';

const folder = createTrialFolder();
afterAll(folder.remove);

/** Opens the store, in as many processes as die of it. */
function openAgain(kills: FileKills, open: () => Store): Store {
  for (;;) {
    kills.revive();
    try {
      return open();
    } catch (error) {
      if (!kills.isDead) throw error;
    }
  }
}

const kindOf = ({ when }: FilePoint): string => when;
const describePoints = (points: readonly FilePoint[]): string =>
  points.map(({ number, when }) => `${when} file call ${number}`).join(', then ');

/** All that the store has as text. Each opening gives numbers of its own, which are not compared. */
async function textOf(store: Store): Promise<string> {
  const text = inspect(await contentsOf(store), { depth: null, maxArrayLength: null, sorted: true });
  return text.replaceAll(/ id: (\d+)/gu, (_, id: string) => ` id: ${Number(id) % 2 ** 30}`);
}

/** Every kind of write to a store, the last of which is pruned. */
async function write(store: Store, onWrite: () => Promise<void>): Promise<void> {
  await fillStore(store, onWrite);
  const { claim } = await store.claimRun({ ...keyOf('first'), workerId: 'two', leaseMs });
  await store.pruneRun({
    ...keyOf('first'),
    token: claim?.token ?? 0,
    remove: [0, 1],
    replace: [checkpoint(3, 'all of it')],
    snapshots: [snapshot(3)],
    prunedBelow: 3,
  });
  await onWrite();
}

test(
  'S2 a write during which the process dies is there or is not, and all before it is',
  { timeout: 600_000 },
  async () => {
    const warn = vi.spyOn(process, 'emitWarning').mockImplementation(() => {});
    const states: string[] = [];
    const trial = async (fatal: readonly FilePoint[]): Promise<readonly FilePoint[]> => {
      const path = folder.empty();
      const open = (): Store => openFileStore({ path, identity: 'one', now: () => 1_700_000_000_000 });
      const kills = new FileKills(path, () => {}, fatal);
      let writes = 0;
      try {
        let store = openAgain(kills, open);
        const isQuiet = fatal.length === 0;
        if (isQuiet) states.push(await textOf(store));
        await write(store, async () => {
          writes += 1;
          if (isQuiet) states.push(await textOf(store));
        }).catch((error: unknown) => {
          if (!kills.isDead) throw error;
        });
        await store.close();
        store = openAgain(kills, open);
        const found = await textOf(store);
        const expected = isQuiet ? [states[writes]] : [states[writes], states[writes + 1]];
        if (!expected.includes(found))
          throw new Error(`${describePoints(fatal)}: after write ${writes} the store has ${found}`);
        await store.close();
        return kills.points;
      } finally {
        kills.restore();
      }
    };
    try {
      const points = await trial([]);
      expect(states.length).toBeGreaterThan(15);
      const chosen = sample(points, 24, kindOf);
      for (const point of chosen) await trial([point]);
      // Once more while the next process opens the folder: it notes its opening, and cuts what was torn.
      const again = sample(points, 6, kindOf);
      for (const point of again)
        for (let number = 1; number <= 4; number += 1)
          await trial([point, { number, when: number % 2 ? 'before' : 'within' }]);
      console.log(
        `writes to a folder: the process died at ${chosen.length} of ${points.length} file calls, and ${again.length * 4} times twice`,
      );
    } finally {
      warn.mockRestore();
    }
  },
);

test('S2 what is synced has all before it, of other runs too, over a power cut', async () => {
  const path = folder.empty();
  const open = (): Store => openFileStore({ path, now: () => 1_700_000_000_000 });
  const kills = new FileKills(path, () => {}, [], 'all');
  try {
    let store = openAgain(kills, open);
    const claim = await startRun(store, 'original');
    for (let seq = 1; seq <= 3; seq += 1) await store.commit(commitOf(claim, seq));
    await store.admitRun(admission('fork', { parent: { runId: 'original', seq: 3 }, durability: 'power' }));
    kills.die();
    await store.close();
    store = openAgain(kills, open);
    expect((await store.readRun(keyOf('original')))?.head).toBe(3);
    expect((await store.readRun(keyOf('fork')))?.head).toBe(4);
    await store.close();
  } finally {
    kills.restore();
  }
});

/** Runs a case once for each point at which its process can die in the middle of the store's work. */
async function crashFiles(
  crashCase: CrashCase,
  gate: number,
  limits: NonNullable<CrashKitOptions['limits']>,
  loss: Loss,
): Promise<{ readonly trials: number; readonly faults: readonly string[] }> {
  let fatal: readonly FilePoint[] = [];
  let kills: FileKills | undefined;
  const options: CrashKitOptions = {
    limits,
    open: (now, kill) => {
      const path = folder.empty();
      const own = new FileKills(path, kill, fatal, loss);
      kills = own;
      const reopen = (): CrashStorage => ({
        store: openAgain(own, () => openFileStore({ path, now })),
        blobs: createFileBlobs(join(path, 'blobs'), now),
        reopen,
      });
      return reopen();
    },
  };
  const faults: string[] = [];
  const warn = vi.spyOn(process, 'emitWarning').mockImplementation(() => {});
  try {
    const expected = await crashFree(crashCase, options).finally(() => kills?.restore());
    const chosen = sample(kills?.points ?? [], gate, kindOf);
    for (const [index, point] of chosen.entries()) {
      // Every third one dies once more as the next process opens the folder.
      fatal = [point, ...(index % 3 === 0 ? [{ number: 1 + (index % 4), when: 'within' } as const] : [])];
      const trial = await runTrial(crashCase, options, [])
        .catch((error: unknown) => String((error as Error).stack))
        .finally(() => kills?.restore());
      const found =
        typeof trial === 'string'
          ? [trial]
          : [
              // A power cut takes commits of work that may run again.
              ...(loss === 'nothing' ? trial.faults : []),
              ...compareTrials(crashCase.isScheduleFree ?? true, trial.crashes, expected, trial),
            ];
      if (found.length > 0) faults.push(`died ${describePoints(fatal)}: ${found.join('; ')}`);
    }
    return { trials: chosen.length, faults };
  } finally {
    warn.mockRestore();
  }
}

describe.each<Loss>(['nothing', 'all', 'every other file'])('losing %s of what was not synced', (loss) => {
  test(
    `P1 P2 a run whose process dies at a file call ends as if it never did, losing ${loss}`,
    { timeout: 1_200_000 },
    async () => {
      const report = await crashFiles(wholeCase, 4, wholeLimits, loss);
      expect(report.faults).toEqual([]);
      let { trials } = report;
      const limits = { inlineBytes: 64 };
      for (const seed of seeds(0, 25)) {
        const cases = [
          randomGraphCase(planRandomGraph(seed, { nodesMost: 4 })),
          agentCase(planAgent(createSeededRandom(seed * 7_919))),
        ];
        for (const one of cases) {
          const { trials: more, faults } = await crashFiles(one, 4, limits, loss);
          expect(faults, `seed ${seed}`).toEqual([]);
          trials += more;
        }
      }
      console.log(`runs in a folder, losing ${loss}: the process died at ${trials} file calls`);
      expect(trials).toBeGreaterThan(scale(3, 100));
    },
  );
});
