/** Checks of what a node asks of its context: options without effect are refused there as they are in a definition (G9). */
import type { Question, StepOptions } from './node-contract.ts';
import { checkRetry, effects } from './validate-nodes.ts';
import { checkFields, checkOneOf, checkRange, createReport, type Report } from './violations.ts';

const stepFields = [
  'effect',
  'input',
  'retry',
  'timeoutMs',
  'idempotent',
  'reconcile',
] as const satisfies readonly (keyof StepOptions)[];
const questionFields = [
  'name',
  'prompt',
  'choices',
  'matching',
  'schema',
  'metadata',
  'deadlineAt',
  'defaultAnswer',
] as const satisfies readonly (keyof Question)[];

const firstOf = ({ violations: [first] }: Report): string | undefined => first && `${first.message}; ${first.fix}`;

/** What is wrong with the options of a step: an effect class under another name would make a pure step of an effect. */
export function stepFault(options: StepOptions): string | undefined {
  const report = createReport();
  checkFields(report, '', options, stepFields);
  checkOneOf(report, 'G2', '', 'effect', options.effect, effects);
  checkRetry(report, '', options.retry);
  checkRange(report, '', 'timeoutMs', options.timeoutMs, { min: 1 });
  return firstOf(report);
}

/** What is wrong with the fields of a question. */
export function questionFault(question: Question): string | undefined {
  const report = createReport();
  checkFields(report, '', question, questionFields);
  checkOneOf(report, 'W3', '', 'matching', question.matching, ['exact', 'lenient', 'open']);
  return firstOf(report);
}
