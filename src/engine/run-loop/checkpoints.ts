/** Decides when a run makes a checkpoint, how durable it must be, and what waits for that (C10, E3, E4). */
import type { Durability } from '../../ports/store.ts';
import { isUnderWay, type RunStatus } from '../../state/tree.ts';
import type { LoadCost } from '../../history/load/snapshot-policy.ts';
import type { RunCore } from '../live-run/run-core.ts';
import { SnapshotWriter } from './snapshot-writer.ts';

/** The most step records in one checkpoint. */
const partsPerCheckpoint = 128;

/** One for each run being advanced. */
export class Checkpoints {
  readonly #core: RunCore;
  readonly #snapshots: SnapshotWriter;
  #isFlushScheduled = false;
  /** Resolved when everything noted up to now is durable. */
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
   * Makes a checkpoint if one was requested. Announced effects start when it is durable.
   * @param isSeal - somebody has to see the state as it is now, so it gets a checkpoint of its own, whatever it contains
   */
  make(isSeal = false): void {
    const { agenda, committer, draft, rootFrame, root } = this.#core;
    if (!draft.mustCommit && agenda.gates.length === 0) return;
    const starters = agenda.gates.splice(0);
    const beginsEffects = starters.length > 0;
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
      const status = root.cancel === undefined ? 'running' : 'cancelling';
      if (root.status !== status) draft.setStatus(status);
      committer.commit(durability, { beginsEffects });
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
      // An announcement that did not become durable must not lead to a start.
      if (committer.broken !== undefined) return;
      agenda.gatedCount -= starters.length;
      agenda.launches.push(...starters);
      waiting?.resolve();
      loop.requestTurn();
    });
  }

  /**
   * Makes the last checkpoint of a run that ends or pauses here, which gives the claim of one that has ended up. A run that goes on with what
   * follows its cancel or failure (`cancelling`, `running`) keeps its claim. Resolves when all
   * checkpoints are durable.
   * @returns whether the claim is still to be released
   */
  async makeLast(status: RunStatus): Promise<boolean> {
    const { committer, draft } = this.#core;
    const goesOn = isUnderWay(status);
    const releases = draft.isPending && status !== 'paused' && !goesOn;
    if (draft.isPending) committer.commit('power', { isLast: releases });
    await committer.settled();
    if (committer.broken !== undefined) throw committer.broken;
    this.#durable?.resolve();
    if (status === 'paused') await this.#snapshots.atPause();
    return !releases && !goesOn;
  }
}
