/** Words as people use them: how a run stands, how long ago, what it cost; and the commands that do the same. */
import type { Tone } from '../src/graph/drawing/marks.ts';
import { formatAge as age, formatDuration } from '../src/operations/format/time.ts';
import type { Amounts, AwaitedEffect, Change, ListedRun, Wait } from './data/types.ts';

export { age };
export type { Tone };

/** `12 ms`, `1.4 s`, `2 min 5 s`, `3 h 20 min`, `2 d 4 h` */
export function duration(ms: number): string {
  if (ms < 86_400_000) return formatDuration(ms);
  const hours = Math.floor(ms / 3_600_000);
  return `${Math.floor(hours / 24)} d ${hours % 24} h`;
}

const clock = new Intl.DateTimeFormat(undefined, { hour: '2-digit', minute: '2-digit', hourCycle: 'h23' });
const day = new Intl.DateTimeFormat(undefined, { day: 'numeric', month: 'short' });
const whole = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeStyle: 'medium', hourCycle: 'h23' });

export const fullTime = (at: number): string => whole.format(at);

/** The time of day; with the day, if it is another one than that of `now`. */
export function timeOf(at: number, now: number): string {
  const isToday = new Date(at).toDateString() === new Date(now).toDateString();
  return isToday ? clock.format(at) : `${day.format(at)}, ${clock.format(at)}`;
}

const numbers = new Intl.NumberFormat('en', { maximumFractionDigits: 4 });
export const count = (value: number): string => numbers.format(value).replaceAll(',', '\u202f');
export const countOf = (value: number, noun: string): string => `${count(value)} ${noun}${value === 1 ? '' : 's'}`;

export function bytes(size: number): string {
  if (size < 1_024) return `${size} B`;
  return size < 1_048_576 ? `${(size / 1_024).toFixed(1)} KiB` : `${(size / 1_048_576).toFixed(1)} MiB`;
}

/** `193 tokens · 0.02 USD`; undefined if nothing was spent. */
export function cost(amounts: Amounts = {}): string | undefined {
  const { inputTokens = 0, outputTokens = 0, tokens = 0, ...rest } = amounts;
  const total = tokens || inputTokens + outputTokens;
  const parts = [
    ...(total > 0 ? [`${count(total)} tokens`] : []),
    ...Object.entries(rest).map(([unit, value]) =>
      unit === 'cost' ? `cost ${count(value)}` : `${count(value)} ${unit === 'usd' ? 'USD' : unit}`,
    ),
  ];
  return parts.length === 0 ? undefined : parts.join(' · ');
}

/** The same, as short as a column of numbers is: the money if there is any, else tokens. */
export function costShort(amounts: Amounts = {}): string {
  const { usd, cost: price, inputTokens = 0, outputTokens = 0, tokens = inputTokens + outputTokens } = amounts;
  if (usd !== undefined) return `$${usd < 0.01 && usd > 0 ? '<0.01' : usd.toFixed(2)}`.replace('$<', '<$');
  if (price !== undefined) return price < 0.01 && price > 0 ? price.toPrecision(2) : price.toFixed(2);
  if (tokens > 0) return tokens < 10_000 ? `${count(tokens)} tok` : `${count(Math.round(tokens / 1_000))}k tok`;
  return '';
}

export interface StatusWords {
  readonly tone: Tone;
  readonly text: string;
  /** What it waits for, in the words of who asks. */
  readonly detail?: string;
}

/** The path of a node. The one child run of a node has a name that says nothing. */
export const nodeName = (path: readonly string[]): string =>
  path.filter((part, index) => index % 2 === 0 || part !== 'run').join(' / ');

/** `waiting for an answer since 3 h` */
export function waitWords(wait: Wait, now: number): StatusWords {
  const since = wait.openedAt === undefined ? '' : ` since ${age(now - wait.openedAt)}`;
  const due = wait.dueAt === undefined ? '' : ` until ${timeOf(wait.dueAt, now)}`;
  if (wait.kind === 'doubt') return { tone: 'doubt', text: `in doubt${since}`, detail: doubtQuestion(wait) };
  if (wait.kind === 'refused')
    return { tone: 'doubt', text: 'refused', ...(wait.prompt !== undefined && { detail: wait.prompt }) };
  if (wait.kind === 'timer') return { tone: 'sleeping', text: `sleeping${due}` };
  if (wait.kind === 'retry')
    return {
      tone: 'sleeping',
      text: `trying again${wait.dueAt === undefined ? '' : ` at ${timeOf(wait.dueAt, now)}`}`,
    };
  if (wait.kind === 'signal') return { tone: 'sleeping', text: `waiting for the signal ${wait.name}${since}` };
  const whose = wait.for === undefined ? '' : ` of ${wait.for.map((one) => one.replace(/^role:/u, '')).join(', ')}`;
  const text = `waiting for an ${wait.isApproval === true ? 'approval' : 'answer'}${whose}${since}`;
  return { tone: 'waiting', text, ...(wait.prompt !== undefined && { detail: wait.prompt }) };
}

/** `waits for word of pay, which worker 12 began, until 14:02`: of what a worker has begun that has lost the run. */
export function awaitedWords({ node, step, owner, until }: AwaitedEffect, now: number): string {
  const what = `${nodeName(node)}${step === undefined ? '' : ` (${shortStep(step)})`}`;
  return `waits for word of ${what} from ${owner}, which lost the run, until ${timeOf(until, now)}`;
}

/** `Did pay happen?` */
export function doubtQuestion({ node, metadata }: Wait): string {
  const step = (metadata as { readonly step?: unknown } | undefined)?.step;
  return `Did ${nodeName(node)}${typeof step === 'string' ? ` (${step})` : ''} happen?`;
}

/** The tone of a status in a list. */
export function toneOfStatus(status: string): Tone {
  const tones: Readonly<Record<string, Tone>> = {
    paused: 'waiting',
    answered: 'queued',
    cancelling: 'cancelled',
    held: 'stopped',
    damaged: 'failed',
  };
  return tones[status] ?? (status as Tone);
}

/** What lists tell of a run that failed. */
export interface FailedWords {
  /** A completed fork of it. */
  readonly succeededIn?: string;
  readonly error?: { readonly message: string; readonly node: string };
}

/** How a run stands. @param waits - those of this run that are known */
export function runWords(
  run: Pick<ListedRun, 'status' | 'createdAt' | 'updatedAt' | 'isStopped' | 'hasMessages'> & Partial<ListedRun>,
  waits: readonly Wait[],
  now: number,
  { succeededIn, error }: FailedWords = {},
): StatusWords {
  if (run.isDamaged === true) return { tone: 'failed', text: 'damaged: its history cannot be read' };
  if (run.isHeld === true) return { tone: 'stopped', text: 'held: restored from a backup, not released yet' };
  if (run.isStopped || run.status === 'stopped') return { tone: 'stopped', text: 'stopped: its process is gone' };
  if (run.isQueued === true || run.status === 'queued')
    return { tone: 'queued', text: `queued since ${age(now - run.updatedAt)}` };
  const [awaited] = run.awaits ?? [];
  if (awaited !== undefined) return { tone: 'doubt', text: awaitedWords(awaited, now) };
  const took = duration(run.updatedAt - run.createdAt);
  switch (run.status) {
    case 'completed':
      return { tone: 'completed', text: `completed in ${took}` };
    case 'failed':
      if (succeededIn !== undefined) return { tone: 'failed', text: 'failed', detail: `succeeded in ${succeededIn}` };
      return {
        tone: 'failed',
        text: `failed after ${took}`,
        ...(error !== undefined && { detail: `${error.node}: ${error.message}` }),
      };
    case 'cancelled':
      return { tone: 'cancelled', text: 'cancelled' };
    case 'answered':
    case 'paused': {
      const first = waits.find(({ kind }) => kind === 'doubt') ?? waits[0];
      if (first !== undefined) {
        const words = waitWords(first, now);
        return waits.length === 1
          ? words
          : { ...words, text: `${words.text}, and ${countOf(waits.length - 1, 'more')}`.replace(/mores$/u, 'more') };
      }
      return run.hasMessages
        ? { tone: 'queued', text: 'answered: goes on when a worker takes it' }
        : { tone: 'sleeping', text: `waiting since ${age(now - run.updatedAt)}` };
    }
    default:
      return { tone: 'running', text: `running since ${age(now - run.createdAt)}` };
  }
}

/** How a node stands at a moment. */
export function nodeTone(status: string | undefined, waits: readonly Wait[]): Tone {
  if (waits.some(({ kind }) => kind === 'doubt')) return 'doubt';
  if (waits.some(({ kind }) => kind === 'question')) return 'waiting';
  if (waits.length > 0) return 'sleeping';
  const tones: Readonly<Record<string, Tone>> = {
    started: 'running',
    waiting: 'waiting',
    completed: 'completed',
    failed: 'failed',
    skipped: 'skipped',
    cancelled: 'cancelled',
  };
  return status === undefined ? 'idle' : (tones[status] ?? 'idle');
}

export const toneWords: Readonly<Record<Tone, string>> = {
  running: 'running',
  queued: 'queued',
  waiting: 'waits for an answer',
  doubt: 'in doubt',
  failed: 'failed',
  completed: 'completed',
  cancelled: 'cancelled',
  stopped: 'stopped',
  sleeping: 'sleeping',
  skipped: 'skipped',
  idle: 'not reached',
};

/** What effects do to the world. */
export const effectWords: Readonly<Record<string, string>> = {
  pure: 'computes',
  read: 'reads',
  write: 'writes what you own',
  external: 'acts outside',
  human: 'asks a person',
};

/** One checkpoint in a few words: `pay began to act outside`. */
export function changeWords({
  kind,
  node = [],
  step,
  by,
  status,
  attempt,
  effect,
  name: event,
  detail,
}: Change): string {
  const name = nodeName(node);
  const what = step === undefined ? name : `${name}: ${shortStep(step)}`;
  const who = by === undefined ? '' : ` by ${by}`;
  const words: Readonly<Record<string, string>> = {
    start: 'the run began',
    settle: `${name} ended`,
    retry: `${what} failed and is tried again`,
    intent: `${what} began${effect === 'external' ? ' to act outside' : effect === 'write' ? ' to write' : ''}${(attempt ?? 1) > 1 ? `, attempt ${attempt}` : ''}`,
    withdraw: `${what} was called off before it began`,
    told: `${what}: its process, which had lost the run, told that it ${status === 'not begun' ? 'has not begun' : (status ?? '')}`,
    repeat: `${what} began again`,
    step: `${what} done`,
    wait: `${name} waits`,
    answer: `${name} was answered${who}`,
    changed: `${name} asks otherwise now`,
    pause: 'the run waits',
    resume: `the run went on${who}`,
    fork: 'the run was forked',
    cancel: `the run was cancelled${who}`,
    fail: 'the run fails; what follows that is next',
    end: `the run ended${status === undefined ? '' : `: ${status}`}`,
    ...(event === 'agent-changed' && { event: agentChangeWords(name, detail) }),
    save: `${name} saved a note`,
    fold: 'earlier checkpoints were pruned',
  };
  return words[kind] ?? `${kind}${name === '' ? '' : ` ${name}`}`;
}

/** `clerk changed at call 3: instructions; tool refund` */
function agentChangeWords(name: string, detail: unknown): string {
  const { call, changes = [] } = (detail ?? {}) as { readonly call?: number; readonly changes?: readonly string[] };
  return `${name} changed at call ${call}: ${changes.join('; ')}`;
}

/** `model`, `tool orders`: names of steps end in a hash that tells people nothing. */
export function shortStep(step: string): string {
  return step.replace(/ [\w-]{20,}$/u, '');
}

/** A word for a POSIX shell, quoted if it must be. */
const quoted = (word: string): string =>
  /^[\w@%+=:,./-]+$/u.test(word) ? word : `'${word.replaceAll("'", String.raw`'\''`)}'`;

/** The command that does the same in a terminal. */
export const command = (...words: readonly string[]): string => ['cairn', ...words].map(quoted).join(' ');

/** A choice, and what it is called: authors may give both. */
export function choiceOf(choice: unknown): { readonly value: unknown; readonly label: string } {
  const { value, label } = (choice ?? {}) as { readonly value?: unknown; readonly label?: unknown };
  return typeof choice === 'object' && value !== undefined
    ? { value, label: typeof label === 'string' ? label : inline(value) }
    : { value: choice, label: inline(choice) };
}

/** A value on one line. */
export function inline(value: unknown): string {
  return typeof value === 'string' ? value : (JSON.stringify(value) ?? 'nothing');
}

/** Why whoever looks does not answer a question, in words; undefined if it is theirs, or nobody's in particular. The server decides. */
export function othersWords(
  { for: assignees }: Pick<Wait, 'for'>,
  me: { readonly principal: string; readonly roles?: readonly string[] } | undefined,
): string | undefined {
  if (assignees === undefined || me === undefined) return undefined;
  const mine = [me.principal, ...(me.roles ?? []).map((role) => `role:${role}`)];
  if (assignees.some((one) => mine.includes(one))) return undefined;
  return `It is for ${assignees.map((one) => one.replace(/^role:/, 'the role ')).join(', or ')}, and not for ${me.principal}.`;
}
