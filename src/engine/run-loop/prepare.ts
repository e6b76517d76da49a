/** Starts a due activation: decides how it starts, and does that (E3, X). */
import { suppliedFault } from '../validate/supplied-fault.ts';
import { CairnError, readableThrown, reasonOf } from '../../errors.ts';
import type { GraphNode } from '../../graph/graph.ts';
import type { NodeRecord } from '../../state/tree.ts';
import { admitSaved } from '../validate/admit-saved.ts';
import { decideStart, nothingRecorded, type StartDecision } from '../plan/decide-start.ts';
import { isRefused, refuseNode } from '../effects/refuse.ts';
import { NodeEffort, announceUntraced } from '../visit-records/intent.ts';
import { noteView, reopenedVisit } from '../visit-records/node-record.ts';
import { pathKeyOf } from '../visit-records/node-path.ts';
import { accountOf } from '../visit-records/account.ts';
import { openPinnedView } from '../visit-records/shown-state.ts';
import { reopenFailed } from '../visit-records/step-record.ts';
import type { QueuedStart } from '../live-run/agenda.ts';
import { isEffect, type Offer, type RunCore } from '../live-run/run-core.ts';
import { Activation } from '../live-run/loop.ts';
import { advancePlan, settleFailed } from '../settle/settle.ts';
import { settleOutcome } from '../settle/settle-outcome.ts';

/** Creates the activation for something that may start according to the plan, and starts it. */
export function prepareStart(core: RunCore, queued: QueuedStart): void {
  const { frameRun, start } = queued;
  const node = frameRun.graph.nodes[start.node] as GraphNode;
  const record = frameRun.openRecordOf(node);
  // A failed attempt retried by a resume keeps counting, with a new retry budget (G8).
  const isRetried = record?.status === 'failed' && record.kept === undefined;
  const attempt = record?.attempt ?? 1;
  const activation = new Activation({
    frameRun,
    node,
    visit: start.visit,
    took: start.took ?? record?.took,
    attempt: isRetried ? attempt + 1 : attempt,
    budgetFrom: isRetried ? attempt : (record?.budgetFrom ?? 0),
    view: frameRun.frame.openView(),
    viewSeq: core.nextSeq,
    isResumed: record !== undefined,
  });
  activation.wasOpen = queued.mayHaveBegun === true;
  activation.account = accountOf(record);
  if (record?.reads !== undefined) {
    activation.noteEarlierReads(record.reads);
    activation.recordedReadCount = activation.readCount;
  }
  frameRun.activations.set(node.index, activation);
  noteView(core, activation);
  core.agenda.setBusy(activation, true);
  if (isRetried) reopenFailed(core, activation);
  // An outcome set in the fork is checked against the fork's state, as the fork did.
  if (record?.view === undefined || record.view >= core.resumedSeq || isSupplied(core, activation))
    return startDecided(core, activation, record);
  // The activation saw an older state, and must see that state again (E9).
  core.agenda.openingCount += 1;
  openPinnedView(core, activation, record.view).then(
    () => {
      core.agenda.openingCount -= 1;
      if (!activation.isOver) startDecided(core, activation, record);
      core.loop.requestTurn();
    },
    (error: unknown) => core.loop.fail(error),
  );
}

function startDecided(core: RunCore, activation: Activation, record: NodeRecord | undefined): void {
  let decision: StartDecision<Offer>;
  try {
    decision = decide(core, activation, record);
  } catch (error) {
    const reason = reasonOf(error);
    const { id } = activation.node;
    const cause = readableThrown(error);
    return settleFailed(core, activation, new CairnError('CONDITION_FAILED', { node: id, reason }, { cause }));
  }
  carryOut(core, activation, record, decision);
}

/** Decides how the activation starts. Most have recorded nothing and are not in a fork, so that case is handled without the checks. */
function decide(core: RunCore, activation: Activation, record: NodeRecord | undefined): StartDecision<Offer> {
  const { node, visit } = activation;
  const { replay } = core;
  return decideStart<Offer>(
    {
      isOverLimit: visit > node.maxVisits && hasDoneNothing(record),
      isEffect: isEffect(node),
      isSupplied: isSupplied(core, activation),
      earlier:
        record === undefined
          ? nothingRecorded
          : {
              hasOutcome: record.kept !== undefined,
              // What may have happened in the original is not judged in a fork that cannot act: the record has its end, or it is refused.
              hasIntent: record.intent !== undefined && core.root.noEffects === undefined,
              retryAt: record.retryAt,
            },
      passesCondition: () => node.when === undefined || passesWhen(activation),
      offer: (what) => replay?.offer(new NodeEffort(activation), what),
      now: record?.retryAt === undefined ? 0 : core.env.clock.now(),
    },
    record !== undefined && !isReopened(core, activation, record),
  );
}

/** Whether the fork has set the outcome of this activation. */
function isSupplied({ root: { supplied } }: RunCore, { path }: Activation): boolean {
  return supplied !== undefined && Object.hasOwn(supplied, pathKeyOf(path));
}

/** Whether a fork has begun the visit anew, and it has done nothing since: it is due like one that is new. */
function isReopened({ root }: RunCore, activation: Activation, record: NodeRecord): boolean {
  const isUntouched = record.view === undefined && (record.attempt ?? record.retryAt) === undefined;
  return isUntouched && reopenedVisit(root, activation) !== undefined;
}

/** Whether a visit has done nothing yet. Steps, an intent or an outcome show that it was within its limit of visits before. */
function hasDoneNothing(record: NodeRecord | undefined): boolean {
  if (record === undefined) return true;
  const { status, steps, intent, kept } = record;
  return status === 'failed' && steps === undefined && intent === undefined && kept === undefined;
}

function passesWhen({ node, view }: Activation): boolean {
  const outcome = { status: 'completed', output: undefined, error: undefined } as const;
  return node.when?.evaluate({ outcome, state: view.state }) === true;
}

function refuse(core: RunCore, activation: Activation): void {
  if (core.loop.refuse === undefined) refuseNode(core, activation);
  else core.loop.refuse(activation);
}

/** Decisions by which a node's own function may come to run. */
const mayAct: ReadonlySet<StartDecision<Offer>['kind']> = new Set(['begin', 'later', 'doubt']);

function carryOut(
  core: RunCore,
  activation: Activation,
  record: NodeRecord | undefined,
  decision: StartDecision<Offer>,
): void {
  if (mayAct.has(decision.kind) && isRefused(core, new NodeEffort(activation))) return refuse(core, activation);
  switch (decision.kind) {
    case 'begin':
      return core.root.released === true && announceUntraced(core, new NodeEffort(activation), activation.attempt)
        ? core.loop.judge(activation)
        : core.loop.begin(activation);
    case 'later':
      return core.loop.beginLater(activation, decision.at);
    case 'doubt':
      return core.loop.judge(activation);
    case 'replay':
      return core.replay?.take(activation, decision.offer);
    case 'supplied':
      return settleSupplied(core, activation);
    case 'saved':
      return void settleOutcome(core, activation, admitSaved(core, activation, record?.kept ?? {}));
    case 'skip':
      return skip(core, activation);
    case 'overLimit': {
      const { node, path } = activation;
      const data = { limit: node.maxVisitsName, value: node.maxVisits, path: path.join('/') };
      return settleFailed(core, activation, new CairnError('RUN_LIMIT', data));
    }
  }
}

/** Settles an activation with an outcome set in the fork, whatever the activation would do or has begun. */
function settleSupplied(core: RunCore, activation: Activation): void {
  const key = pathKeyOf(activation.path);
  const supplied = core.root.supplied?.[key] as { readonly output?: unknown };
  const fault = suppliedFault(activation.node, supplied.output, activation.view.state);
  if (fault !== undefined) return settleFailed(core, activation, fault);
  const source = { by: 'fork', note: () => core.draft.delete(['supplied', key]) };
  void settleOutcome(core, activation, admitSaved(core, activation, supplied), source);
}

/** Skips a node whose own condition is false. The skip is recorded, because the state will change. */
function skip(core: RunCore, activation: Activation): void {
  recordSkip(activation);
  core.draft.note({ kind: 'settle', node: activation.path, status: 'skipped' });
  core.draft.mustCommit = true;
  core.agenda.forget(activation);
  advancePlan(core, activation, [], true);
}

/** Fields in which a completed visit leaves results for others. */
const resultFields: readonly string[] = ['output', 'outputOfSteps', 'steps', 'as'];

/** Records a skip. The results of the last completed visit stay, whether inline or in a blob (C5); only the node's status changes. */
function recordSkip({ frameRun, node, visit }: Activation): void {
  const { frame, plan } = frameRun;
  const { fired, epoch, held } = plan.settledFields(node.index, []);
  const record: NodeRecord = {
    status: 'skipped',
    fired,
    ...(visit > 1 ? { visits: visit } : {}),
    ...(epoch > 0 ? { epoch } : {}),
    ...(held === undefined ? {} : { held }),
  };
  const last = frameRun.recordOf(node);
  if (last?.output === undefined && last?.outputOfSteps === undefined)
    return frame.setNode(node.id, record, JSON.stringify(record));
  for (const name of Object.keys(last))
    if (!(name in record) && !resultFields.includes(name)) frame.deleteNodeField(node.id, name);
  for (const [name, value] of Object.entries(record)) frame.setNodeField(node.id, name, value, JSON.stringify(value));
}
