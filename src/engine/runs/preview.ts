/** Says what a resume or a fork would do, by planning it without running anything (X5). */
import type { Graph, GraphNode } from '../../graph/graph.ts';
import { loadState, type LoadedState } from '../../history/load.ts';
import type { RunRow, Store } from '../../ports/store.ts';
import { DeltaBuilder } from '../../state/delta.ts';
import type { NodeRecord } from '../../state/tree.ts';
import { type Activation, rootFrameRun } from '../run/frame-run.ts';
import type { ForkOptions, Prediction, PreviewRow } from '../api.ts';
import { cancelActivation } from '../settle/cancel.ts';
import { Committer } from '../run/committer.ts';
import { draftFork } from './fork.ts';
import { prepareStart } from '../drive/prepare.ts';
import { ReplaySource, type ReplayStart } from '../replay/replay.ts';
import { hasOtherCode } from './graph-change.ts';
import { recordRoutes, takeRoutesAgain } from './reroute.ts';
import { RunCore, type EngineEnvironment, type QueuedStart } from '../run/run-core.ts';
import { settleCancelled } from '../settle/settle.ts';
import { pendingOf } from '../record/pending.ts';

/** What is previewed: the fork that the options say, or a resume. */
export interface PreviewOptions extends ForkOptions {
  readonly asFork?: boolean;
}

/** @throws CHECKPOINT_NOT_FOUND, CHECKPOINT_PRUNED, WAIT_NOT_FOUND, ANSWER_INVALID */
export async function previewRun(
  env: EngineEnvironment,
  run: RunRow,
  seq: number,
  graph: Graph,
  options: PreviewOptions,
): Promise<readonly PreviewRow[]> {
  const isFork =
    options.asFork === true || options.set !== undefined || options.answers !== undefined || seq < run.head;
  // What is large stays where it is: a preview writes nothing.
  const limits = { ...env.limits, inlineBytes: Number.POSITIVE_INFINITY };
  const draft = isFork ? await draftFork({ ...env, limits }, run, seq, options, async () => graph) : undefined;
  const loaded = draft?.loaded ?? (await loadState(env.store, env.blobs, run, seq));
  const core = dryCore(env, run, graph, loaded);
  const preview = new Preview(core);
  if (draft !== undefined) {
    core.isPatched = options.set !== undefined || options.answers !== undefined || draft.differences.length > 0;
    const fork = { ...run, runId: `${run.runId}\0preview`, parent: { runId: run.runId, seq: draft.from } };
    core.replay = await ReplaySource.load(core, fork, preview.afterReplay);
  } else if (run.parent !== undefined) core.replay = await ReplaySource.load(core, run, preview.afterReplay);
  return preview.predict();
}

/** A core that plans and settles as the real one does, over a store that keeps nothing. */
function dryCore(env: EngineEnvironment, run: RunRow, graph: Graph, loaded: LoadedState): RunCore {
  const rerouted = takeRoutesAgain(loaded.root, graph);
  const delta = new DeltaBuilder();
  const claim = { tenant: run.tenant, runId: run.runId, workerId: env.ids.workerId, token: 0, leaseMs: 0 };
  const store = { commit: async () => ({ isHeld: true }) } as unknown as Store;
  const core = new RunCore({ env: { ...env, store: env.store }, run, claim, root: loaded.root, delta });
  core.isDry = true;
  if (hasOtherCode(loaded.root, graph)) loaded.root.rerunPure = true;
  core.resumedSeq = 0;
  core.committer = new Committer({
    store,
    claim,
    runKey: run.key,
    seq: loaded.seq,
    checksum: loaded.checksum,
    delta,
    clock: env.clock,
    limits: env.limits,
    countPending: () => pendingOf(loaded.root),
    onLanded: () => {},
    onBroken: () => {},
  });
  core.rootFrame = rootFrameRun(graph, loaded.root.frame, delta);
  recordRoutes(core, rerouted);
  return core;
}

class Preview {
  readonly #core: RunCore;
  readonly #rows: PreviewRow[] = [];
  /** Nodes whose outcome only running them can tell. */
  readonly #untold: number[] = [];
  #wake: (() => void) | undefined;
  #fault: unknown;

  constructor(core: RunCore) {
    this.#core = core;
    core.requestTurn = () => this.#wake?.();
    core.fail = (error) => {
      this.#fault = error;
      this.#wake?.();
    };
    core.onReplay = (activation, from) =>
      this.#add(activation, activation.node.effect === 'pure' ? 'reused' : 'replayed', `${from.runId}@${from.seq}`);
    core.onSupplied = (activation) => this.#add(activation, 'restored', 'set by the fork');
    core.onDoubt = (activation, record) => this.#doubt(activation, record);
  }

  /** What is told of an activation that is not taken over. */
  readonly afterReplay: ReplayStart = {
    anyway: (_, activation) => this.#told(activation),
    judge: (_, activation, record) => this.#doubt(activation, record),
  };

  async predict(): Promise<readonly PreviewRow[]> {
    const core = this.#core;
    const { concurrency } = core.rootFrame.graph.policies;
    this.#restored();
    const step = core.rootFrame.plan.initial();
    for (const start of step.start) core.queue.push({ frameRun: core.rootFrame, start });
    for (const index of step.cancel) cancelActivation(core, core.rootFrame, index);
    for (;;) {
      while (core.queue.length > 0 && core.busyCount < concurrency)
        prepareStart(core, core.queue.shift() as QueuedStart);
      for (const activation of core.cancelled.splice(0)) settleCancelled(core, activation);
      for (const activation of core.launches.splice(0)) this.#told(activation);
      core.replay?.pump();
      if (this.#fault !== undefined) throw this.#fault;
      const hasRoom = core.queue.length > 0 && core.busyCount < concurrency;
      if (hasRoom || core.launches.length + core.cancelled.length > 0) continue;
      if (core.replay?.isBusy !== true) break;
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
    this.#unstarted();
    this.#unknown();
    return this.#rows;
  }

  #restored(): void {
    const { rootFrame } = this.#core;
    for (const node of rootFrame.graph.nodes) {
      const record = rootFrame.recordOf(node);
      if (node.index < 2 || record?.fired === undefined || rootFrame.plan.stateOf(node.index) !== 'settled') continue;
      this.#rows.push({ node: [node.id], visit: record.visits ?? 1, effect: node.effect, prediction: 'restored' });
    }
  }

  #doubt(activation: Activation, record: NodeRecord): void {
    const { node } = activation;
    this.#rows.push(this.#doubtRow(activation.path, record, node.idempotent || record.applied === 'no', node.effect));
    this.#untold.push(node.index);
  }

  #doubtRow(path: readonly string[], record: NodeRecord, runsAgain: boolean, effect: string): PreviewRow {
    return { node: path, visit: record.visits ?? 1, effect, prediction: runsAgain ? 'runs again' : 'in doubt' };
  }

  /** An activation that would run: what comes of it, only running it can tell. */
  #told(activation: Activation): void {
    const { node, frameRun } = activation;
    const record = frameRun.openRecordOf(node);
    const hasRun = record !== undefined || this.#core.replay?.hasRecord(activation.path) === true;
    const isAsking = node.effect === 'human' && !isAnswered(record);
    this.#add(activation, isAsking ? 'asks' : hasRun ? 'runs again' : 'runs', undefined);
    this.#untold.push(node.index);
  }

  #add(activation: Activation, prediction: Prediction, because: string | undefined): void {
    const { path, visit, node } = activation;
    this.#rows.push({
      node: path,
      visit,
      effect: node.effect,
      prediction,
      ...(because === undefined ? {} : { because }),
    });
  }

  /** What has no room beside those that run starts later, and sees what they leave. */
  #unstarted(): void {
    const { graph } = this.#core.rootFrame;
    const because = graph.nodes[this.#untold[0] ?? 0]?.id ?? '';
    for (const { frameRun, start } of this.#core.queue.splice(0)) {
      const node = frameRun.graph.nodes[start.node] as GraphNode;
      this.#rows.push({
        node: frameRun.pathOf(node),
        visit: start.visit,
        effect: node.effect,
        prediction: 'unknown',
        because,
      });
      this.#untold.push(start.node);
    }
  }

  /** Whatever an untold outcome leads to, and is not settled, is unknown until that node has run. */
  #unknown(): void {
    const { graph, plan } = this.#core.rootFrame;
    const seen = new Set<number>(this.#untold);
    for (const origin of this.#untold) {
      const queue = [origin];
      for (let index = queue.pop(); index !== undefined; index = queue.pop()) {
        for (const edge of graph.nodes[index]?.outgoing ?? []) {
          const target = graph.nodes[edge.to];
          if (target === undefined || target.index < 2 || seen.has(edge.to)) continue;
          seen.add(edge.to);
          queue.push(edge.to);
          this.#rows.push({
            node: [target.id],
            visit: plan.visitOf(target.index) + 1,
            effect: target.effect,
            prediction: 'unknown',
            because: graph.nodes[origin]?.id ?? '',
          });
        }
      }
    }
  }
}

/** It goes on with the answers it has, whether or not it asks anew. */
function isAnswered(record: NodeRecord | undefined): boolean {
  const questions = Object.values(record?.steps ?? {}).filter(({ kind }) => kind === 'ask');
  return questions.length > 0 && questions.every(({ status }) => status === 'done');
}
