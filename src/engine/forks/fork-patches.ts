/** Applies a fork's changes to its initial state: patched values, supplied outcomes, answers (H2). */
import type { RunKey } from '../../ports/store.ts';
import { CairnError } from '../../errors.ts';
import { partitions } from '../../graph/contracts/node-contract.ts';
import { unstoredPart } from '../../state/secrecy/store-rules.ts';
import { encodeValue } from '../../state/values/encode.ts';
import { maskedText } from '../../state/values/admit.ts';
import { readPath, setPath } from '../../state/values/diff.ts';
import type { ChangePart } from '../../history/stored/change.ts';
import type { FrameTree, NodeRecord, RunTree, StepRecord, WaitRecord } from '../../state/tree.ts';
import type { TreeWriter } from '../../state/tree-writer.ts';
import type { Acting, ForkOptions, Patch } from '../api.ts';
import { admitExternal, takeFiles } from '../validate/admit-input.ts';
import { checkAnswer } from '../validate/check-answer.ts';
import { readAnswer } from '../validate/read-answer.ts';
import { storedForm } from '../validate/offload.ts';
import { pathKeyOf, recordPathOf } from '../visit-records/node-path.ts';
import { takeBudgetAnswer } from '../visit-records/budget.ts';
import { visitAt } from '../visit-records/visit-part.ts';
import { actorIn } from '../validate/whose-answer.ts';
import { refuseInFork } from './bound-outputs.ts';
import { recordIn } from '../visit-records/step-record.ts';
import type { EngineEnvironment } from '../live-run/run-core.ts';

/** Who answers, and how texts are interpreted. */
type AnswerForm = Acting & Pick<ForkOptions, 'readsTexts'>;

/** Whether a patch replaces a whole channel, so that the present state need not be known. */
export function isWholeChannel({ path, isRemoved }: Patch): boolean {
  return isRemoved !== true && path.length === 2 && partitions.some((name) => name === path[0]);
}

/** Validates a patch's value. @throws VALUE_UNSTORABLE, FILE_NOT_FOUND */
export async function admitPatch(env: EngineEnvironment, { path, value: patchValue }: Patch): Promise<unknown> {
  const redact = env.intake?.keepsOut;
  const patched = admitExternal(env, patchValue, path, `the patch of ${path.join('.')}`).value;
  const isStorable = redact === undefined || unstoredPart(redact, path) === undefined;
  const value = isStorable ? patched : maskedText;
  await takeFiles(env, value, `the patch of ${path.join('.')}`);
  return value;
}

/** @throws STATE_UNKNOWN_CHANNEL the path leads through a value that has no keys */
function placed(whole: unknown, path: readonly string[], value: unknown, patch: Patch): unknown {
  try {
    return setPath(whole, path, value);
  } catch (error) {
    throw new CairnError(
      'STATE_UNKNOWN_CHANNEL',
      { channel: patch.path.join('.'), reason: (error as Error).message },
      { cause: error },
    );
  }
}

/** Changes the state that a fork begins with. Large values are put into the blob store (C5). */
export class ForkPatches {
  readonly #env: EngineEnvironment;
  readonly #fork: RunKey;
  readonly #state: TreeWriter;

  constructor(env: EngineEnvironment, fork: RunKey, state: TreeWriter) {
    this.#env = env;
    this.#fork = fork;
    this.#state = state;
  }

  async #setLarge(path: readonly string[], value: unknown): Promise<void> {
    this.#state.set(path, value, encodeValue(await storedForm(this.#env, this.#fork, value)));
  }

  /** Applies a patch and returns the channel that it changed, if any. @throws STATE_UNKNOWN_CHANNEL */
  async apply(patch: Patch): Promise<string | undefined> {
    const [partition, key, ...rest] = patch.path;
    const isChannel = partitions.some((name) => name === partition) && key !== undefined && rest.length === 0;
    if (patch.isRemoved === true && isChannel) {
      this.#state.delete(['frame', 'channels', partition ?? '', key]);
      return patch.path.join('.');
    }
    const value = await admitPatch(this.#env, patch);
    const { root } = this.#state;
    if (partition === 'outputs' && key !== undefined && rest.length === 0) {
      const output = await storedForm(this.#env, this.#fork, value);
      this.#state.set(['supplied', pathKeyOf([key])], { output: value }, encodeValue({ output }));
      return undefined;
    }
    const { frame } = root;
    if (partition === 'input') {
      const input = key === undefined ? value : placed(frame.input, [key, ...rest], value, patch);
      await this.#setLarge(['frame', 'input'], input);
      return key === undefined ? 'input' : `input.${key}`;
    }
    // Names that every object inherits (`__proto__`, `constructor`) are not partitions.
    const channels = partitions.some((name) => name === partition) ? frame.channels[partition ?? ''] : undefined;
    if (partition === undefined || channels === undefined || key === undefined)
      throw new CairnError('STATE_UNKNOWN_CHANNEL', {
        channel: patch.path.join('.'),
        ...(partition === 'outputs' && key !== undefined && { reason: `set the whole outcome, outputs.${key}` }),
        ...(channels !== undefined && { reason: `name one of its channels, ${partition}.NAME` }),
      });
    const next = rest.length === 0 ? value : placed(readPath(channels, [key]), rest, value, patch);
    await this.#setLarge(['frame', 'channels', partition, key], next);
    return `${partition}.${key}`;
  }

  /**
   * Opens a question again that was answered in the original.
   *
   * @param before - the original's state in which the wait is open
   * @param takenNode - the node whose whole outcome was taken over from there. It becomes due here with everything it had recorded there,
   * and sees the state that the fork begins with. Undefined: only the answer was taken over, by a function that ran here
   */
  async openAgain(
    before: RunTree,
    waitId: string,
    view: number,
    takenNode: readonly string[] | undefined,
  ): Promise<void> {
    const { root } = this.#state;
    const wait = before.waits[waitId];
    if (wait === undefined || root.waits[waitId] !== undefined) return;
    if (takenNode !== undefined) {
      const record = recordIn(before, takenNode);
      if (record === undefined || !hasFrame(root, takenNode)) return;
      // Before the fork's first checkpoint its child runs do not exist.
      await this.#setLarge(recordPathOf(takenNode), { ...seenAt(record, view + 1), view });
      for (const [openId, open] of Object.entries(before.waits))
        if (takenNode.every((part, index) => open.node[index] === part)) this.#state.set(['waits', openId], open);
      return;
    }
    const there = recordIn(before, wait.node);
    const step = wait.step === undefined ? undefined : there?.steps?.[wait.step];
    if (there === undefined || wait.step === undefined || step === undefined || !hasFrame(root, wait.node)) return;
    const here = recordIn(root, wait.node);
    const at = recordPathOf(wait.node);
    const isOpen = here !== undefined && here.fired === undefined && (here.visits ?? 1) === (there.visits ?? 1);
    if (isOpen && here.steps !== undefined) this.#state.set([...at, 'steps', wait.step], step);
    else await this.#setLarge(at, isOpen ? { ...here, steps: { [wait.step]: step } } : begunAs(there, wait.step, view));
    this.#state.set(['waits', waitId], wait);
  }

  /**
   * Closes an open wait with an answer. @returns the part of the change that reports it
   * @throws WAIT_NOT_FOUND it is not open here; ANSWER_INVALID; ANSWER_RESERVED it is somebody else's (W8)
   */
  async answer(runId: string, waitId: string, answer: unknown, form: AnswerForm): Promise<ChangePart> {
    const { root } = this.#state;
    const { by = 'person', readsTexts } = form;
    const wait = root.waits[waitId];
    if (wait === undefined) throw new CairnError('WAIT_NOT_FOUND', { runId, waitId });
    refuseInFork(runId, wait, form);
    const meant = readsTexts === true && typeof answer === 'string' ? readAnswer(wait, answer) : answer;
    const admitted = admitExternal(this.#env, meant, ['answer'], 'the answer').value;
    await takeFiles(this.#env, admitted, 'the answer');
    const value = checkAnswer(wait, admitted);
    const part = this.#partOf(wait, waitId, { ...actorIn(form), by });
    this.#state.delete(['waits', waitId]);
    if (wait.budget !== undefined) {
      takeBudgetAnswer(this.#state, wait, value);
      return part;
    }
    const nodeAt = recordPathOf(wait.node);
    const at = wait.step === undefined ? nodeAt : [...nodeAt, 'steps', wait.step];
    if (wait.kind === 'doubt') {
      await this.#setLarge([...at, 'decision'], value);
      return part;
    }
    const { wait: _, ...open } = readPath(root, at) as StepRecord;
    const step: StepRecord = { ...open, status: 'done', output: value, by, at: this.#env.clock.now() };
    this.#state.set(at, step, encodeValue({ ...step, output: await storedForm(this.#env, this.#fork, value) }));
    return part;
  }

  #partOf({ kind, node, step, budget }: WaitRecord, wait: string, who: Acting): ChangePart {
    const { hash, asked } = (step === undefined ? undefined : recordIn(this.#state.root, node)?.steps?.[step]) ?? {};
    const { visit, outer } = budget ?? visitAt(this.#state.root, node);
    return {
      kind: 'answer',
      node,
      wait,
      ...who,
      ...(visit !== undefined && { visit }),
      ...(outer !== undefined && { outer }),
      ...(step !== undefined && kind !== 'doubt' && { step }),
      ...(hash !== undefined && { hash }),
      ...(asked !== undefined && { asked }),
    };
  }
}

/** Whether a state contains the run, or child run, that a node is in. */
function hasFrame(root: RunTree, node: readonly string[]): boolean {
  return node.length === 1 || recordIn(root, node.slice(0, -2))?.children?.[node.at(-2) as string] !== undefined;
}

/** A record changed so that its visit, and those of its child runs, see the state at a seq. */
function seenAt(record: NodeRecord, view: number): NodeRecord {
  const { children } = record;
  if (children === undefined) return { ...record, view };
  const changed = (child: FrameTree): FrameTree => ({
    ...child,
    nodes: mapped(child.nodes, (one) => (one.view === undefined ? one : seenAt(one, view))),
  });
  return { ...record, view, children: mapped(children, changed) };
}

function mapped<Value>(table: Readonly<Record<string, Value>>, change: (value: Value) => Value): Record<string, Value> {
  return Object.fromEntries(Object.entries(table).map(([key, value]) => [key, change(value)]));
}

/** The record of a visit that has begun like another one, with one of that one's steps. */
function begunAs({ visits, epoch, held, took, steps }: NodeRecord, key: string, view: number): NodeRecord {
  const fields = { visits, epoch, held, took };
  const known = Object.entries(fields).filter(([, value]) => value !== undefined);
  return { status: 'started', ...Object.fromEntries(known), view, steps: { [key]: steps?.[key] as StepRecord } };
}
