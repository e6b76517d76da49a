/** Says what a resume or a fork would do: its starts are decided by the same code, over a loop that runs and writes nothing (X5). */
import type { Graph, GraphNode } from '../../graph/graph.ts';
import type { Change, ChangePart } from '../../history/stored/change.ts';
import { loadState, readOwner, type LoadedState } from '../../history/load/load.ts';
import type { RunRow } from '../../ports/store.ts';
import type { NodeRecord } from '../../state/tree.ts';
import type { ForkOptions, Prediction, PreviewRow } from '../api.ts';
import { prepareStart } from '../drive/prepare.ts';
import { doubtViewOf, saidByPerson } from '../effects/judge.ts';
import { applyVerdict } from '../effects/judge-node.ts';
import { decideDoubt } from '../plan/decide-doubt.ts';
import { NodeEffort } from '../record/effort.ts';
import { ReplaySource } from '../replay/replay.ts';
import type { QueuedStart } from '../run/agenda.ts';
import { Draft } from '../run/draft.ts';
import type { Activation } from '../run/frame-run.ts';
import type { Loop } from '../run/loop.ts';
import { RunCore, type EngineEnvironment } from '../run/run-core.ts';
import { momentOf } from '../run/standing.ts';
import { startPlanned } from '../settle/cancel.ts';
import { settleCancelled } from '../settle/settle.ts';
import { draftFork } from './fork.ts';
import { hasOtherCode } from './graph-change.ts';
import { takeRoutesAgain } from './reroute.ts';

/** What is previewed: the fork that the options say, or a resume. */
export interface PreviewOptions extends ForkOptions {
  readonly asFork?: boolean;
}

/** @throws CHECKPOINT_NOT_FOUND, CHECKPOINT_PRUNED, WAIT_NOT_FOUND, ANSWER_INVALID */
export async function previewRun(
  outer: EngineEnvironment,
  run: RunRow,
  seq: number,
  graph: Graph,
  options: PreviewOptions,
): Promise<readonly PreviewRow[]> {
  const isFork =
    options.asFork === true || options.set !== undefined || options.answers !== undefined || seq < run.head;
  // What is large stays where it is: a preview writes nothing.
  const env = { ...outer, limits: { ...outer.limits, inlineBytes: Number.POSITIVE_INFINITY } };
  const draft = isFork ? await draftFork(env, run, seq, options, async () => graph) : undefined;
  const preview = new Preview(env, run, graph, draft?.loaded ?? (await loadState(env.store, env.blobs, run, seq)));
  const { core } = preview;
  if (draft !== undefined) {
    const isPatched = options.set !== undefined || options.answers !== undefined || draft.differences.length > 0;
    const owner = await readOwner(env.store, run, draft.from);
    const fork = { ...run, runId: `${run.runId}\0preview`, parent: { runId: owner.runId, seq: draft.from } };
    core.replay = await ReplaySource.load(core, fork, isPatched);
  } else if (run.parent !== undefined) core.replay = await ReplaySource.load(core, run);
  return preview.predict();
}

/** A loop that begins nothing: it writes down what would begin, and settles what needs no running. */
class Preview implements Loop {
  readonly core: RunCore;
  readonly isWatched = false;
  readonly #rows: PreviewRow[] = [];
  /** Nodes whose outcome only running them can tell, by index, with the visit. */
  readonly #untold = new Map<number, number>();
  #judging = 0;
  #wake: (() => void) | undefined;
  #fault: unknown;

  constructor(env: EngineEnvironment, run: RunRow, graph: Graph, loaded: LoadedState) {
    const { root } = loaded;
    const draft = new Draft(run, root);
    takeRoutesAgain(draft, graph);
    if (hasOtherCode(root, graph)) root.rerunPure = true;
    const claim = { tenant: run.tenant, runId: run.runId, workerId: env.ids.workerId, token: 0, leaseMs: 0 };
    this.core = new RunCore({
      env,
      run,
      claim,
      graph,
      loaded,
      draft,
      loop: this,
      claimedAt: momentOf(env.clock),
      onLanded: () => {},
      onBroken: () => {},
    });
  }

  async predict(): Promise<readonly PreviewRow[]> {
    const { agenda, rootFrame, replay } = this.core;
    const { concurrency } = rootFrame.graph.policies;
    this.#restored();
    startPlanned(this.core, rootFrame, rootFrame.plan.initial());
    for (;;) {
      while (agenda.queue.length > 0 && agenda.busyCount < concurrency)
        prepareStart(this.core, agenda.queue.shift() as QueuedStart);
      for (const activation of agenda.cancelled.splice(0)) settleCancelled(this.core, activation);
      replay?.pump();
      this.#recorded();
      if (this.#fault !== undefined) throw this.#fault;
      const hasRoom = agenda.queue.length > 0 && agenda.busyCount < concurrency;
      if (hasRoom || agenda.cancelled.length > 0) continue;
      if (replay?.isBusy !== true && this.#judging + agenda.openingCount === 0) break;
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
    this.#unstarted();
    this.#unknown();
    return this.#rows;
  }

  begin(activation: Activation): void {
    const { node, frameRun } = activation;
    this.#recorded();
    const record = frameRun.openRecordOf(node);
    const hasRun = record !== undefined || this.core.replay?.hasRecord(activation.path) === true;
    const isAsking = node.effect === 'human' && !isAnswered(record);
    this.#untell(activation, isAsking ? 'asks' : hasRun ? 'runs again' : 'runs');
  }

  /** A preview tells what would be, not when. */
  beginLater(activation: Activation): void {
    this.begin(activation);
  }

  judge(activation: Activation): void {
    this.#judging += 1;
    this.#foresee(activation)
      .catch((error: unknown) => this.fail(error))
      .finally(() => {
        this.#judging -= 1;
        this.requestTurn();
      });
  }

  /** The verdict, as far as it can be known without waiting for an owner and without asking the world. */
  async #foresee(activation: Activation): Promise<void> {
    const effort = new NodeEffort(activation);
    const intent = effort.fields()?.intent;
    const end = intent === undefined ? undefined : await this.core.replay?.originalEnd(effort, intent);
    if (end !== undefined) return applyVerdict(this.core, activation, { kind: 'original', end });
    const decision = decideDoubt(doubtViewOf(effort, activation.node.onInDoubt));
    if (decision === 'run') return this.begin(activation);
    if (decision === 'ask' || decision === 'reconcile') return this.#untell(activation, 'in doubt');
    if (decision === 'happened') {
      const returned = saidByPerson(effort);
      return applyVerdict(this.core, activation, { kind: 'happened', returned, by: 'person' });
    }
    this.#add(activation, 'in doubt');
    applyVerdict(this.core, activation, { kind: 'fail' });
  }

  requestTurn(): void {
    this.#wake?.();
  }

  fail(error: unknown): void {
    this.#fault ??= error;
    this.#wake?.();
  }

  requestFlush(): void {}
  seal(): void {}
  durable(): Promise<void> {
    return new Promise(() => {});
  }
  drained(): Promise<void> {
    return Promise.resolve();
  }
  readMessages(): Promise<void> {
    return Promise.resolve();
  }
  publishLive(): void {}

  #restored(): void {
    const { rootFrame } = this.core;
    for (const node of rootFrame.graph.nodes) {
      const record = rootFrame.recordOf(node);
      if (node.index < 2 || record?.fired === undefined || rootFrame.plan.stateOf(node.index) !== 'settled') continue;
      this.#rows.push({ node: [node.id], visit: record.visits ?? 1, effect: node.effect, prediction: 'restored' });
    }
  }

  /** What was settled without running: the parts of the change that would be written tell. */
  #recorded(): void {
    for (const part of JSON.parse(this.core.draft.take().changeJson) as Change) {
      const { from, by } = part;
      if (part.kind === 'replay' && from !== undefined)
        this.#rows.push(rowOf(part, part.effect === undefined ? 'reused' : 'replayed', `${from.runId}@${from.seq}`));
      else if (part.kind === 'settle' && by !== undefined && part.status === undefined)
        this.#rows.push(rowOf(part, 'restored', by === 'fork' ? 'set by the fork' : `decided by ${by}`));
    }
  }

  /** An activation of which only running it can tell what comes of it. */
  #untell(activation: Activation, prediction: Prediction): void {
    this.#add(activation, prediction);
    this.#untold.set(activation.node.index, activation.visit);
    // Nobody waits for it here; it keeps its place among those that run side by side.
    activation.phase = 'left';
  }

  #add({ path, visit, node }: Activation, prediction: Prediction): void {
    this.#rows.push({ node: path, visit, effect: node.effect, prediction });
  }

  /** What has no room beside those that run starts later, and sees what they leave. */
  #unstarted(): void {
    const { agenda, rootFrame } = this.core;
    const because = [...this.#untold.keys()].map((index) => rootFrame.graph.nodes[index]?.id ?? '').join(' or ');
    for (const { frameRun, start } of agenda.queue.splice(0)) {
      const { id, effect } = frameRun.graph.nodes[start.node] as GraphNode;
      this.#rows.push({ node: [...frameRun.nodePath, id], visit: start.visit, effect, prediction: 'unknown', because });
      this.#untold.set(start.node, start.visit);
    }
  }

  /** Whatever an untold outcome leads to, round a loop too, is unknown until that node has run. */
  #unknown(): void {
    const { graph, plan } = this.core.rootFrame;
    const deciding = new Map<GraphNode, string[]>();
    for (const origin of this.#untold.keys()) {
      const queue = [origin];
      const seen = new Set<number>();
      for (let index = queue.pop(); index !== undefined; index = queue.pop()) {
        for (const { to } of graph.nodes[index]?.outgoing ?? []) {
          const target = graph.nodes[to];
          if (target === undefined || target.index < 2 || seen.has(to)) continue;
          seen.add(to);
          queue.push(to);
          deciding.set(target, [...(deciding.get(target) ?? []), graph.nodes[origin]?.id ?? '']);
        }
      }
    }
    for (const [{ id, index, effect }, origins] of deciding) {
      const visit = (this.#untold.get(index) ?? plan.visitOf(index)) + 1;
      this.#rows.push({ node: [id], visit, effect, prediction: 'unknown', because: origins.join(' or ') });
    }
  }
}

function rowOf(
  { node = [], visit = 1, effect = 'pure' }: ChangePart,
  prediction: Prediction,
  because: string,
): PreviewRow {
  return { node, visit, effect, prediction, because };
}

/** It goes on with the answers it has, whether or not it asks anew. */
function isAnswered(record: NodeRecord | undefined): boolean {
  const questions = Object.values(record?.steps ?? {}).filter(({ kind }) => kind === 'ask');
  return questions.length > 0 && questions.every(({ status }) => status === 'done');
}
