/**
 * A recorded answer belongs to the question that was asked. When a function is repeated and asks something else in its place, the question
 * on record is closed as changed, its answer is not used, and the new one is asked (W1.4).
 */
import { CairnError } from '../../errors.ts';
import { hashParts, hashText } from '../../state/values/canonical-text.ts';
import { admitValue } from '../../state/values/admit.ts';
import type { StepRecord, WaitRecord } from '../../state/tree.ts';
import { deleteStep } from '../visit-records/step-record.ts';
import { visitOf } from '../visit-records/visit-part.ts';
import type { Activation } from '../live-run/loop.ts';
import type { RunCore } from '../live-run/run-core.ts';

/** Characters of a base64url hash that are recorded: enough to tell two questions of one place apart. */
const hashChars = 16;

/** The most of a question's words that an error shows. */
const wordsMax = 500;

/** What identifies a wait beside its place, and how it looks when it is opened. */
export interface WaitIdentity {
  /**
   * Of a question: hash of its words, choices, schema and data. Of a timer: when it is due. Of a signal: nothing, its name is its place.
   */
  readonly fingerprint?: string;
  /** Of a question that says what identifies it: the hash under which an older version recorded it. */
  readonly older?: string;
  /** The question's words, for an error. */
  readonly words?: string;
}

/**
 * Identifies a question, before secrets are masked: which of them a run knows depends on whether it was killed before.
 * @param identity - what its author says that identifies it, if they do
 */
export function identityOfQuestion(core: RunCore, wait: WaitRecord, identity: unknown): WaitIdentity {
  const { prompt, choices, matching, schema, metadata, for: assignees, fourEyes } = wait;
  const words = shortWords(prompt);
  // What came later stands there only if it is said: the hash of a question that says none of it is the one that older versions recorded.
  const later = { ...(assignees !== undefined && { for: assignees }), ...(fourEyes !== undefined && { fourEyes }) };
  const question = { prompt, choices, matching, schema, metadata, ...later };
  const whole = hashOf(core, question, [...wait.node, wait.name]);
  return identity === undefined
    ? { fingerprint: whole, words }
    : { fingerprint: fingerprintOf(core, identity), older: whole, words };
}

/** The hash of a question whose author says what identifies it. */
export function fingerprintOf(core: RunCore, identity: unknown): string {
  return hashOf(core, { identity }, ['identity']);
}

function hashOf({ env }: RunCore, value: unknown, path: readonly string[]): string {
  return hashText(admitValue(value, path, env.bounds, env.intake).json).slice(0, hashChars);
}

function shortWords(prompt = ''): string {
  return prompt.length > wordsMax ? `${prompt.slice(0, wordsMax).toWellFormed()}…` : prompt;
}

/**
 * Identifies the code that makes an activation's calls, as far as it is known: its graph and the run's, and the texts of their functions.
 */
export function codeOf({ rootFrame }: RunCore, { frameRun }: Activation): string {
  const { graph } = rootFrame;
  const own = frameRun.graph;
  return hashParts([graph.hash, graph.codeHash, own.hash, own.codeHash]).slice(0, hashChars);
}

/** What a call has on record, and what to note with the wait that it opens. */
export interface KnownWait {
  /** The record, if it is of the same wait. */
  readonly recorded: StepRecord | undefined;
  /** Set if the wait on record was another. */
  readonly changed?: Pick<StepRecord, 'again'> & Pick<WaitRecord, 'replaces'>;
  /** QUESTION_CHANGED, if the call fails. */
  readonly fault?: CairnError;
}

/**
 * Compares what is on record of a call with what it waits for now. What is on record of another question is closed and dropped. A question
 * that differs a second time under the same code would differ for ever: its words are made of a clock, a random number or a table.
 */
export function compareWait(
  core: RunCore,
  activation: Activation,
  key: string,
  recorded: StepRecord | undefined,
  { fingerprint, older, words }: WaitIdentity,
): KnownWait {
  if (recorded === undefined || fingerprint === undefined) return { recorded };
  const isSameCode = recorded.code === codeOf(core, activation);
  if (recorded.kind === 'sleep') {
    if (!isMoved(core, recorded, fingerprint, isSameCode)) return { recorded };
    dropWait(core, activation, key, recorded);
    return { recorded: undefined, changed: {} };
  }
  if (recorded.asked === undefined || recorded.asked === fingerprint || recorded.asked === older) return { recorded };
  const before = core.root.waits[recorded.wait ?? '']?.prompt;
  const replaces = recorded.status === 'open' ? 'open' : 'answered';
  dropWait(core, activation, key, recorded);
  if (!isSameCode) return { recorded: undefined, changed: { replaces } };
  if (recorded.again !== undefined)
    return { recorded: undefined, fault: faultOf(activation, before ?? recorded.again, words ?? '') };
  return { recorded: undefined, changed: { replaces, again: words ?? '' } };
}

function faultOf({ path }: Activation, before: string, now: string): CairnError {
  const texts = before === now ? { words: now } : { before, now };
  return new CairnError('QUESTION_CHANGED', { node: path.join('/'), ...texts });
}

/**
 * Whether a timer is another one now. Under the same code the recorded time holds, since a function may compute it from a clock. Under
 * other code the new time does, unless the timer has ended and the new time has passed too.
 */
function isMoved(
  { env }: RunCore,
  { status, dueAt, code }: StepRecord,
  identity: string,
  isSameCode: boolean,
): boolean {
  if (code === undefined || isSameCode || String(dueAt) === identity) return false;
  return status === 'open' || Number(identity) > env.clock.now();
}

/** Closes a wait as changed, with whatever ended it. */
function dropWait(core: RunCore, activation: Activation, key: string, { wait }: StepRecord): void {
  if (wait !== undefined && Object.hasOwn(core.root.waits, wait)) {
    core.agenda.waiters.delete(wait);
    core.draft.closeWait(wait);
  }
  deleteStep(core, activation, key);
  const closed = wait === undefined ? {} : { wait };
  core.draft.note({ kind: 'changed', node: activation.path, step: key, ...closed, ...visitOf(activation) });
  core.draft.mustCommit = true;
}

/** Whether a wait on record was opened under other code. */
export function isOfOtherCode(core: RunCore, activation: Activation, { code }: StepRecord): boolean {
  return code !== undefined && code !== codeOf(core, activation);
}

/** Closes the questions on record under these keys as changed: their function asks them no more. Answers to them are not used. */
export function closeQuestions(core: RunCore, activation: Activation, keys: readonly string[]): void {
  for (const key of keys) {
    const step = activation.frameRun.openRecordOf(activation.node)?.steps?.[key];
    if (step?.kind === 'ask') dropWait(core, activation, key, step);
  }
}

/**
 * Closes the open waits that a function under changed code has not come to. Call when the function has come as far as it can: what it waits
 * for under another name now would stay open for nobody.
 */
export function closeUncalled(core: RunCore, activation: Activation): void {
  const { steps } = activation.frameRun.openRecordOf(activation.node) ?? {};
  for (const [key, step] of Object.entries(steps ?? {})) {
    if (step.status !== 'open' || activation.calls?.includes(key) === true) continue;
    if (isOfOtherCode(core, activation, step)) dropWait(core, activation, key, step);
  }
}
