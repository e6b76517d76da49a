/** The central object of a run that is being advanced: its data, and its parts. */
import type { Graph } from '../../graph/graph.ts';
import { keySeedOf } from '../../history/stored/key-seed.ts';
import type { LoadedState } from '../../history/load/load.ts';
import type { BlobStore } from '../../ports/blobs.ts';
import type { Clock } from '../../ports/clock.ts';
import type { Ids } from '../../ports/ids.ts';
import type { Models } from '../../ports/model.ts';
import type { Telemetry } from '../../ports/telemetry.ts';
import type { Secrets } from '../../ports/secrets.ts';
import type { Claim, RunRow, Store } from '../../ports/store.ts';
import type { Intake } from '../../state/values/admit.ts';
import type { RunTree } from '../../state/tree.ts';
import type { Limits } from '../limits.ts';
import { Agenda } from './agenda.ts';
import { Committer, type Landed } from './committer.ts';
import type { Draft } from './draft.ts';
import type { EffectsInFlight } from './effects-in-flight.ts';
import { rootFrameRun, type FrameRun } from './frame-run.ts';
import { Ledger } from './ledger.ts';
import type { Loop } from './loop.ts';
import type { RecordedPast } from './recorded-past.ts';
import type { Pace } from './pace.ts';
import { RunSecrets } from './run-secrets.ts';
import { Standing, type Moment } from './standing.ts';

/** The engine's ports and settings, as one value. */
export interface EngineEnvironment {
  readonly store: Store;
  readonly blobs: BlobStore;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly secrets: Secrets | undefined;
  /** What is applied to every value taken in; undefined if nothing is kept out of the store. */
  readonly intake: Intake | undefined;
  readonly models: Models | undefined;
  readonly telemetry: Telemetry | undefined;
  readonly version: string | undefined;
  readonly limits: Limits;
  readonly tenant: string;
  readonly leaseMs: number;
  /** Keys of effects that are running in this process, for whatever run. */
  readonly effectsInFlight: EffectsInFlight;
  /** When its runs leave the event loop to others. */
  readonly pace: Pace;
}

/** What a run core is made of. */
export interface RunCoreOptions {
  readonly env: EngineEnvironment;
  readonly run: RunRow;
  readonly claim: Claim;
  readonly graph: Graph;
  readonly loaded: LoadedState;
  /** Over the loaded state, including what the resume itself has changed. */
  readonly draft: Draft;
  readonly loop: Loop;
  /** Values of the secrets that the run used before, by name. */
  readonly secrets: ReadonlyMap<string, string>;
  /** When the claim was requested. */
  readonly claimedAt: Moment;
  readonly onLanded: (landed: Landed, deltaBytes: number) => void;
  readonly onBroken: (error: unknown) => void;
}

/** One for each run being advanced. It makes no decisions; its parts do. */
export class RunCore {
  readonly env: EngineEnvironment;
  readonly run: RunRow;
  readonly claim: Claim;
  readonly loop: Loop;
  readonly agenda: Agenda = new Agenda();
  readonly ledger: Ledger = new Ledger();
  readonly draft: Draft;
  readonly committer: Committer;
  readonly standing: Standing;
  readonly rootFrame: FrameRun;
  /** The head that this process loaded. Views at or after it show the current state. */
  readonly resumedSeq: number;
  /** Older states that activations saw, as they were loaded, by seq. */
  readonly pinnedRoots: Map<number, Promise<RunTree>> = new Map();
  /** Seed of the run's idempotency keys (X1). */
  readonly keySeed: string;
  /** The secrets that the run has used. They are masked in everything it takes in. */
  readonly secrets: RunSecrets;
  /** What a fork may take over of its ancestors. Set once, before the loop starts; undefined if the run is not a fork. */
  replay: RecordedPast | undefined;

  constructor(options: RunCoreOptions) {
    const { env, run, claim, graph, loaded } = options;
    this.env = env;
    this.run = run;
    this.claim = claim;
    this.loop = options.loop;
    this.draft = options.draft;
    this.draft.hasBlobs = loaded.seq > 0;
    this.standing = new Standing(claim.leaseMs, options.claimedAt);
    this.resumedSeq = loaded.seq;
    this.keySeed = keySeedOf(run);
    this.secrets = new RunSecrets(env.intake, options.secrets);
    this.rootFrame = rootFrameRun(graph, loaded.root.frame, this.draft.delta);
    this.committer = new Committer({
      store: env.store,
      claim,
      runKey: run.key,
      seq: loaded.seq,
      checksum: loaded.checksum,
      draft: this.draft,
      clock: env.clock,
      limits: env.limits,
      onLanded: options.onLanded,
      onBroken: options.onBroken,
    });
  }

  get runId(): string {
    return this.run.runId;
  }

  /** The run's whole state. Change it only through {@link draft} and the frames. */
  get root(): RunTree {
    return this.draft.root;
  }

  /** The seq of the checkpoint that will hold what happens now. */
  get nextSeq(): number {
    return this.committer.seq + (this.draft.isPending ? 1 : 0);
  }

  /** The root frame and every live child frame. */
  frames(): readonly FrameRun[] {
    return [this.rootFrame, ...this.agenda.childFrames];
  }
}
