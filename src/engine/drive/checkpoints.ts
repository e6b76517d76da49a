/** When a run makes a checkpoint, how durable it must be, and what waits for that (C10, E3, E4). */
import type { Durability } from '../../ports/store.ts';
import type { LoadCost } from '../../history/load/snapshot-policy.ts';
import type { RunCore } from '../run/run-core.ts';
import { SnapshotWriter } from './snapshot-writer.ts';

/** Parts of steps that gather in one checkpoint at most. */
const partsPerCheckpoint = 128;

/** One per advancing run. */
export class Checkpoints {
  readonly #core: RunCore;
  readonly #snapshots: SnapshotWriter;
  #isFlushScheduled = false;
  /** Whoever waits until all that is noted now is durable. */
  #durable: PromiseWithResolvers<void> | undefined;

  constructor(core: RunCore, cost: LoadCost) {
    this.#core = core;
    this.#snapshots = new SnapshotWriter(core, cost);
  }

  onLanded(sizeBytes: number): void {
    this.#snapshots.onLanded(sizeBytes);
  }

  requestFlush(): void {
    const { draft, env, loop } = this.#core;
    const flush = (): void => {
      draft.mustCommit = true;
      loop.requestTurn();
    };
    if (draft.partCount >= partsPerCheckpoint) return flush();
    if (this.#isFlushScheduled) return;
    this.#isFlushScheduled = true;
    env.clock.defer(() => {
      this.#isFlushScheduled = false;
      flush();
    });
  }

  whenDurable(): Promise<void> {
    this.#durable ??= Promise.withResolvers<void>();
    this.#core.draft.wantsPower = true;
    this.requestFlush();
    return this.#durable.promise;
  }

  /**
   * Makes the checkpoint that is asked for, if one is. Effects that were announced start when it is durable.
   * @param isSeal - somebody sees what gathered so far: it is a checkpoint of its own, whatever it holds
   */
  make(isSeal = false): void {
    const { agenda, committer, draft, rootFrame, root } = this.#core;
    if (!draft.mustCommit && agenda.gates.length === 0) return;
    const starters = agenda.gates.splice(0);
    if (draft.holdsEffect) starters.push(...agenda.launches.splice(0));
    const isPower = starters.length > 0 || draft.holdsEffect || draft.wantsPower;
    const isLazy = rootFrame.graph.policies.durability === 'exit';
    const durability: Durability = isPower ? 'power' : isLazy ? 'none' : 'process';
    draft.mustCommit = false;
    draft.holdsEffect = false;
    draft.wantsPower = false;
    // Ops without a reason join the next checkpoint that has one.
    const isPending = draft.isPending && (isSeal || draft.partCount > 0 || this.#durable !== undefined);
    if (isPending) {
      if (root.status !== 'running') draft.setStatus('running');
      committer.commit(durability);
      this.#snapshots.afterCommit();
    }
    const waiting = this.#durable;
    this.#durable = undefined;
    if (starters.length > 0 || waiting !== undefined) this.#startWhenSettled(starters, waiting);
  }

  #startWhenSettled(starters: RunCore['agenda']['gates'], waiting: PromiseWithResolvers<void> | undefined): void {
    const { agenda, committer, loop } = this.#core;
    agenda.gatedCount += starters.length;
    void committer.settled().then(() => {
      // What was announced and did not become durable must not begin.
      if (committer.broken !== undefined) return;
      agenda.gatedCount -= starters.length;
      agenda.launches.push(...starters);
      waiting?.resolve();
      loop.requestTurn();
    });
  }

  /** Makes the last checkpoint of a run that ends or pauses here; resolves when all are durable. */
  async makeLast(isPause: boolean): Promise<void> {
    const { committer, draft } = this.#core;
    if (draft.isPending) committer.commit('power');
    await committer.settled();
    if (committer.broken !== undefined) throw committer.broken;
    this.#durable?.resolve();
    if (isPause) await this.#snapshots.atPause();
  }
}
