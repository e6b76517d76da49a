/** Collects everything that checkpoints record about each visit, from its first intent to its end and the edges taken. */
import type { HistoryEntry } from '../load/lineage.ts';
import { collectFrames, toldFailure } from '../read/failures.ts';
import type { ChangePart } from '../stored/change.ts';
import type {
  StoryAgentChange,
  StoryError,
  StoryPoint,
  StoryEvent,
  StoryRepeat,
  StoryRetry,
  StoryStep,
  StoryEntry,
  StoryQuestion,
  StoryVisit,
  ValueChange,
} from './story.ts';
import { readAgentChange } from '../../graph/contracts/agent-change.ts';
import type { ChoiceExplainer } from '../../graph/graph.ts';
import type { BlobStore } from '../../ports/blobs.ts';
import type { Op } from '../../state/delta.ts';
import { isRunOver, type NodeRecord, type RunTree, type StepRecord, type WaitRecord } from '../../state/tree.ts';
import { readPath } from '../../state/values/path.ts';
import { blobHash, resolveValues } from '../stored/checkpoint.ts';
import { letOthersIn } from '../stored/pace.ts';
import type { StoredState } from '../stored/stored-state.ts';
import { authorsOf, endedNode, endOfRecord, isEnd, placeInTree, type OpAuthor } from './op-authors.ts';
import { isPassingChange, isPassingOutput } from './passing-values.ts';
import { recordAt, VisitEnds, type Ended } from './visit-ends.ts';

// Parts of a change as a post-mortem reports them.

/** Where and when a checkpoint is. */
function placeOf({ run, checkpoint }: HistoryEntry): StoryPoint {
  return { runId: run.runId, seq: checkpoint.seq, at: checkpoint.at };
}

const eventKinds: ReadonlySet<string> = new Set(['start', 'fork', 'resume', 'pause', 'cancel', 'fail', 'end', 'fold']);

/** Whether a part is something that happened to the run as a whole. */
export const isEvent = ({ kind, node }: ChangePart): boolean => node === undefined && eventKinds.has(kind);

function toEvent(entry: HistoryEntry, part: ChangePart): StoryEvent | undefined {
  if (!isEvent(part)) return undefined;
  const { kind, by, status, from, detail } = part;
  const { seq, fold } = entry.checkpoint;
  return {
    kind: kind as StoryEvent['kind'],
    ...placeOf(entry),
    ...(by !== undefined && { by }),
    ...(status !== undefined && { status }),
    ...(from !== undefined && { from }),
    ...(detail !== undefined && kind !== 'fold' && { detail }),
    ...(fold !== undefined && { pruned: { after: fold.after, upTo: seq } }),
  };
}

type Frames = ReadonlyMap<string, readonly string[]>;

function errorIn({ error }: ChangePart, frames: Frames): { readonly error?: StoryError } {
  return error === undefined ? {} : { error: toldFailure(error, frames) };
}

function tellAgentChange(entry: HistoryEntry, { name, detail }: ChangePart, gathered: Gathered): void {
  const change = readAgentChange(name, detail);
  if (change === undefined) return;
  const { call, changes } = change;
  gathered.agentChanges = [...(gathered.agentChanges ?? []), { ...placeOf(entry), call, changes }];
}

function toRepeat(entry: HistoryEntry, { step, by = 'default', worker, attempt, key }: ChangePart): StoryRepeat {
  return {
    ...placeOf(entry),
    by: by as StoryRepeat['by'],
    ...(step !== undefined && { step }),
    ...(worker !== undefined && { worker }),
    ...(attempt !== undefined && { attempt }),
    ...(key !== undefined && { key }),
  };
}

function toRetry(entry: HistoryEntry, part: ChangePart, frames: Frames): StoryRetry {
  const { attempt: next = 2, step, by } = part;
  return {
    ...placeOf(entry),
    attempt: next - 1,
    ...(step !== undefined && { step }),
    ...errorIn(part, frames),
    ...(by !== undefined && { by }),
  };
}

function toStep(entry: HistoryEntry, part: ChangePart, frames: Frames): StoryStep {
  const { step = '', status = 'done', effect, durationMs, spent } = part;
  return {
    ...placeOf(entry),
    step,
    status,
    ...(effect !== undefined && { effect }),
    ...errorIn(part, frames),
    ...(durationMs !== undefined && { durationMs }),
    ...(spent !== undefined && { spent }),
  };
}

/** What is known of a visit that has not ended. */
interface Gathered {
  readonly path: readonly string[];
  readonly since: StoryPoint;
  readonly retries: StoryRetry[];
  repeats?: readonly StoryRepeat[];
  agentChanges?: readonly StoryAgentChange[];
  readonly steps: StoryStep[];
  readonly questions: StoryQuestion[];
  /** For each call that waits, the index of its last question. */
  readonly lastQuestion: Map<string, number>;
  visit: number;
}

/** What one checkpoint holds of one visit: several visits of a node may end in it. */
interface VisitChanges {
  readonly changes: ValueChange[];
  ended?: Ended;
  /** Whether the value that it gave is large, and in no state. */
  isPassing?: boolean;
}

const absent = Symbol('absent');

/** After so many parts of a story others in the process get their turn: that is some 20 ms. A checkpoint of a busy run holds thousands. */
const restEvery = 256;

export class StoryTeller {
  #count = 0;
  readonly entries: StoryEntry[] = [];
  /** The frames of the stacks that were read, by the stack's id. */
  readonly #frames = new Map<string, readonly string[]>();
  readonly #blobs: BlobStore;
  readonly #ends: VisitEnds;
  readonly #open = new Map<string, Gathered>();
  /** Open waits by id, with the visit and entry that describe them. */
  readonly #openQuestions = new Map<
    string,
    { readonly of: Gathered; readonly index: number; readonly step: string | undefined }
  >();

  constructor(blobs: BlobStore, explainChoice: ChoiceExplainer | undefined) {
    this.#blobs = blobs;
    this.#ends = new VisitEnds(blobs, explainChoice);
  }

  /**
   * Reads one checkpoint, and applies it to the state.
   * @param isApplied - whether the state is that after it already, because the one before the oldest that remains was pruned
   */
  async take(entry: HistoryEntry, state: StoredState, isApplied = false): Promise<void> {
    const { checkpoint } = entry;
    collectFrames(checkpoint.change, this.#frames);
    const ops = checkpoint.ops as readonly Op[];
    const authors = checkpoint.fold === undefined ? authorsOf(ops) : [];
    const isFork = checkpoint.change.some(({ kind }) => kind === 'fork');
    const begun = isFork || checkpoint.fold !== undefined ? this.#begun(state) : undefined;
    const changes = await this.#readOps(entry, authors, state, isApplied);
    if (begun !== undefined) {
      const still = new Set(this.#begun(state));
      this.#leave(entry, (visit) => begun.includes(visit) && !still.has(visit), isFork);
    }
    const endedBefore = new Map<string, number>();
    for (const part of checkpoint.change) {
      const key = part.node?.join('\0') ?? '';
      const ended = endedBefore.get(key) ?? 0;
      await this.#rest();
      await this.#takePart(entry, part, ops, changes.get(`${ended} ${key}`), state);
      if (isEnd(part)) endedBefore.set(key, ended + 1);
    }
    for (const [index, author] of authors.entries())
      if (author !== undefined && changes.get(keyOf(author))?.ended === undefined)
        this.#noteRecord(entry, author.node, ops[index] as Op);
  }

  /** Applies the ops one after the other, and reads what each visit wrote and how it ended as it was then. */
  async #readOps(
    entry: HistoryEntry,
    authors: readonly (OpAuthor | undefined)[],
    state: StoredState,
    isApplied: boolean,
  ): Promise<ReadonlyMap<string, VisitChanges>> {
    const { run, checkpoint } = entry;
    const ops = checkpoint.ops as readonly Op[];
    const byVisit = new Map<string, VisitChanges>();
    let applied = isApplied ? ops.length : 0;
    const isLaterState = isApplied && ops.filter((op) => endedNode(op) !== undefined).length > 1;
    const applyTo = async (end: number): Promise<void> => {
      if (end <= applied) return;
      await state.apply(this.#blobs, run, { ...checkpoint, ops: ops.slice(applied, end) });
      applied = end;
    };
    for (const [index, author] of authors.entries()) {
      const op = ops[index] as Op;
      if (author === undefined || !(isChannel(op) || endedNode(op) !== undefined)) continue;
      await this.#rest();
      const key = keyOf(author);
      const visit = byVisit.get(key) ?? { changes: [] };
      byVisit.set(key, visit);
      if (isChannel(op)) {
        // The old value is that of the state just before the op.
        await applyTo(index);
        const change = await this.#changeOf(entry, op, isApplied ? undefined : state);
        const isPassing = isPassingChange(ops, index, [change.before, change.after]);
        visit.changes.push({ ...change, ...(isPassing && { isPassing }) });
      } else {
        const end = endOfRecord(ops, index);
        await applyTo(end);
        visit.ended = await this.#ends.read(entry, { node: author.node, op, isLaterState }, state);
        visit.isPassing = isPassingOutput(ops, index, end, visit.ended.record.output);
      }
    }
    await applyTo(ops.length);
    return byVisit;
  }

  async #rest(): Promise<void> {
    this.#count += 1;
    if (this.#count % restEvery === 0) await letOthersIn();
  }

  /** Adds the visits that have not ended. */
  tellOpen({ frame, status }: RunTree): void {
    const unfinished = isRunOver(status) && { isUnfinished: true as const };
    for (const gathered of this.#open.values()) {
      const record = recordAt(frame, gathered.path);
      if (record === undefined || record.fired !== undefined) continue;
      this.entries.push({ ...visitEntry(gathered, gathered.since), status: record.status, ...unfinished });
    }
  }

  /** The visits that have a record without an end. */
  #begun({ root }: StoredState): readonly Gathered[] {
    const { frame } = root as unknown as RunTree;
    return [...this.#open.values()].filter(({ path, visit }) => {
      const record = recordAt(frame, path);
      return record !== undefined && record.fired === undefined && (record.visits ?? 1) === visit;
    });
  }

  /**
   * Takes visits for gone: the next ones there are others. What they are in has ended, or a fork begins them anew; then it is told that they
   * have no end. Or their end was pruned.
   */
  #leave(entry: HistoryEntry, isLeft: (visit: Gathered) => boolean, isTold: boolean): void {
    for (const [key, gathered] of this.#open) {
      if (!isLeft(gathered)) continue;
      this.#open.delete(key);
      // A child run is noted beside the visits in it.
      const isVisit = gathered.path.length % 2 === 1;
      if (isTold && isVisit)
        this.entries.push({ ...visitEntry(gathered, placeOf(entry)), status: 'started', isUnfinished: true });
    }
  }

  async #takePart(
    entry: HistoryEntry,
    part: ChangePart,
    ops: readonly Op[],
    changes: VisitChanges | undefined,
    state: StoredState,
  ): Promise<void> {
    const { kind, node } = part;
    if (node === undefined) {
      const event = toEvent(entry, part);
      if (event !== undefined) this.entries.push(event);
      if (kind === 'fork') await this.#answerInFork(entry, ops);
      return;
    }
    if (isEnd(part) && changes?.ended !== undefined)
      return this.#endVisit(entry, part, node, { ...changes, ended: changes.ended });
    const gathered = this.#gather(entry, node, part.visit);
    if (kind === 'retry') gathered.retries.push(toRetry(entry, part, this.#frames));
    else if (kind === 'repeat') gathered.repeats = [...(gathered.repeats ?? []), toRepeat(entry, part)];
    else if (kind === 'event') tellAgentChange(entry, part, gathered);
    else if (kind === 'step') gathered.steps.push(toStep(entry, part, this.#frames));
    else if (kind === 'wait') this.#ask(entry, part, gathered, state);
    else if (kind === 'answer') await this.#answer(entry, part, ops);
    else if (kind === 'changed') this.#change(entry, part, gathered);
  }

  #gather(entry: HistoryEntry, path: readonly string[], visit = 1): Gathered {
    const key = path.join('\0');
    let gathered = this.#open.get(key);
    if (gathered === undefined) {
      gathered = { path, since: placeOf(entry), visit, retries: [], steps: [], questions: [], lastQuestion: new Map() };
      this.#open.set(key, gathered);
    }
    gathered.visit = Math.max(gathered.visit, visit);
    return gathered;
  }

  /** Notes that a visit began, which creates its record. */
  #noteRecord(entry: HistoryEntry, node: readonly string[], [kind, path, value]: Op): void {
    const { rest } = placeInTree(path);
    if (kind === 's' && rest?.length === 2 && rest[0] === 'nodes')
      this.#gather(entry, node, (value as NodeRecord | null)?.visits ?? 1);
  }

  async #changeOf(entry: HistoryEntry, [kind, path, value]: Op, state: StoredState | undefined): Promise<ValueChange> {
    const { rest = [] } = placeInTree(path);
    const at = { path: rest.slice(1) };
    if (kind === 'a' || kind === 't')
      return { ...at, ...(await this.#valueAs('after', entry, value)), isAppended: true };
    const before = await this.#valueAs(
      'before',
      entry,
      state === undefined ? absent : readPath(state.root, path, absent),
    );
    if (kind === 'd') return { ...at, ...before, isDeleted: true };
    return { ...at, ...before, ...(await this.#valueAs('after', entry, value)) };
  }

  async #valueAs(name: 'before' | 'after', { run }: HistoryEntry, stored: unknown): Promise<Partial<ValueChange>> {
    if (stored === absent) return {};
    if (blobHash(stored) !== undefined)
      return { [`${name}Bytes`]: (stored as { readonly sizeBytes: number }).sizeBytes };
    return { [name]: await resolveValues(this.#blobs, run.tenant, structuredClone(stored)) };
  }

  #ask(entry: HistoryEntry, part: ChangePart, gathered: Gathered, state: StoredState): void {
    const { wait = '' } = part;
    const record = (state.root['waits'] as Record<string, WaitRecord> | undefined)?.[wait];
    const { kind = 'question', name = wait, prompt, step } = record ?? {};
    this.#openQuestions.set(wait, { of: gathered, index: gathered.questions.length, step: step ?? part.step });
    gathered.lastQuestion.set(step ?? part.step ?? '', gathered.questions.length);
    gathered.questions.push({
      ...placeOf(entry),
      kind,
      name,
      ...(typeof prompt === 'string' && { prompt }),
    });
  }

  /** Notes that the last question of a call was changed, whether it was open or answered. */
  #change(entry: HistoryEntry, { step = '', wait = '' }: ChangePart, { questions, lastQuestion }: Gathered): void {
    const index = lastQuestion.get(step);
    const question = index === undefined ? undefined : questions[index];
    if (index === undefined || question === undefined) return;
    this.#openQuestions.delete(wait);
    questions[index] = { closedAt: placeOf(entry), ...question, isChanged: true };
  }

  /** What a fork answers otherwise is closed in its first checkpoint, without a part of its own. */
  async #answerInFork(entry: HistoryEntry, ops: readonly Op[]): Promise<void> {
    for (const [kind, [area, wait = '', ...below]] of ops)
      if (kind === 'd' && area === 'waits' && below.length === 0)
        await this.#answer(entry, { kind: 'answer', wait }, ops);
  }

  async #answer(entry: HistoryEntry, part: ChangePart, ops: readonly Op[]): Promise<void> {
    const { wait = '', step } = part;
    const open = this.#openQuestions.get(wait);
    const question = open?.of.questions[open.index];
    if (open === undefined || question === undefined) return;
    this.#openQuestions.delete(wait);
    const key = step ?? open.step;
    const op = ops.findLast(([, path]) => key !== undefined && path.at(-1) === key && path.at(-2) === 'steps');
    const answered = op?.[0] === 's' ? (op[2] as Partial<StepRecord> | null) : undefined;
    const output = question.kind === 'doubt' ? decisionIn(ops, key ?? open.of.path.at(-1)) : answered?.output;
    const by = part.by ?? answered?.by;
    const isKnown = output !== undefined && blobHash(output) === undefined;
    const answer = isKnown ? await resolveValues(this.#blobs, entry.run.tenant, structuredClone(output)) : undefined;
    open.of.questions[open.index] = {
      ...question,
      closedAt: placeOf(entry),
      ...(by !== undefined && { by }),
      ...(answer !== undefined && { answer }),
    };
  }

  #endVisit(
    entry: HistoryEntry,
    part: ChangePart,
    node: readonly string[],
    { changes, ended: { record, edges, type, when }, isPassing }: VisitChanges & { readonly ended: Ended },
  ): void {
    const { retries, repeats, agentChanges, steps, questions } = this.#gather(entry, node, part.visit);
    // A failure that nothing handles ends the visit too: a resume of the run begins a new one.
    const key = node.join('\0');
    this.#open.delete(key);
    this.#leave(entry, ({ path }) => path.join('\0').startsWith(`${key}\0`), true);
    const { durationMs, spent, spared, by } = part;
    this.entries.push({
      kind: 'visit',
      ...placeOf(entry),
      path: node,
      visit: part.visit ?? record.visits ?? 1,
      status: record.status,
      ...(record.verdict !== undefined && { verdict: record.verdict }),
      attempts: part.attempt ?? record.attempt ?? 1,
      ...(type !== undefined && { type }),
      ...(durationMs !== undefined && { durationMs }),
      ...(spent !== undefined && { spent }),
      ...(spared !== undefined && { saved: spared }),
      ...errorIn(part, this.#frames),
      ...(record.output !== undefined && { value: record.output }),
      ...(isPassing === true && { isPassing }),
      ...(when !== undefined && { when }),
      retries,
      ...(repeats && { repeats }),
      ...(agentChanges && { agentChanges }),
      steps,
      questions,
      changes,
      edges,
      ...(by !== undefined && { by }),
      ...(part.kind === 'replay' && part.from !== undefined && { takenFrom: part.from }),
    });
  }
}

/** The entry of a visit that has not ended, but for its status. */
function visitEntry(
  { path, visit, retries, repeats, agentChanges, steps, questions }: Gathered,
  point: StoryPoint,
): Omit<StoryVisit, 'status'> {
  return {
    ...point,
    kind: 'visit',
    path,
    visit,
    retries,
    ...(repeats && { repeats }),
    ...(agentChanges && { agentChanges }),
    steps,
    questions,
    changes: [],
    edges: [],
  };
}

/** What was decided about the effect of a node or a step. */
function decisionIn(ops: readonly Op[], key: string | undefined): unknown {
  const op = ops.findLast(([, path]) => path.at(-1) === 'decision' && path.at(-2) === key);
  return op?.[0] === 's' ? op[2] : undefined;
}

function keyOf({ node, endedBefore }: OpAuthor): string {
  return `${endedBefore} ${node.join('\0')}`;
}

function isChannel([, path]: Op): boolean {
  return placeInTree(path).rest?.[0] === 'channels';
}
