/** The one error class of Cairn: values go in, prose comes from the table. */
import { errorTable, type ErrorCode, type Retry } from './error-table.ts';

export { errorTable, type ErrorCode, type Retry } from './error-table.ts';

/** The values an error was made from. */
export type ErrorData = Readonly<Record<string, unknown>>;

const brandKey = 'cairn.error';

/** The error of every door. */
export class CairnError extends Error {
  readonly code: ErrorCode;
  readonly data: ErrorData;
  readonly retry: Retry;
  /** What to do next, one or two sentences. */
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

  /** Whether a value is a Cairn error, of one of the given codes if any is named; works across copies of the library. */
  static is(value: unknown, ...codes: readonly ErrorCode[]): value is CairnError {
    if (typeof value !== 'object' || value === null || !(Symbol.for(brandKey) in value)) return false;
    return codes.length === 0 || codes.includes((value as CairnError).code);
  }

  /** Any thrown value as an error of the table; what is not one is a defect of Cairn. */
  static from(thrown: unknown): CairnError {
    if (CairnError.is(thrown)) return thrown;
    const reason = thrown instanceof Error ? thrown.message : String(thrown);
    return new CairnError('INTERNAL', { reason }, { cause: thrown });
  }

  toJSON(): { code: ErrorCode; message: string; hint: string; retry: Retry; data: ErrorData } {
    return { code: this.code, message: this.message, hint: this.hint, retry: this.retry, data: this.data };
  }
}

/** Fills the table's prose; see {@link ErrorRow} for its form. */
function render(prose: string, data: ErrorData): string {
  return prose.replaceAll(
    /\{(?:([^{}|]*)\|)?(\w+)(?:\|([^{}]*))?\}/g,
    (_, before: string | undefined, name: string, otherwise: string | undefined) => {
      const value = data[name];
      if (value === undefined && before !== undefined) return otherwise ?? '';
      return `${before ?? ''}${name === 'violations' ? violationLines(value) : name === 'path' && Array.isArray(value) ? value.join('.') : asText(value)}`;
    },
  );
}

function asText(value: unknown): string {
  if (typeof value === 'string') return value;
  if (Array.isArray(value) && value.every((item) => typeof item === 'string')) return value.join(', ');
  return JSON.stringify(value) ?? String(value);
}

function violationLines(value: unknown): string {
  const violations = Array.isArray(value) ? (value as readonly Record<string, string>[]) : [];
  return violations
    .map((v) => `\n  ${v['rule']} ${v['severity']} ${v['place']}: ${v['message']} (${v['fix']})`)
    .join('');
}
