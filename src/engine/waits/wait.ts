/** Identities of waits, and what is waited for where an effect is in doubt or tried again later (W1, W2). */
import { partitions } from '../../graph/contracts/node-contract.ts';
import { reasonOf, type ErrorCode } from '../../errors.ts';
import { shownText } from '../../state/secrecy/shown-text.ts';
import { hashParts } from '../../state/values/canonical-text.ts';
import type { StepRecord, WaitRecord, RunTree } from '../../state/tree.ts';
import type { DoubtedEffect } from '../visit-records/settle-record.ts';
import { recordIn } from '../visit-records/step-record.ts';

/** Depends on the run where it was opened, the place and the name only, so that it survives crashes and forks. */
export function waitIdOf(runId: string, keyParts: readonly string[], name: string): string {
  return `w_${hashParts([runId, ...keyParts, name])
    .replaceAll(/[-_]/g, '')
    .slice(0, 12)}`;
}

/** Who sent a signal that a child run got from its parent. */
export const sentByParent = 'parent';

/** What a message of kind `answer` or `signal` carries. */
export interface MessageBody {
  readonly value: unknown;
  /** Who answered: person, model, policy, timeout. */
  readonly by?: string;
  /** By which door, and as what. */
  readonly door?: string;
  readonly as?: 'owner' | 'program';
  /** Hash of the answer link by which it came. */
  readonly link?: string;
  /** Set if the question says whose answers it takes, and the answer was held against that when it was posted. */
  readonly isRuled?: true;
  /** Who sent a signal, and by which door. */
  readonly sender?: Pick<MessageBody, 'by' | 'door' | 'as'>;
  /** Time ended the question, and it has no default answer. */
  readonly isTimeout?: boolean;
  /** Name of a signal. */
  readonly signal?: string;
}

/** The decisions a person may take about an effect in doubt. */
const doubtChoices: readonly string[] = ['happened', 'run again', 'fail'];

type Schema = Readonly<Record<string, unknown>>;

/** Answers to an effect in doubt: one of the choices, or `{ decision: 'happened', output, updates }`; a step has no updates. */
function doubtSchema(isStep: boolean, answerSchema: Schema = {}): Schema {
  const parts = Object.fromEntries(partitions.map((name) => [name, { type: 'object' }]));
  const updates = {
    type: 'object',
    description: 'What the node would have written beside its output, by part of the state and key.',
    properties: parts,
    additionalProperties: false,
  };
  const properties = {
    decision: { enum: doubtChoices },
    output: { description: 'What it gave. Default: null.', ...answerSchema },
    ...(isStep ? {} : { updates }),
  };
  return {
    anyOf: [
      { enum: doubtChoices },
      { type: 'object', required: ['decision'], properties, additionalProperties: false },
    ],
  };
}

type EndOnRecord = Pick<StepRecord, 'applied' | 'error'>;

/** What a distant next attempt waits for. An answer to it makes the attempt at once. */
export function retryWait(node: readonly string[], attempt: number, retryAt: number): WaitRecord {
  return { kind: 'retry', node, name: `attempt ${attempt}`, dueAt: retryAt };
}

/** Characters of a reported failure in a question, which everybody who is asked reads whole. */
const failureMax = 500;

/** Why a question about an effect is asked. */
export interface DoubtReason {
  /** Why the answer before was none. */
  readonly because?: string;
  /** `reconcile` was called before, and found no answer. */
  readonly isLookedUp?: boolean;
}

/** Whether a failure says no more than the question does. */
const isDoubt = (error: unknown): boolean =>
  (error as { readonly code?: unknown } | null)?.code === ('EFFECT_IN_DOUBT' satisfies ErrorCode);

/** The question in words. An effect that ended and reported a failure may have done a part of its work; of any other nothing is known. */
function doubtPrompt(effect: string, what: string, { applied, error }: EndOnRecord, isLookedUp: boolean): string {
  const lookedUp = isLookedUp ? 'Its lookup could not say. ' : '';
  // The question is shown whole, and a failure may quote values.
  const message = error === undefined || isDoubt(error) ? '' : shownText(reasonOf(error));
  const failure = message.length > failureMax ? `${message.slice(0, failureMax).toWellFormed()}…` : message;
  if (applied !== 'ended') {
    const failed = failure === '' ? '' : `It failed: ${failure}\n`;
    return `It is not known whether this ${effect} effect happened: ${what}. ${failed}${lookedUp}Did it?`;
  }
  return `This ${effect} effect reported a failure, and may have done a part of its work: ${what}: ${failure}\n${lookedUp}Did it happen?`;
}

/** The question about an effect in doubt. `ended`: what is on record of how it ended. */
export function doubtWait(
  { node, step, effect, intent, answerSchema }: DoubtedEffect,
  ended: EndOnRecord = {},
  { because, isLookedUp = false }: DoubtReason = {},
): WaitRecord {
  const place = `${node.join('/')}${step === undefined ? '' : `, step ${step.replace('\0', ' ')}`}`;
  const what = intent.about === undefined ? place : `${node.join('/')}: ${intent.about}`;
  const question = doubtPrompt(effect, what, ended, isLookedUp);
  return {
    kind: 'doubt',
    node,
    name: step === undefined ? 'in doubt' : `in doubt: ${step}`,
    prompt: because === undefined ? question : `${question} (The answer before does not fit: ${because})`,
    schema: doubtSchema(step !== undefined, answerSchema),
    // Who is asked can look the key up at the receiver.
    metadata: { choices: doubtChoices, key: intent.key, deadlineAt: intent.deadlineAt },
  };
}

/** The ids of those that are open. A resume that is to try such effects again answers them (X3.4). */
export function endedDoubts(root: RunTree): readonly string[] {
  return Object.entries(root.waits).flatMap(([waitId, { kind, node, step }]) => {
    if (kind !== 'doubt') return [];
    const record = recordIn(root, node);
    const effect = step === undefined ? record : record?.steps?.[step];
    return effect?.applied === 'ended' ? [waitId] : [];
  });
}

/** The answer of such a resume. */
export function againBy(by = 'person'): MessageBody {
  return { value: 'run again', by };
}
