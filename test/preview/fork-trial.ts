/** A case that is run, previewed and forked, on virtual time, over stores in memory. */
import { createMemoryBlobs } from '../../src/blobs/memory-blobs.ts';
import type { Engine, OpenQuestion, RunResult } from '../../src/engine/api.ts';
import { createEngine } from '../../src/engine/engine.ts';
import type { Graph } from '../../src/graph/graph.ts';
import type { BlobStore } from '../../src/ports/blobs.ts';
import type { Store } from '../../src/ports/store.ts';
import { createMemoryStore } from '../../src/stores/memory/memory-store.ts';
import { type CrashCase, mortalStore, Life, mortalOracle } from '../../src/testing/crash-kit/process-life.ts';
import { driveRun, createEffectOracle } from '../../src/testing/crash-kit/find-effect-faults.ts';
import { createSeededRandom } from '../../src/ports/seeded-random.ts';
import { createVirtualClock, type VirtualClock } from '../../src/ports/virtual-clock.ts';

export interface ForkTrial {
  readonly engine: Engine;
  readonly store: Store;
  readonly blobs: BlobStore;
  readonly graph: Graph;
  readonly clock: VirtualClock;
  /** Reads histories, which may take more turns of the event loop than a run that has nothing left to do. */
  readonly read: <Value>(work: () => Promise<Value>) => Promise<Value>;
  /** Questions that runs asked, in order. */
  readonly asked: readonly OpenQuestion[];
  /** Starts a run, or resumes it, and brings it to its end; a failed one is resumed so often. */
  readonly drive: (runId: string, resumesMost?: number) => Promise<RunResult>;
  /** The like in a process of its own, which is killed after so many writes to the store. */
  readonly driveUntilKilled: (runId: string, writes: number) => Promise<void>;
}

export const tenant = 'default';

/** Of the process that is killed; everybody knows that it is dead. */
const killedWorker = 'killed';

export function openForkTrial(crashCase: CrashCase, seed: number): ForkTrial {
  let reading = 0;
  const clock = createVirtualClock({ isBusy: () => reading > 0 });
  const read: ForkTrial['read'] = async (work) => {
    reading += 1;
    try {
      return await work();
    } finally {
      reading -= 1;
    }
  };
  const store = createMemoryStore({ now: clock.now });
  const blobs = createMemoryBlobs(clock.now);
  const effects = createEffectOracle();
  const random = createSeededRandom(seed);
  const asked: OpenQuestion[] = [];
  let runs = 0;
  const open = (workerId: string, life: Life): Pick<ForkTrial, 'engine' | 'graph' | 'drive'> => {
    const own = clock.openProcess(life);
    const { sleep } = own;
    const graph = crashCase.graph({ oracle: mortalOracle(effects, life), sleep }) as Graph;
    const ids = {
      workerId,
      createRunId: () => `fork-${(runs += 1)}`,
      random: () => random.next(),
      isWorkerDead: (id: string) => (id === killedWorker ? true : undefined),
    };
    const engine = createEngine({
      store: mortalStore(store, life),
      blobs,
      clock: own,
      ids,
      findGraph: () => graph,
    });
    const answer = (question: OpenQuestion): unknown => {
      asked.push(question);
      return crashCase.answer?.(question);
    };
    const driveOnce = (runId: string): Promise<RunResult> =>
      driveRun({
        engine,
        graph,
        runId,
        findEffect: (key) => effects.find(key),
        sleep,
        input: crashCase.input,
        users: { ...crashCase, answer },
        now: clock.now,
        isThere: async () => (await store.readRun({ tenant, runId })) !== undefined,
      });
    const drive = async (runId: string, resumesMost = 0): Promise<RunResult> => {
      let result = await driveOnce(runId);
      for (let resumes = 0; resumes < resumesMost && result.status === 'failed'; resumes += 1) {
        await (await engine.resume(runId, { graph })).result();
        result = await driveOnce(runId);
      }
      return result;
    };
    return { engine, graph, drive };
  };
  const driveUntilKilled = async (runId: string, writes: number): Promise<void> => {
    const life = new Life({ kind: 'write', number: writes, when: 'after' });
    await Promise.race([open(killedWorker, life).drive(runId), life.death]);
  };
  return { ...open('worker', new Life()), store, blobs, clock, read, asked, driveUntilKilled };
}
