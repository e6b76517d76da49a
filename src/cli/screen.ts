/** The terminal, or what stands in its place: a pipe, a file. */
import type * as clack from '@clack/prompts';
import { forTerminal, printableLines } from '../operations/format/terminal.ts';
import { coloured, plain, type Paint } from './text/tone.ts';
import { mayBeTerminal, openWriter } from './files.ts';

export interface Screen {
  /** Columns; 80 where it is not a terminal. */
  readonly width: number;
  /** Columns that a row of a list may take. A pipe takes rows of any width: what is looked for in them must not be cut off. */
  readonly rowWidth: number;
  /** Rows of a terminal. */
  readonly height: number;
  /** Whether a person sees the output. */
  readonly isTerminal: boolean;
  /** Whether a person can be asked. */
  readonly canAsk: boolean;
  readonly paint: Paint;
  /** Prints lines to standard output. Many are passed as one list: a call takes only so many arguments. */
  readonly print: (...lines: readonly (string | readonly string[])[]) => void;
  /** Prints lines to standard error: what is no part of the output. */
  readonly note: (...lines: readonly string[]) => void;
  /**
   * Draws a line on standard error, below all that is printed meanwhile, in place of the one before; without a line there is none any more.
   * Absent: nobody sees it.
   */
  readonly progress?: (line?: string) => void;
  /** Draws lines on standard error, in place of the last so many. Absent: nobody sees them being redrawn. */
  readonly redraw?: (replacedCount: number, lines: readonly string[]) => void;
}

/** What a person is asked, and with what: texts of runs among it. */
interface Prompts {
  readonly isCancel: (value: unknown) => value is symbol;
  readonly confirm: typeof clack.confirm;
  readonly text: typeof clack.text;
  /** Options are named by their places. */
  readonly select: (options: {
    readonly message: string;
    readonly options: readonly { readonly value: number; readonly label: string }[];
    readonly signal: AbortSignal;
  }) => Promise<number | symbol>;
}

/** Prompts, through the same gate as all that is printed. Loaded when a person is asked. */
export async function loadPrompts(): Promise<Prompts> {
  const { confirm, isCancel, select, text } = await import('@clack/prompts');
  return {
    isCancel,
    confirm: (options) => confirm({ ...options, message: printableLines(options.message) }),
    text: (options) => text({ ...options, message: printableLines(options.message) }),
    select: ({ message, options, signal }) =>
      select({
        message: printableLines(message),
        options: options.map(({ value, label }) => ({ value, label: printableLines(label) })),
        signal,
      }),
  };
}

type Environment = NodeJS.ProcessEnv;

/** Whether colours are wanted: see no-color.org; FORCE_COLOR wins over what the stream is. */
function hasColour(isTerminal: boolean, environment: Environment): boolean {
  if (environment['NO_COLOR'] !== undefined && environment['NO_COLOR'] !== '') return false;
  if (environment['FORCE_COLOR'] !== undefined) return environment['FORCE_COLOR'] !== '0';
  return isTerminal && environment['TERM'] !== 'dumb';
}

function formatLines(lines: readonly string[]): string {
  return lines.map((line) => `${line}\n`).join('');
}

/** What a terminal is taken for that does not know its size, and says 0. */
const usual = { columns: 80, rows: 24 } as const;

/** Prompts ask the stream how wide it is, and would break a line after each character of it. */
function assumeSize(): void {
  process.stdout.columns ||= usual.columns;
  process.stdout.rows ||= usual.rows;
}

export function openScreen(environment: Environment): Screen {
  const isTerminal = mayBeTerminal(1) && process.stdout.isTTY;
  if (isTerminal) {
    assumeSize();
    process.stdout.on('resize', assumeSize);
  }
  const [write, writeNote] = [openWriter(1), openWriter(2)];
  const isWatched = environment['TERM'] !== 'dumb' && mayBeTerminal(2) && process.stderr.isTTY;
  let progress: string | undefined;
  const clearProgress = (): void => {
    if (progress !== undefined) writeNote('\r\u001b[K');
  };
  const drawProgress = (): void => {
    if (progress !== undefined) writeNote(progress);
  };
  if (isWatched) process.once('exit', clearProgress);
  const columnsOr = (otherwise: number): number => {
    const columns = isTerminal ? process.stdout.columns : Number(environment['COLUMNS']);
    return Number.isInteger(columns) && columns > 0 ? columns : otherwise;
  };
  return {
    get width(): number {
      return columnsOr(usual.columns);
    },
    get rowWidth(): number {
      return columnsOr(isTerminal ? usual.columns : Infinity);
    },
    get height(): number {
      return isTerminal ? process.stdout.rows : usual.rows;
    },
    isTerminal: isTerminal && environment['TERM'] !== 'dumb',
    canAsk: isTerminal && environment['CI'] === undefined && process.stdin.isTTY,
    paint: hasColour(isTerminal, environment) ? coloured : plain,
    // What a file or a pipe gets is the text itself, as a program must have it.
    print: (...lines) => {
      const text = formatLines(lines.flat());
      if (isTerminal) clearProgress();
      write(isTerminal ? forTerminal(text) : text);
      if (isTerminal) drawProgress();
    },
    note: (...lines) => {
      clearProgress();
      writeNote(forTerminal(formatLines(lines)));
      drawProgress();
    },
    ...(isWatched && {
      progress: (line) => {
        clearProgress();
        progress = line && forTerminal(line).slice(0, usual.columns - 1);
        drawProgress();
      },
    }),
    ...(isTerminal &&
      isWatched && {
        redraw: (replacedCount, lines) => {
          const up = replacedCount > 0 ? `\u001b[${replacedCount}A` : '';
          writeNote(`${up}\r\u001b[J${forTerminal(formatLines(lines))}`);
        },
      }),
  };
}
