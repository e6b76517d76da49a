/** How an open wait is shown: what is asked, how it may be answered, and the command that does it. */
import {
  assigneesOf,
  choicesOf,
  isAnswerable,
  nodeNameOf,
  type OpenQuestion,
} from '../../operations/waits/find-wait.ts';
import type { Session } from '../session.ts';
import { printable, printableLines } from '../../operations/format/terminal.ts';
import { formatAge, formatTime } from '../../operations/format/time.ts';
import { formatInline } from './value.ts';
import { wrap } from './width.ts';

const printedElsewhere: ReadonlySet<string> = new Set(['choices', 'validation_pattern']);
/** A doubt is opened once nobody is in the effect any more: its deadline says nothing then. */
const omittedOfDoubts: ReadonlySet<string> = new Set([...printedElsewhere, 'deadlineAt']);

/** What to type for a value. */
function textOf(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value);
}

/** An answer to show in a command: the first choice, or a stand-in for what the schema asks for. */
function exampleOf(wait: OpenQuestion): string {
  const [first] = choicesOf(wait) ?? [];
  if (first !== undefined) return textOf(first.value);
  const schema = (wait.schema ?? {}) as Readonly<Record<string, unknown>>;
  if (wait.kind === 'doubt') return 'happened';
  if (wait.budget !== undefined) return String(wait.budget.limit > 0 ? wait.budget.limit : 1);
  if (Array.isArray(schema['enum'])) return textOf(schema['enum'][0]);
  const examples: Readonly<Record<string, string>> = { boolean: 'true', integer: '1', number: '1', array: '[]' };
  if (schema['type'] !== 'object') return examples[String(schema['type'])] ?? 'your answer';
  const keys = (schema['required'] ?? Object.keys(schema['properties'] ?? {})) as readonly string[];
  return JSON.stringify(Object.fromEntries(keys.map((key) => [key, '…'])));
}

/** The command that answers a wait, by its id: pasted twice, it answers no other question of the same node. */
function answerCommandOf(session: Session, wait: OpenQuestion): string {
  const named = wait.fourEyes === undefined ? [] : ['--by', 'NAME'];
  return session.commandLine('answer', wait.runId, wait.waitId, exampleOf(wait), ...named);
}

/** Whose answers are taken, if not everybody's. */
function describeWhose(wait: OpenQuestion): string | undefined {
  const { for: assignees, fourEyes } = wait;
  const whose = assignees === undefined ? [] : [`for ${printable(assigneesOf(wait))}`];
  const eyes = fourEyes === undefined ? [] : [`not for who answered ${printable(fourEyes)} or started the run`];
  return assignees === undefined && fourEyes === undefined ? undefined : [...whose, ...eyes].join('; ');
}

/** Tells of a question that took the place of another one. */
export function describeReplaced({ replaces }: OpenQuestion): string | undefined {
  if (replaces === undefined) return undefined;
  return `changed since it was asked before${replaces === 'answered' ? '; the answer to it is not used' : ''}`;
}

/** Describes which answers are valid. Undefined means any. */
function describeSchema(schema: Readonly<Record<string, unknown>>): string | undefined {
  const { type, pattern, ...rest } = schema;
  const isText = type === 'string' || (Array.isArray(type) && type.includes('string'));
  if (!isText || Object.keys(rest).length > 0)
    return Object.keys(schema).length === 0 ? undefined : `answer: ${formatInline(schema)}`;
  return typeof pattern === 'string' ? `answer: a text that matches ${printable(pattern)}` : undefined;
}

/** What else the asker says, a line each; what is shown elsewhere is omitted. */
export function describeMetadata({ kind, metadata, budget }: OpenQuestion): readonly string[] {
  // The question says all of it.
  if (budget !== undefined) return [];
  if (typeof metadata !== 'object' || metadata === null || Array.isArray(metadata)) return [];
  const omitted = kind === 'doubt' ? omittedOfDoubts : printedElsewhere;
  return Object.entries(metadata)
    .filter(([name, value]) => !omitted.has(name) && !isEmpty(value))
    .map(
      ([name, value]) => `${printable(name)}: ${typeof value === 'string' ? printable(value) : formatInline(value)}`,
    );
}

function isEmpty(value: unknown): boolean {
  return value === undefined || value === null || (typeof value === 'object' && Object.keys(value).length === 0);
}

function describeForm(wait: OpenQuestion): string | undefined {
  const choices = choicesOf(wait);
  if (choices !== undefined) {
    const texts = choices.map(({ value, label }) => {
      const text = textOf(value);
      return label === text ? text : `${text} (${label})`;
    });
    return `${wait.matching === 'open' ? 'suggestions' : 'choices'}: ${printable(texts.join(', '))}`;
  }
  if (wait.kind === 'doubt')
    return `choices: {"decision":"happened","output":…}, happened (what it gave is empty then), run again, fail`;
  if (wait.budget !== undefined) return `answer: how many ${printable(wait.budget.unit)} more, or stop, or fail`;
  const { validation_pattern: pattern } = (wait.metadata ?? {}) as { readonly validation_pattern?: unknown };
  const schema = (wait.schema ?? {}) as Readonly<Record<string, unknown>>;
  // As its author wrote it.
  return describeSchema(pattern === undefined ? schema : { ...schema, pattern });
}

/** `2026-11-24 01:00:00 (in 8 h)` */
export function formatDue(dueAt: number, now: number): string {
  return `${formatTime(dueAt)} (${dueAt > now ? `in ${formatAge(dueAt - now)}` : 'now'})`;
}

function describeDue({ kind, dueAt, defaultAnswer, overdueAt }: OpenQuestion, now: number): string | undefined {
  const deadline = describeDeadline({ kind, dueAt, defaultAnswer }, now);
  if (overdueAt === undefined) return deadline;
  return [`overdue since ${formatTime(overdueAt)}`, ...(deadline === undefined ? [] : [deadline])].join('; ');
}

function describeDeadline(
  { kind, dueAt, defaultAnswer }: Pick<OpenQuestion, 'kind' | 'defaultAnswer'> & { readonly dueAt: number | undefined },
  now: number,
): string | undefined {
  if (dueAt === undefined) return undefined;
  const when = formatDue(dueAt, now);
  if (kind === 'timer' || kind === 'retry') return `until ${when}`;
  return defaultAnswer === undefined ? `due ${when}` : `due ${when}, then: ${formatInline(defaultAnswer)}`;
}

/** What a wait waits for, in a few words. */
export function purposeOf({ kind, name }: OpenQuestion): string {
  const purposes: Readonly<Record<typeof kind, string>> = {
    question: 'an answer',
    doubt: 'a decision: whether its effect happened',
    timer: 'a time',
    signal: `signal ${name}`,
    retry: 'its next attempt',
    refused: 'nothing: this fork cannot act',
  };
  return purposes[kind];
}

/**
 * A wait as a paragraph; none of its lines is wider than the screen, except the command to paste.
 * @param isStored - whether the run is still there for that command; default true
 */
export function formatWait(
  session: Session,
  wait: OpenQuestion,
  { now, isStored = true, graphId }: { readonly now: number; readonly isStored?: boolean; readonly graphId?: string },
): readonly string[] {
  const { paint, width } = session.screen;
  const indent = '  ';
  if (wait.isDamaged === true) {
    const lines = wrap('damaged: what it asks cannot be shown, and it takes no answer; see: cairn verify', width - 2);
    return [paint('strong', printable(wait.waitId)), ...lines.map((line) => indent + paint('bad', line))];
  }
  const column = Math.min(width, 100) - indent.length;
  const age = wait.openedAt === undefined ? '' : `, ${formatAge(now - wait.openedAt)}`;
  const place = graphId === undefined ? '' : ` · ${printable(graphId)}${age}`;
  const text = wait.prompt ?? (wait.kind === 'question' ? '' : `waits for ${purposeOf(wait)}`);
  const details = [
    describeReplaced(wait),
    describeWhose(wait),
    ...describeMetadata(wait),
    describeForm(wait),
    describeDue(wait, now),
  ].filter((line) => line !== undefined);
  return [
    `${paint('strong', printable(nodeNameOf(wait)))}${paint('dim', place)}`,
    ...(text === '' ? [] : wrap(printableLines(text), column).map((line) => (indent + line).trimEnd())),
    ...details.flatMap((detail) => wrap(detail, column)).map((line) => indent + paint('dim', line)),
    ...(isAnswerable(wait) && isStored ? [indent + paint('good', printable(answerCommandOf(session, wait)))] : []),
  ];
}
