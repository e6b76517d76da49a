/**
 * Finds the first checkpoint at which a condition holds. Deltas are applied in order, and the condition is evaluated only after a delta
 * that changes something it reads.
 */
import { CairnError } from '../../errors.ts';
import { withSteps } from '../../graph/expression/expression-budget.ts';
import { compileQuestion, type StateQuestion } from '../../graph/expression/expression.ts';
import type { Op } from '../../state/delta.ts';
import type { RunTree } from '../../state/tree.ts';
import { foldStored } from '../load/fold-stored.ts';
import { firstSeqOf, readHistory, type HistoryEntry } from '../load/lineage.ts';
import type { StatePlace } from '../access/place.ts';
import type { ResolvedReference } from '../read/references.ts';
import type { Change } from '../stored/change.ts';
import { checkpointId } from '../stored/checkpoint.ts';
import { isBounded } from '../stored/pace.ts';
import { StoredState } from '../stored/stored-state.ts';
import { RequestedValues } from './requested-values.ts';

/** The first checkpoint at which a condition holds. */
export interface FoundCheckpoint {
  /** The run of the checkpoint: an ancestor if the condition held before the run was forked. */
  readonly runId: string;
  readonly seq: number;
  readonly checkpointId: string;
  /** Epoch ms. */
  readonly at: number;
  readonly change: Change;
  /**
   * Set if the condition may have held earlier, in a checkpoint that was pruned: one of those with `after < seq <= upTo`; without `after`,
   * any before.
   */
  readonly within?: { readonly after?: number; readonly upTo: number };
}

export interface Bisection {
  readonly runId: string;
  /** Seq of the checkpoint up to which the search went. */
  readonly seq: number;
  readonly when: string;
  /** Absent if the condition holds at no checkpoint. */
  readonly found?: FoundCheckpoint;
  /** How many checkpoints were read, and at how many the condition was evaluated. */
  readonly read: number;
  readonly evaluated: number;
  /**
   * The first checkpoint at which the condition could not be evaluated, the reason, and the number of such checkpoints. They count as not
   * holding.
   */
  readonly unanswered?: { readonly seq: number; readonly reason: string; readonly count: number };
}

/** The most steps of one evaluation where others wait meanwhile: they take some 30 ms. */
const boundedSteps = 500_000;

type StateSeen = Readonly<Record<string, unknown>>;

/**
 * Searches a history for the first checkpoint at which a condition holds.
 * @param when - a condition over `status`, `input`, `scratch`, `artifacts`, `diagnostics`, `outputs` and `failures`. While a key is absent,
 * it counts as not holding.
 * @param see - what the condition sees of the values, by variable; default: all of them
 * @throws CONDITION_SYNTAX with line and column, before anything is read; what loading a checkpoint throws
 */
export async function bisect(
  { store, blobs }: Pick<StatePlace, 'store' | 'blobs'>,
  { run, seq }: ResolvedReference,
  when: string,
  see: (values: StateSeen) => StateSeen = (values) => values,
): Promise<Bisection> {
  const question = compileQuestion(when);
  const search = new Search(question, new RequestedValues(question, blobs, run.tenant), see);
  let state = new StoredState({}, false);
  let found: FoundCheckpoint | undefined;
  let read = 0;
  for await (const entry of readHistory(store, run, { from: 0, to: seq })) {
    const { run: owner, checkpoint } = entry;
    read += 1;
    // If the first checkpoints of a run were pruned, the whole state is loaded at the oldest one that remains.
    const isCut = checkpoint.seq === owner.prunedBelow && checkpoint.seq > firstSeqOf(owner);
    if (isCut) ({ state } = await foldStored(store, blobs, owner, checkpoint.seq));
    else {
      const slow = state.apply(blobs, owner, checkpoint);
      if (slow !== undefined) await slow;
    }
    if (!(await search.holdsAt(entry, state, isCut))) continue;
    found = toFound(entry, isCut);
    break;
  }
  const { evaluated, unanswered } = search;
  return {
    runId: run.runId,
    seq,
    when,
    ...(found !== undefined && { found }),
    read,
    evaluated,
    ...(unanswered !== undefined && { unanswered }),
  };
}

class Search {
  readonly #see: (values: StateSeen) => StateSeen;
  readonly #question: StateQuestion;
  readonly #values: RequestedValues;
  evaluated = 0;
  unanswered: Bisection['unanswered'];

  constructor(question: StateQuestion, values: RequestedValues, see: (values: StateSeen) => StateSeen) {
    this.#see = see;
    this.#question = question;
    this.#values = values;
  }

  async holdsAt({ checkpoint }: HistoryEntry, state: StoredState, isCut: boolean): Promise<boolean> {
    const ops = checkpoint.ops as readonly Op[];
    // A condition that reads nothing has the same value at every checkpoint.
    if (!isCut && this.evaluated > 0 && !ops.some((op) => this.#values.areTouchedBy(op))) return false;
    this.evaluated += 1;
    const read = this.#values.read(state.root as unknown as RunTree, state.hasTags);
    const values = read instanceof Promise ? await read : read;
    try {
      const seen = this.#see(values);
      return isBounded() ? withSteps(boundedSteps, () => this.#question.holds(seen)) : this.#question.holds(seen);
    } catch (error) {
      if (!CairnError.is(error, 'CONDITION_FAILED')) throw error;
      if (error.data['isAbsent'] === true) return false;
      const reason = String(error.data['reason']);
      const { unanswered } = this;
      this.unanswered =
        unanswered === undefined
          ? { seq: checkpoint.seq, reason, count: 1 }
          : { ...unanswered, count: unanswered.count + 1 };
      return false;
    }
  }
}

function toFound({ run, checkpoint }: HistoryEntry, isCut: boolean): FoundCheckpoint {
  const { seq, at, change, fold } = checkpoint;
  const within = isCut ? { upTo: seq } : fold && { after: fold.after, upTo: seq };
  return {
    runId: run.runId,
    seq,
    checkpointId: checkpointId(run.key, seq),
    at,
    change,
    ...(within !== undefined && { within }),
  };
}
