/** Checks what a node passes to the calls of its context. As in a definition, an option that would have no effect is refused (G9). */
import type { AtMost } from '../amounts.ts';
import type { Question, StepOptions } from '../contracts/node-contract.ts';
import { checkRetry, effects } from './validate-nodes.ts';
import {
  checkBounds,
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
  'forgettable',
  'followsRecord',
  'knownByName',
] as const satisfies readonly (keyof StepOptions)[];
const questionFields = [
  'name',
  'prompt',
  'choices',
  'matching',
  'schema',
  'metadata',
  'isApproval',
  'audience',
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
  checkType(report, '', 'forgettable', options.forgettable, 'boolean');
  checkType(report, '', 'followsRecord', options.followsRecord, 'boolean');
  checkType(report, '', 'knownByName', options.knownByName, 'boolean');
  checkType(report, '', 'reconcile', options.reconcile, 'function');
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

/** What is wrong with a question's fields; undefined if nothing is. */
export function questionFault(question: Question): string | undefined {
  if (!isObject(question)) return 'it is no object';
  const report = createReport();
  checkFields(report, '', question, questionFields);
  checkType(report, '', 'prompt', question.prompt ?? null, 'string');
  checkType(report, '', 'isApproval', question.isApproval, 'boolean');
  checkOneOf(report, 'W1', '', 'audience', question.audience, ['staff', 'user']);
  checkOneOf(report, 'W3', '', 'matching', question.matching, ['exact', 'lenient', 'open']);
  if (question.timeoutMs !== undefined && question.deadlineAt !== undefined)
    report.error('W1', '', 'it has timeoutMs and deadlineAt', 'give one of them');
  if (question.choices !== undefined && !Array.isArray(question.choices))
    report.error('W1', '', 'choices is no list', 'list what is offered');
  if (question.choices?.length === 0 && question.matching !== 'open')
    report.error('W1', '', 'choices is empty, so nothing would be an answer', 'list what is offered');
  return firstOf(report);
}
