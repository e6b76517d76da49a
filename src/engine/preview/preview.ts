/** Predicts what a resume or a fork would do. The same code decides the starts, over a loop that runs and writes nothing (X5). */
import { recordedDoubt, doubtViewOf, resultByPerson, applyVerdict } from '../effects/judge.ts';
import { decideDoubt } from '../plan/decide-doubt.ts';
import { type BegunEffect, begunEffectsOf } from '../visit-records/settle-record.ts';
import { effectKey, nameOfStepKey } from '../visit-records/call-keys.ts';
import { uncalledEffects } from '../visit-records/continued-visits.ts';
import type { Activation, Loop } from '../live-run/loop.ts';
import { type Due, RunCore, isEffect, type EngineEnvironment } from '../live-run/run-core.ts';
import { hasAmounts } from '../../graph/amounts.ts';
import type { Graph, GraphNode } from '../../graph/graph.ts';
import type { ChangePart, Change } from '../../history/stored/change.ts';
import type { Account, NodeRecord, RunTree } from '../../state/tree.ts';
import type { Prediction, PreviewRow, PreviewOptions, ResumeOptions } from '../api.ts';
import { costOf } from '../visit-records/account.ts';
import { budgetName } from '../visit-records/budget.ts';
import { loadState, readOwner, type LoadedState } from '../../history/load/load.ts';
import type { RunRow } from '../../ports/store.ts';
import { prepareStart } from '../run-loop/prepare.ts';
import { budgetMet } from '../effects/begin.ts';
import { refusalOf } from '../effects/refuse.ts';
import { NodeEffort } from '../visit-records/intent.ts';
import { ReplaySource } from '../fork-replay/replay.ts';
import type { QueuedStart } from '../live-run/agenda.ts';
import { Charge } from '../live-run/attempt-scope.ts';
import { Draft } from '../live-run/draft.ts';
import { momentOf } from '../live-run/standing.ts';
import { startInitial } from '../settle/start-planned.ts';
import { settleCancelled } from '../settle/settle.ts';
import { draftFork } from '../forks/fork.ts';
import { recodedNodes } from '../commands/graph-change.ts';
import { openState } from '../commands/open-state.ts';
import type { OldViews } from '../commands/reopen.ts';
import { reopenedVisit } from '../visit-records/node-record.ts';
import { againBy, endedDoubts } from '../waits/wait.ts';
import { codeOf } from '../waits/changed-waits.ts';
import { closeWait } from '../waits/open-wait.ts';
import { hasEnded } from '../commands/active-runs.ts';
import { repeatRecorded, type RepeatEnd } from './repeat.ts';

/** What a check finds out by repeating functions against their record. */
export interface Repeats {
  /** `questions`: those of nodes that only ask. */
  readonly isRepeated: 'questions' | 'all';
  /** How far each came, by the path of its node. */
  readonly ends: Map<string, RepeatEnd>;
  /** Paths of the nodes that ask another question than is on record. */
  readonly changed: Set<string>;
}

/** @throws CHECKPOINT_NOT_FOUND, CHECKPOINT_PRUNED, WAIT_NOT_FOUND, ANSWER_INVALID, RUN_GRAPH_CHANGED */
export async function previewRun(
  outer: EngineEnvironment,
  run: RunRow,
  seq: number,
  graph: Graph,
  options: PreviewOptions,
): Promise<readonly PreviewRow[]> {
  const isFork =
    options.asFork === true || (options.set ?? options.answers ?? options.effects) !== undefined || seq < run.head;
  if (!isFork) return previewResume(outer, run, await loadState(outer.store, outer.blobs, run, seq), graph, options);
  const env = withoutWrites(outer);
  const openDraft = (root: RunTree): Draft => new Draft(run, root);
  const fork = await draftFork(env, run, seq, options, async () => graph, openDraft);
  const { from, differences } = fork;
  const isPatched = options.set !== undefined || options.answers !== undefined || differences.length > 0;
  const owner = await readOwner(env.store, run, from);
  const row = { ...run, runId: `${run.runId}\0preview`, parent: { runId: owner.runId, seq: from } };
  return previewState(env, row, fork, graph, { isPatched });
}

/** Large values are not moved to the blob store, because a preview writes nothing. */
function withoutWrites(env: EngineEnvironment): EngineEnvironment {
  return { ...env, bounds: { ...env.bounds, inlineBytes: Number.POSITIVE_INFINITY } };
}

/** Previews a resume of a run from a state, which it changes. @throws RUN_GRAPH_CHANGED */
export async function previewResume(
  outer: EngineEnvironment,
  run: RunRow,
  loaded: LoadedState,
  graph: Graph,
  options: ResumeOptions & { readonly repeats?: Repeats | undefined },
): Promise<readonly PreviewRow[]> {
  return previewState(withoutWrites(outer), run, { loaded, state: new Draft(run, loaded.root) }, graph, options);
}

/**
 * Previews a resume from a state.
 * @param opened - its state, with the changes of a fork that is not made
 * @param isPatched - whether such a fork changes anything
 */
async function previewState(
  env: EngineEnvironment,
  run: RunRow,
  { loaded, state: draft }: { readonly loaded: LoadedState; readonly state: Draft },
  graph: Graph,
  {
    isPatched,
    repeats,
    ...options
  }: ResumeOptions & { readonly isPatched?: boolean; readonly repeats?: Repeats | undefined },
): Promise<readonly PreviewRow[]> {
  const isOver = hasEnded(loaded.root, options);
  const recoded = isPatched === undefined ? await recodedNodes(env, run, loaded.root, graph) : undefined;
  const oldViews = isOver ? undefined : await openState(env, run, draft, graph, options);
  const preview = new Preview(env, run, graph, loaded, draft);
  preview.repeats = repeats;
  preview.recoded = recoded;
  preview.knowsRecoded = isPatched === undefined;
  if (oldViews !== undefined) preview.oldViews = oldViews;
  if (options.retry === true) preview.retryEnded();
  if (run.parent !== undefined) preview.core.replay = await ReplaySource.load(preview.core, run, isPatched);
  const rows = isOver ? preview.restored() : await preview.predict();
  return rows.map((row) => withNameInCode(row, graph));
}

function withNameInCode(row: PreviewRow, graph: Graph): PreviewRow {
  const id = row.node.length === 1 ? (row.node[0] ?? '') : '';
  const inCode = graph.nodes[graph.nodeIndex.get(id) ?? -1]?.inCode?.node;
  return inCode === undefined || inCode === id ? row : { ...row, inCode };
}

/** A loop that starts nothing. It notes what would start, and settles what needs no running. */
class Preview implements Loop {
  readonly core: RunCore;
  readonly isWatched = false;
  oldViews: OldViews = new Map();
  repeats: Repeats | undefined;
  /** Nodes of which the code is another one than that which the run went on under last: see {@link recodedNodes}. */
  recoded: true | readonly string[] | undefined;
  /** Whether that is known: of a fork it is not. */
  knowsRecoded = false;
  #looks: (() => void)[] = [];
  readonly #rows: PreviewRow[] = [];
  /** Nodes whose outcome is known only by running them: their visits, by node index. */
  readonly #unknownOutcomes = new Map<number, number>();
  /** What was started before its turn. It stays in the queue, to keep its turn. */
  readonly #early = new Map<QueuedStart, Activation>();
  #judging = 0;
  #wake: (() => void) | undefined;
  #fault: unknown;

  constructor(env: EngineEnvironment, run: RunRow, graph: Graph, loaded: LoadedState, draft: Draft) {
    const claim = { tenant: run.tenant, runId: run.runId, workerId: env.ids.workerId, token: 0, leaseMs: 0 };
    this.core = new RunCore({
      env,
      run,
      claim,
      graph,
      loaded,
      draft,
      loop: this,
      secrets: new Map(),
      claimedAt: momentOf(env.clock),
      onLanded: () => {},
      onBroken: () => {},
    });
  }

  /** Answers the questions that a resume with `retry` answers. */
  retryEnded(): void {
    for (const waitId of endedDoubts(this.core.root)) {
      const { value, by = '' } = againBy();
      closeWait(this.core, waitId, { output: value, by });
    }
  }

  async predict(): Promise<readonly PreviewRow[]> {
    const { agenda, rootFrame, replay } = this.core;
    this.restored();
    startInitial(this.core, rootFrame);
    for (;;) {
      while (this.#startNext());
      for (const activation of agenda.cancelled.splice(0)) settleCancelled(this.core, activation);
      replay?.pump();
      this.#recorded();
      if (this.#fault !== undefined) throw this.#fault;
      if (this.#hasRoom || agenda.cancelled.length > 0) continue;
      if (replay?.isBusy !== true && this.#judging + agenda.openingCount === 0) break;
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
    this.#unstarted();
    this.#unknown();
    return this.#rows;
  }

  get #hasRoom(): boolean {
    const { agenda, rootFrame } = this.core;
    return agenda.queue.length > 0 && agenda.busyCount < rootFrame.graph.policies.concurrency;
  }

  /**
   * Starts the first in the queue if there is room. Otherwise the first that continues earlier work with the state it saw, since that does
   * not depend on when it starts; it takes room only in its turn, so that those before it have theirs first. @returns whether one was found
   */
  #startNext(): boolean {
    const { agenda } = this.core;
    if (this.#hasRoom) {
      const next = agenda.queue.shift() as QueuedStart;
      const early = this.#early.get(next);
      if (early === undefined) prepareStart(this.core, next);
      else if (!early.isOver) agenda.setBusy(early, true);
      return true;
    }
    const next = agenda.queue.find((queued) => !this.#early.has(queued) && continuesWork(queued));
    if (next === undefined) return false;
    prepareStart(this.core, next);
    const early = next.frameRun.activations.get(nodeOf(next).index);
    if (early === undefined) agenda.queue.splice(agenda.queue.indexOf(next), 1);
    else {
      agenda.setBusy(early, false);
      this.#early.set(next, early);
    }
    return true;
  }

  begin(activation: Activation): void {
    this.#recorded();
    const record = activation.frameRun.openRecordOf(activation.node);
    const begun = record === undefined ? [] : [...begunEffectsOf(record)];
    if (begun.length === 0) return this.#repeat(activation);
    this.#wait(asksAbout(this.core, activation, begun), (asks) => {
      if (asks) this.#addUnknown(activation, 'in doubt');
      else this.#repeat(activation);
    });
  }

  /** Repeats the function against its record first, if that is wanted and it has one. */
  #repeat(activation: Activation): void {
    const { repeats } = this;
    const record = activation.frameRun.openRecordOf(activation.node);
    const { effect } = activation.node;
    const isMeant = effect === 'human' || (repeats?.isRepeated === 'all' && !isEffect({ effect }));
    if (repeats === undefined || !isMeant || record?.steps === undefined) return this.#run(activation);
    const path = activation.path.join('/');
    this.#wait(
      repeatRecorded(this.core, activation, (look) => this.#looks.push(look)),
      (end) => {
        this.#recorded();
        repeats.ends.set(path, end);
        this.#run(activation);
      },
    );
  }

  /** Adds a row for an activation whose function is run. */
  #run(activation: Activation): void {
    const { node, frameRun } = activation;
    const { replay } = this.core;
    const record = frameRun.openRecordOf(node);
    const reopened = reopenedVisit(this.core.root, activation);
    const hasRun = record !== undefined || reopened !== undefined || replay?.hasRecord(activation.path) === true;
    const isAsking = node.effect === 'human' && (hasOpenQuestion(record) ?? replay?.hasAnswer(activation) !== true);
    const met =
      record?.steps === undefined ? budgetMet(this.core, new Charge(activation, undefined, node.atMost)) : undefined;
    if (met?.decision === 'over')
      return this.#addUnknown(
        activation,
        met.onBudget === 'ask' ? 'asks' : 'fails',
        `the budget of ${budgetName(met.of)} is spent`,
      );
    const because =
      this.#changedCode(activation) ??
      (reopened === undefined ? this.#oldView(activation) : `begins anew with ${reopened.changed.join(', ')} as set`);
    this.#addUnknown(activation, isAsking ? 'asks' : hasRun ? 'runs again' : 'runs', because);
  }

  /**
   * Why a visit does not see what the fork sets, if it does not. Such visits are of the run's own graph, and had begun at the fork point.
   */
  #oldView({ path, node, frameRun }: Activation): string | undefined {
    const changed = path.length === 1 ? this.oldViews.get(node.id) : undefined;
    if (changed === undefined || frameRun.openRecordOf(node)?.view === undefined) return undefined;
    return `does not see what the fork sets: it goes on with the state that it began with, since it had read ${changed.join(', ')}, which changed meanwhile`;
  }

  /** What becomes of the calls on record of a function whose code has changed since. */
  #changedCode(activation: Activation): string | undefined {
    const effects = uncalledEffects(activation).map(nameOfStepKey);
    const rules = [
      ...(this.#comparesQuestions(activation) ? ['a question that is not the one on record is asked anew'] : []),
      ...(effects.length > 0
        ? [`it fails with STEPS_CHANGED if it begins another effect without having called ${effects.join(', ')}`]
        : []),
    ];
    if (rules.length === 0) return undefined;
    const isSame = this.knowsRecoded && activation.path.length === 1 && !this.#isRecoded(activation.node);
    return `${isSame ? 'its graph has changed' : 'its code has changed'}: ${rules.join('; ')}`;
  }

  /** Whether the function is repeated under other code than that which asked the recorded questions. */
  #comparesQuestions(activation: Activation): boolean {
    const { replay } = this.core;
    const steps = Object.values(activation.frameRun.openRecordOf(activation.node)?.steps ?? {});
    const code = codeOf(this.core, activation);
    if (steps.some((step) => step.asked !== undefined && step.code !== code)) return true;
    return replay?.rerunsPure(activation) === true && replay.hasAnswer(activation);
  }

  /** A preview does not tell when something starts. But what gets room meanwhile starts. */
  beginLater(activation: Activation): void {
    this.core.agenda.setBusy(activation, false);
    this.begin(activation);
  }

  attemptFailed(activation: Activation): void {
    this.#addUnknown(activation, 'fails', 'the attempt of a process that had lost the run has failed');
  }

  refuse(activation: Activation): void {
    this.#addUnknown(activation, 'refused', refusalOf(new NodeEffort(activation)));
  }

  judge(activation: Activation): void {
    this.#wait(this.#foresee(activation), () => {});
  }

  /** Goes on with what has to be looked up first. */
  #wait<Found>(looking: Promise<Found>, goOn: (found: Found) => void): void {
    this.#judging += 1;
    looking
      .then(goOn)
      .catch((error: unknown) => this.fail(error))
      .finally(() => {
        this.#judging -= 1;
        this.requestTurn();
      });
  }

  /** Predicts the verdict as far as possible without waiting for an owner or calling `reconcile`. */
  async #foresee(activation: Activation): Promise<void> {
    const effort = new NodeEffort(activation);
    const { intent, told } = effort.fields() ?? {};
    if (told !== undefined) return applyVerdict(this.core, activation, { kind: 'told', told });
    const end = intent === undefined ? undefined : await this.core.replay?.originalEnd(effort, intent);
    if (end !== undefined) return applyVerdict(this.core, activation, { kind: 'original', end });
    const decision = decideDoubt(doubtViewOf(effort, activation.node.onInDoubt));
    if (decision === 'run') return applyVerdict(this.core, activation, { kind: 'run' });
    if (decision === 'ask') return this.#addUnknown(activation, 'in doubt');
    if (decision === 'reconcile') return this.#addUnknown(activation, 'in doubt', 'its `reconcile` is asked first');
    if (decision === 'happened') {
      const returned = resultByPerson(effort);
      return applyVerdict(this.core, activation, { kind: 'happened', returned, by: 'person' });
    }
    applyVerdict(this.core, activation, { kind: 'fail' });
  }

  requestTurn(): void {
    for (const look of this.#looks) look();
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
  warn(): void {}

  describe(): string {
    return '';
  }

  publishLive(): void {}
  stepEnded(): void {}
  traceFailure(): void {}
  trace(): undefined {}

  /** Rows for what had settled already. */
  restored(): readonly PreviewRow[] {
    const { rootFrame } = this.core;
    for (const node of rootFrame.graph.nodes) {
      const record = rootFrame.recordOf(node);
      if (node.index < 2 || record?.fired === undefined || rootFrame.plan.stateOf(node.index) !== 'settled') continue;
      this.#rows.push({
        node: [node.id],
        visit: record.visits ?? 1,
        effect: node.effect,
        prediction: 'restored',
        ...(this.#isRecoded(node) && { because: 'its code has changed; what is on record stands' }),
        ...costPart(record),
      });
    }
    return this.#rows;
  }

  #isRecoded({ id }: GraphNode): boolean {
    return this.recoded === true || this.recoded?.includes(id) === true;
  }

  /** Adds rows for what was settled without running, taken from the change that would be written. */
  #recorded(): void {
    for (const part of JSON.parse(this.core.draft.take().changeJson) as Change) {
      if (part.kind === 'changed') this.repeats?.changed.add((part.node ?? []).join('/'));
      const row = rowOfPart(part);
      if (row !== undefined) this.#rows.push(row);
    }
  }

  /** Adds a row for an activation whose outcome is known only by running it. */
  #addUnknown(activation: Activation, prediction: Prediction, because?: string): void {
    this.#add(activation, prediction, because);
    this.#unknownOutcomes.set(activation.node.index, activation.visit);
    // Nobody waits for it in a preview, but it keeps its place among parallel work.
    activation.phase = 'waiting';
  }

  #add(activation: Activation, prediction: Prediction, because?: string): void {
    const { path, visit, node, account } = activation;
    const cost = costPart(account) ?? this.#lastCost(path, visit);
    const reason = because === undefined ? {} : { because };
    const calls = this.#callsOnRecord(activation);
    this.#rows.push({
      node: path,
      visit,
      effect: node.effect,
      prediction,
      ...reason,
      ...cost,
      ...(calls > 0 && { callsOnRecord: calls }),
    });
  }

  /** The calls whose end is on record: the visit's own, and in a fork those of its ancestors. */
  #callsOnRecord(activation: Activation): number {
    const own = Object.entries(activation.frameRun.openRecordOf(activation.node)?.steps ?? {});
    const ended = own.flatMap(([key, { status }]) => (status === 'done' ? [key] : []));
    return new Set([...ended, ...(this.core.replay?.callsOf(activation) ?? [])]).size;
  }

  #lastCost(path: readonly string[], visit: number): Pick<PreviewRow, 'cost'> {
    const cost = this.core.replay?.costOf(path, visit);
    return hasAmounts(cost) ? { cost } : {};
  }

  /** Adds rows for what has no room yet. It starts later and sees the results of what runs before. */
  #unstarted(): void {
    const { agenda, rootFrame } = this.core;
    const because = [...this.#unknownOutcomes.keys()]
      .map((index) => rootFrame.graph.nodes[index]?.id ?? '')
      .join(' or ');
    for (const queued of agenda.queue.splice(0)) {
      if (this.#early.has(queued)) continue;
      const { frameRun, start } = queued;
      const { id, effect } = nodeOf(queued);
      this.#rows.push({
        node: [...frameRun.nodePath, id],
        visit: start.visit,
        effect,
        prediction: 'unknown',
        because,
        isQueued: true,
        ...this.#lastCost([...frameRun.nodePath, id], start.visit),
      });
      this.#unknownOutcomes.set(start.node, start.visit);
    }
  }

  /** Adds rows for everything that an unknown outcome may lead to, also round a loop. */
  #unknown(): void {
    const { graph, plan } = this.core.rootFrame;
    for (const [{ id, index, effect }, origins] of nodesBehind(graph, this.#unknownOutcomes.keys())) {
      const visit = (this.#unknownOutcomes.get(index) ?? plan.visitOf(index)) + 1;
      const because = origins.join(' or ');
      this.#rows.push({ node: [id], visit, effect, prediction: 'unknown', because, ...this.#lastCost([id], visit) });
    }
  }
}

function nodeOf({ frameRun, start }: QueuedStart): GraphNode {
  return frameRun.graph.nodes[start.node] as GraphNode;
}

/** Whether a start goes on with work of its node that is on record. */
function continuesWork(queued: QueuedStart): boolean {
  const node = nodeOf(queued);
  return !isEffect(node) && queued.frameRun.openRecordOf(node) !== undefined;
}

// Foresees questions about effects below an activation: in its steps and its child runs (X3, X5).

/**
 * Whether somebody is asked when the activation's function makes its calls again. Only the code of a call knows whether it can look up
 * itself what happened; that is not foreseen.
 */
async function asksAbout({ replay }: RunCore, activation: Activation, begun: readonly BegunEffect[]): Promise<boolean> {
  for (const { step, record } of begun) {
    if (decideDoubt(recordedDoubt(record, activation.node.onInDoubt)) !== 'ask') continue;
    if (replay === undefined) return true;
    // The original of a fork may have recorded the end. For child runs that is not looked up.
    if (step === undefined) continue;
    if ((await replay.originalEnd(dueStep(activation, step), record.intent)) === undefined) return true;
  }
  return false;
}

function dueStep(activation: Activation, stepKey: string): Due {
  const keyIn = (keySeed: string): string => effectKey(activation, stepKey, keySeed);
  return { activation, stepKey, effect: 'external', ownInputHash: undefined, keyIn };
}

// Makes rows of a preview from parts of a change and from the graph (X5).

/** The cost in a record, including what the record took over. */
function costPart(account: Account | undefined): Pick<PreviewRow, 'cost'> | undefined {
  const cost = account === undefined ? undefined : costOf(account);
  return hasAmounts(cost) ? { cost } : undefined;
}

/** The row for a part about a visit that settles without running; undefined for other parts. */
function rowOfPart(part: ChangePart): PreviewRow | undefined {
  const { kind, node = [], visit = 1, effect = 'pure', from, by, status, error } = part;
  const row = (prediction: Prediction, because: string): PreviewRow => ({
    node,
    visit,
    effect,
    prediction,
    because,
    ...costPart(part),
  });
  if (kind === 'replay' && from !== undefined)
    return row(part.effect === undefined ? 'reused' : 'replayed', `${from.runId}@${from.seq}`);
  if (kind !== 'settle') return undefined;
  if (status === 'failed') return row('fails', error?.code ?? '');
  if (status !== undefined) return undefined;
  if (by === undefined) return row('restored', 'kept when its reducer or condition failed');
  return row('restored', by === 'fork' ? 'set by the fork' : `decided by ${by}`);
}

/** Whether the visit has an open question; undefined if its record has no question yet. */
function hasOpenQuestion(record: NodeRecord | undefined): boolean | undefined {
  const questions = Object.values(record?.steps ?? {}).filter(({ kind }) => kind === 'ask');
  // Questions asked before a save may be part of the saved state.
  if (questions.length === 0 && record?.saves === undefined) return undefined;
  return questions.some(({ status }) => status !== 'done');
}

/** The nodes that can be reached from some nodes, and from which of these. */
function nodesBehind(graph: Graph, origins: Iterable<number>): ReadonlyMap<GraphNode, readonly string[]> {
  const deciding = new Map<GraphNode, string[]>();
  for (const origin of origins) {
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
  return deciding;
}
