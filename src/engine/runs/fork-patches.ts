/** What a fork changes in the state that it begins with: patched values, supplied outcomes, answers (H2). */
import type { RunKey } from '../../ports/store.ts';
import { CairnError } from '../../errors.ts';
import { partitions } from '../../graph/contracts/node-contract.ts';
import { unstoredPart } from '../../state/secrecy/store-rules.ts';
import { encodeValue, maskedText } from '../../state/values/codec.ts';
import { readPath, setPath } from '../../state/values/diff.ts';
import type { RunTree, StepRecord } from '../../state/tree.ts';
import type { TreeWriter } from '../../state/tree-writer.ts';
import type { ForkOptions, Patch } from '../api.ts';
import { admitGiven } from '../admit/admit-given.ts';
import { checkAnswer } from '../admit/check-answer.ts';
import { readAnswer } from '../admit/read-answer.ts';
import { storedForm } from '../admit/offload.ts';
import { takeFiles } from '../admit/take-files.ts';
import { takeBudgetAnswer } from '../record/budget.ts';
import { pathKeyOf, recordPathOf } from '../record/tree-path.ts';
import type { EngineEnvironment } from '../run/run-core.ts';

/** Who answers, and how texts are meant. */
type AnswerForm = Pick<ForkOptions, 'by' | 'readsTexts'>;

/** Whether a patch replaces one whole channel, so that nothing of the state needs to be known. */
export function isWholeChannel({ path }: Patch): boolean {
  return path.length === 2 && partitions.some((name) => name === path[0]);
}

/** @throws VALUE_UNSTORABLE, FILE_NOT_FOUND */
export async function admitPatch(env: EngineEnvironment, { path, value: given }: Patch): Promise<unknown> {
  const redact = env.intake?.keepsOut;
  const patched = admitGiven(env, given, path, `the patch of ${path.join('.')}`).value;
  const isKept = redact === undefined || unstoredPart(redact, path) === undefined;
  const value = isKept ? patched : maskedText;
  await takeFiles(env, value, `the patch of ${path.join('.')}`);
  return value;
}

/** @throws STATE_UNKNOWN_CHANNEL the path leads through what has no keys */
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

/** Changes the state that a fork begins with; large values go to the blob store (C5). */
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

  /** Takes a patch in and returns the channel it changed, if it did. @throws STATE_UNKNOWN_CHANNEL */
  async apply(patch: Patch): Promise<string | undefined> {
    const [partition, key, ...rest] = patch.path;
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
    // What every object inherits (`__proto__`, `constructor`) is no partition.
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
   * Puts a node where its original stood at its questions, for one whose outcome was taken from there: it is due here, and sees the
   * state that the fork begins with.
   * @param asked - the state of the original in which the wait is open
   */
  openAgain(asked: RunTree, waitId: string, view: number): void {
    const [id] = asked.waits[waitId]?.node ?? [];
    const record = id === undefined ? undefined : asked.frame.nodes[id];
    if (id === undefined || record === undefined || this.#state.root.waits[waitId] !== undefined) return;
    this.#state.set(['frame', 'nodes', id], { ...record, view });
    for (const [openId, wait] of Object.entries(asked.waits))
      if (wait.node.join('/') === id) this.#state.set(['waits', openId], wait);
  }

  /** Closes an open wait with the answer given. @throws WAIT_NOT_FOUND it is not open here, ANSWER_INVALID */
  async answer(
    runId: string,
    waitId: string,
    given: unknown,
    { by = 'person', readsTexts }: AnswerForm,
  ): Promise<void> {
    const { root } = this.#state;
    const wait = root.waits[waitId];
    if (wait === undefined) throw new CairnError('WAIT_NOT_FOUND', { runId, waitId });
    const meant = readsTexts === true && typeof given === 'string' ? readAnswer(wait, given) : given;
    const admitted = admitGiven(this.#env, meant, ['answer'], 'the answer').value;
    await takeFiles(this.#env, admitted, 'the answer');
    const value = checkAnswer(wait, admitted);
    this.#state.delete(['waits', waitId]);
    if (wait.budget !== undefined) return takeBudgetAnswer(this.#state, wait, value);
    const nodeAt = recordPathOf(wait.node);
    const at = wait.step === undefined ? nodeAt : [...nodeAt, 'steps', wait.step];
    if (wait.kind === 'doubt') return this.#setLarge([...at, 'decision'], value);
    const { wait: _, ...open } = readPath(root, at) as StepRecord;
    const step: StepRecord = { ...open, status: 'done', output: value, by, at: this.#env.clock.now() };
    this.#state.set(at, step, encodeValue({ ...step, output: await storedForm(this.#env, this.#fork, value) }));
  }
}
