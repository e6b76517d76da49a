/** The error class of Cairn. An error is made from a code and values; its texts come from the error table. */
import { errorTable, type ErrorCode, type Retry } from './error-table.ts';

export { errorTable, type ErrorCode, type Retry } from './error-table.ts';

/** The values that an error's texts are filled with. */
export type ErrorData = Readonly<Record<string, unknown>>;

/** Data of a STORE_UNAVAILABLE, for a call that may have been carried out before its reply was lost. */
export const maybeWritten = {
  written: 'unknown',
  hint: 'It is not known whether this was written. What names its run, message or checkpoint may be sent again: it is written once.',
} as const;

const brandKey = 'cairn.error';

/** The error that every public function of Cairn throws. */
export class CairnError extends Error {
  readonly code: ErrorCode;
  readonly data: ErrorData;
  readonly retry: Retry;
  /** What to do next, in one or two sentences. */
  readonly hint: string;

  constructor(code: ErrorCode, data: ErrorData = {}, options: { readonly cause?: unknown } = {}) {
    const { retry, message, hint } = errorTable[code];
    super(render(message, data), options.cause === undefined ? undefined : { cause: options.cause });
    this.name = 'CairnError';
    this.code = code;
    this.data = data;
    this.retry = retry;
    this.hint = render(hint, data);
    Object.defineProperty(this, Symbol.for(brandKey), { value: true });
  }

  /** Whether a value is a Cairn error, and has one of the codes if there are any. Also recognises errors of another copy of the library. */
  static is(value: unknown, ...codes: readonly ErrorCode[]): value is CairnError {
    if (typeof value !== 'object' || value === null || !hasBrand(value)) return false;
    return codes.length === 0 || codes.includes((value as CairnError).code);
  }

  /** Converts any thrown value to a Cairn error. A value that is none becomes an INTERNAL error, a defect of Cairn. */
  static from(thrown: unknown): CairnError {
    if (CairnError.is(thrown)) return thrown;
    const reason = reasonOf(thrown);
    return new CairnError('INTERNAL', { reason }, { cause: thrown });
  }

  /** What a program reads. A hint that came with the values is said once. */
  toJSON(): { code: ErrorCode; message: string; hint: string; retry: Retry; data: ErrorData } {
    const { hint: _, ...data } = this.data;
    return { code: this.code, message: this.message, hint: this.hint, retry: this.retry, data };
  }
}

function hasBrand(value: object): boolean {
  try {
    return Symbol.for(brandKey) in value;
  } catch {
    return false;
  }
}

/** All that is read of a thrown value, here or by whoever stores or tells it. */
const readFields = ['name', 'message', 'code', 'data', 'cause', 'stack', 'applied', 'retryAfterMs'] as const;

/** What was thrown, or a plain error that says what it said if it cannot be read: a proxy or a getter may throw whenever it is touched. */
export function readableThrown(thrown: unknown): unknown {
  if ((typeof thrown !== 'object' && typeof thrown !== 'function') || thrown === null) return thrown;
  try {
    void (thrown instanceof Error);
    for (const field of readFields) void (thrown as Readonly<Record<string, unknown>>)[field];
    return thrown;
  } catch {
    return new Error(reasonOf(thrown));
  }
}

/** Longest JSON of a thrown value that its text quotes. */
const thrownLength = 500;

/** What a thrown value says, in a text. Functions may throw anything: an error without a message, a text, a plain object, nothing. */
export function reasonOf(thrown: unknown): string {
  try {
    if (typeof thrown === 'string') return thrown === '' ? 'thrown: an empty text' : thrown;
    if (typeof thrown !== 'object' || thrown === null) return `thrown: ${String(thrown)}`;
    const { message } = thrown as Readonly<Record<string, unknown>>;
    if (typeof message === 'string' && message !== '') return message;
    const { name, code } = thrown as Readonly<Record<string, unknown>>;
    // Errors of several errors, such as refused connections, have no message of their own.
    if (thrown instanceof Error) return [name, code].filter((word) => typeof word === 'string').join(' ');
    const json = JSON.stringify(thrown);
    return `thrown: ${json.length > thrownLength ? `${json.slice(0, thrownLength)}…` : json}`;
  } catch {
    // A value may be a cycle, or fail when it is read.
    return `thrown: a value of type ${typeof thrown}`;
  }
}

const codesOfFiles: Readonly<Record<string, ErrorCode>> = {
  ENOSPC: 'STORE_FULL',
  EDQUOT: 'STORE_FULL',
  EFBIG: 'STORE_FULL',
  EROFS: 'STORE_READ_ONLY',
  EACCES: 'STORE_READ_ONLY',
  EPERM: 'STORE_READ_ONLY',
};

/** The error of a store whose file system refused something: STORE_FULL, STORE_READ_ONLY or STORE_UNAVAILABLE. */
export function fileFault(store: string, error: unknown): CairnError {
  if (CairnError.is(error)) return error;
  const { code } = (error ?? {}) as { readonly code?: unknown };
  return new CairnError(
    codesOfFiles[String(code)] ?? 'STORE_UNAVAILABLE',
    { store, reason: reasonOf(error) },
    { cause: error },
  );
}

// Commands that are printed for people: in messages and hints, at every door.

/** Options in printed commands, and those of them that take the word after them. */
const printedOptions: ReadonlySet<string> = new Set(
  '--after --all --answer --blobs --config --file --force --limit --paused --resume --run --set --store --workflow'.split(
    ' ',
  ),
);
const takingOptions: ReadonlySet<string> = new Set([
  '--after',
  '--answer',
  '--blobs',
  '--config',
  '--file',
  '--limit',
  '--set',
  '--store',
  '--workflow',
]);

/**
 * The words of a command in an order in which none is mistaken: an id or an answer may begin with a dash, and is no option then. It stands
 * behind all options, and behind `--`.
 */
export function orderedWords(words: readonly string[]): readonly string[] {
  const [command = '', ...rest] = words;
  const isTaken = (at: number): boolean => takingOptions.has(rest[at - 1] ?? '');
  const isOption = (word: string, at: number): boolean => isTaken(at) || printedOptions.has(word);
  if (rest.every((word, at) => !word.startsWith('-') || isOption(word, at))) return words;
  return [command, ...rest.filter(isOption), '--', ...rest.filter((word, at) => !isOption(word, at))];
}

/** A word as a shell reads it unchanged. */
function quotedWord(word: string): string {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", String.raw`'\''`)}'`;
}

/** A command as it can be pasted into a shell: `cairn answer RUN yes`. @param words - the command, and its operands and options */
export function commandText(...words: readonly string[]): string {
  return ['cairn', ...orderedWords(words).map(quotedWord)].join(' ');
}

/** A prose that ends in a command: what follows is its operand. */
const endsInCommand = /cairn ([a-z-]+) $/;

/** Fills the values into a text of the table, whose form is described at {@link ErrorRow}. */
function render(prose: string, data: ErrorData): string {
  return prose.replaceAll(
    /\{(?:([^{}|]*)\|)?(\w+)(?:\|([^{}]*))?\}/g,
    (_, before: string | undefined, name: string, otherwise: string | undefined, at: number) => {
      const value = data[name];
      if (value === undefined && before !== undefined) return otherwise ?? '';
      const [, command] = endsInCommand.exec(prose.slice(0, at)) ?? [];
      if (command !== undefined && typeof value === 'string')
        return commandText(command, value).slice(`cairn ${command} `.length);
      return `${before ?? ''}${name === 'violations' ? violationLines(value) : name === 'path' && Array.isArray(value) ? value.join('.') : asText(value)}`;
    },
  );
}

/** Longest value that is shown whole in a message where it is no text. The error's data has all of it. */
const printedLength = 120;

function asText(value: unknown): string {
  if (typeof value === 'string') return value;
  if (Array.isArray(value) && value.every((item) => typeof item === 'string')) return value.join(', ');
  const json = JSON.stringify(value) ?? String(value);
  return json.length > printedLength ? `${json.slice(0, printedLength)}…` : json;
}

function violationLines(value: unknown): string {
  const violations = Array.isArray(value) ? (value as readonly Record<string, string>[]) : [];
  return violations
    .map((v) => `\n  ${v['rule']} ${v['severity']} ${v['place']}: ${v['message']} (${v['fix']})`)
    .join('');
}

/** Whether a store could not be reached or was busy, so that the same call may succeed a moment later. */
export function isStoreAway(error: unknown): boolean {
  return CairnError.is(error, 'STORE_UNAVAILABLE') || CairnError.is(error, 'STORE_BUSY');
}

/** Most causes of an error that are looked at. */
const causesMax = 1_000;

/** Whether it is, or was caused by, child runs or workflows that are nested deeper than the limit. */
export function isTooDeep(error: unknown): boolean {
  let at = error as { readonly code?: unknown; readonly data?: { readonly limit?: unknown }; readonly cause?: unknown };
  try {
    for (let count = 0; count < causesMax && typeof at === 'object' && at !== null; count += 1) {
      if (at.code === 'RUN_LIMIT' && (at.data?.limit === 'depth' || at.data?.limit === 'childDepth')) return true;
      at = at.cause as typeof at;
    }
  } catch {
    // A cause of the user's may fail when it is read. It is no limit of Cairn then.
  }
  return false;
}
