/** Checks what a node passes to the calls of its context. As in a definition, an option that would have no effect is refused (G9). */
import type { AtMost } from '../amounts.ts';
import type { Question, StepOptions } from '../contracts/node-contract.ts';
import { checkRetry, effects } from './validate-nodes.ts';
import {
  checkBounds,
  checkLimit,
  checkFields,
  checkOneOf,
  checkRange,
  checkType,
  createReport,
  type Report,
} from './violations.ts';

const stepFields = [
  'effect',
  'input',
  'retry',
  'timeoutMs',
  'idempotent',
  'reconcile',
  'readAnswer',
  'answerSchema',
  'atMost',
  'about',
  'isModelCall',
  'followsRecord',
  'knownByName',
  'limit',
  'tokens',
] as const satisfies readonly (keyof StepOptions)[];
const questionFields = [
  'name',
  'prompt',
  'choices',
  'matching',
  'schema',
  'metadata',
  'isApproval',
  'identity',
  'audience',
  'for',
  'fourEyes',
  'remindAfterMs',
  'escalateAfterMs',
  'escalateTo',
  'timeoutMs',
  'deadlineAt',
  'defaultAnswer',
] as const satisfies readonly (keyof Question)[];

const isObject = (value: unknown): boolean => typeof value === 'object' && value !== null;
const firstOf = ({ violations: [first] }: Report): string | undefined => first && `${first.message}; ${first.fix}`;

/**
 * What is wrong with a step's options; undefined if nothing is. Unknown options matter: a misspelt effect class would turn an effect into a
 * pure step.
 */
export function stepFault(options: StepOptions): string | undefined {
  if (!isObject(options)) return 'its options are no object';
  const report = createReport();
  checkFields(report, '', options, stepFields);
  checkOneOf(report, 'G2', '', 'effect', options.effect, effects);
  checkRetry(report, '', options.retry);
  checkRange(report, '', 'timeoutMs', options.timeoutMs, { min: 1 });
  checkType(report, '', 'idempotent', options.idempotent, 'boolean');
  checkType(report, '', 'about', options.about, 'string');
  checkType(report, '', 'isModelCall', options.isModelCall, 'boolean');
  checkType(report, '', 'followsRecord', options.followsRecord, 'boolean');
  checkType(report, '', 'knownByName', options.knownByName, 'boolean');
  checkType(report, '', 'reconcile', options.reconcile, 'function');
  checkLimit(report, '', options.limit);
  checkRange(report, '', 'tokens', options.tokens, { min: 0 });
  checkType(report, '', 'readAnswer', options.readAnswer, 'function');
  if (options.answerSchema !== undefined && !isObject(options.answerSchema))
    report.error('G9', '', 'answerSchema is no object', 'give a JSON Schema');
  const { atMost } = options;
  return firstOf(report) ?? (typeof atMost === 'function' ? undefined : atMostFault(atMost));
}

/** What is wrong with the most that an attempt spends; undefined if nothing is. */
export function atMostFault(atMost: AtMost | undefined): string | undefined {
  const report = createReport();
  if (atMost !== 'nothing') checkBounds(report, '', 'atMost', atMost);
  return firstOf(report);
}

function lateFault({ remindAfterMs = [], escalateAfterMs, escalateTo }: Question): string | undefined {
  const isTime = (ms: unknown): boolean => typeof ms === 'number' && Number.isFinite(ms) && ms >= 0;
  const reminders = [remindAfterMs].flat();
  if (!reminders.every(isTime) || reminders.length > 20) return 'remindAfterMs is no time in ms, nor up to 20 of them';
  if (escalateAfterMs !== undefined && !isTime(escalateAfterMs)) return 'escalateAfterMs is no time in ms';
  if ((escalateAfterMs === undefined) !== (escalateTo === undefined))
    return `it has ${escalateTo === undefined ? 'escalateAfterMs' : 'escalateTo'} alone`;
  return escalateTo === undefined ? undefined : assigneesFault(escalateTo)?.replace('for', 'escalateTo');
}

/** What is wrong with those whom a question is for; undefined if nothing is. */
export function assigneesFault(assignees: unknown): string | undefined {
  if (!Array.isArray(assignees) || assignees.length === 0) return 'for is no list of people and roles';
  const isName = (one: unknown): boolean => typeof one === 'string' && one !== '' && one !== 'role:';
  return assignees.every(isName) ? undefined : 'for has something that names nobody';
}

/** What is wrong with a question's fields; undefined if nothing is. */
export function questionFault(question: Question): string | undefined {
  if (!isObject(question)) return 'it is no object';
  const report = createReport();
  checkFields(report, '', question, questionFields);
  checkType(report, '', 'prompt', question.prompt ?? null, 'string');
  checkType(report, '', 'isApproval', question.isApproval, 'boolean');
  checkOneOf(report, 'W1', '', 'audience', question.audience, ['staff', 'user']);
  checkOneOf(report, 'W3', '', 'matching', question.matching, ['exact', 'lenient', 'open']);
  checkType(report, '', 'fourEyes', question.fourEyes, 'string');
  if (question.for !== undefined && assigneesFault(question.for) !== undefined)
    report.error('W8', '', assigneesFault(question.for) ?? '', "name people and roles: ['role:finance', 'ann']");
  if (question.fourEyes !== undefined && 'defaultAnswer' in question)
    report.error(
      'W8',
      '',
      'a default answer would stand for the eyes of a person',
      'leave defaultAnswer or fourEyes out',
    );
  const late = lateFault(question);
  if (late !== undefined) report.error('W9', '', late, 'give times in ms, and escalateTo with escalateAfterMs');
  if (question.timeoutMs !== undefined && question.deadlineAt !== undefined)
    report.error('W1', '', 'it has timeoutMs and deadlineAt', 'give one of them');
  if (question.choices !== undefined && !Array.isArray(question.choices))
    report.error('W1', '', 'choices is no list', 'list what is offered');
  if (question.choices?.length === 0 && question.matching !== 'open')
    report.error('W1', '', 'choices is empty, so nothing would be an answer', 'list what is offered');
  return firstOf(report);
}
