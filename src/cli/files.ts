/** The input of a run, from a file and from parts. */
import {
  readFileSync,
  fstatSync,
  writeSync,
  closeSync,
  fchmodSync,
  fsyncSync,
  lstatSync,
  openSync,
  renameSync,
  rmSync,
  statSync,
} from 'node:fs';
import { decodeText } from '../app/process/decode-text.ts';
import { CairnError, errorTable } from '../errors.ts';
import { parsePath } from '../operations/contract/state-path.ts';
import type { KnownWorkflow } from '../operations/contract/workflows.ts';
import { splitAssignment } from './parse.ts';
import { randomBytes } from 'node:crypto';
import { resolve } from 'node:path';

// Says in words why a file cannot be read or written.

const reading: Readonly<Record<string, string>> = {
  ENOENT: 'there is no such file',
  EISDIR: 'it is a folder',
  EACCES: 'that is not permitted',
};

/** What is written has no file yet, so that it is the folder that is missing. */
const writing: Readonly<Record<string, string>> = {
  ...reading,
  ENOENT: 'its folder is not there',
  EEXIST: 'it exists',
};

/** @param error - what Node threw; what is not among the usual reasons is reported as Node says it */
export function fileFault(error: unknown, act: 'read' | 'write'): string {
  const { code = '', message } = error as NodeJS.ErrnoException;
  return (act === 'read' ? reading : writing)[code] ?? message;
}

function readInputFile(file: string): unknown {
  let text: string;
  try {
    text = decodeText(readFileSync(file === '-' ? 0 : file));
  } catch (error) {
    const reason = `cannot read ${file}: ${fileFault(error, 'read')}`;
    throw new CairnError('USAGE_INVALID', { reason, hint: 'Name a file of JSON, or - for standard input.' });
  }
  try {
    return JSON.parse(text);
  } catch (error) {
    const reason = `it is no JSON: ${(error as Error).message.replaceAll(/\s+/g, ' ')}`;
    throw new CairnError('INPUT_INVALID', { path: file, reason }, { cause: error });
  }
}

type Keyed = Record<string, unknown>;

function isKeyed(value: unknown): value is Keyed {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** A copy with a value set at a path; a key such as __proto__ is a key like any other. */
function withValueAt(target: unknown, [key = '', ...rest]: readonly string[], value: unknown): Keyed {
  const copy = new Map(Object.entries(isKeyed(target) ? target : {}));
  copy.set(key, rest.length === 0 ? value : withValueAt(copy.get(key), rest, value));
  return Object.fromEntries(copy);
}

/** The input that `--input` or `--input-file` gives. */
interface InputArguments {
  readonly input?: Readonly<Record<string, unknown>>;
  readonly inputFile?: string;
}

/** @returns undefined if there is neither. @throws USAGE_INVALID, INPUT_INVALID */
export function readInput({ input, inputFile }: InputArguments): unknown {
  const start = inputFile === undefined ? undefined : readInputFile(inputFile);
  if (input === undefined) return start;
  if (start !== undefined && !isKeyed(start))
    throw new CairnError('USAGE_INVALID', {
      reason: 'the input in the file is no object, so --input cannot change a part of it',
    });
  let merged: unknown = start;
  for (const [path, value] of Object.entries(input)) merged = withValueAt(merged, parsePath(path), value);
  return merged;
}

/** An input that is declared as a text is what was typed: `1.0` is no number then. */
export function withTypedTexts(
  input: unknown,
  { inputs }: KnownWorkflow['workflow'],
  typed: readonly string[],
): unknown {
  const texts = new Set(inputs.filter(({ type }) => type === 'str').map(({ name }) => name));
  const assignments = typed.map((text) => splitAssignment(text, 'input')).filter(([name]) => texts.has(name));
  return assignments.reduce((merged: unknown, [name, text]) => withValueAt(merged, [name], text), input);
}

// Writes to standard output and standard error without Node's streams where these are not terminals: making a stream costs
// more time than listing runs.

const retryMs = 5;

/** Whether a descriptor may be a terminal; only then is a stream worth its making. */
export function mayBeTerminal(descriptor: number): boolean {
  try {
    return fstatSync(descriptor).isCharacterDevice();
  } catch {
    return false;
  }
}

/** As it is for the command itself, whatever a node's call of it does. */
const exit: (code: string | number) => never = process.exit.bind(process);

/** A reader that went away (`| head`) is no fault: the process ends quietly. Where nothing can be written, nothing more can be reported. */
function endUnwritten(error: unknown, descriptor: 1 | 2): never {
  const { code, message } = error as NodeJS.ErrnoException;
  if (code === 'EPIPE') exit(process.exitCode ?? 0);
  try {
    if (descriptor === 1) writeAll(2, `cairn: the output cannot be written: ${message}\n`);
  } finally {
    exit(errorTable.STORE_FULL.exit);
  }
}

/** Writes all of a text at once; waits for a reader that is slower. @throws what the system says */
function writeAll(descriptor: number, text: string): void {
  let bytes = Buffer.from(text);
  while (bytes.length > 0) {
    try {
      bytes = bytes.subarray(writeSync(descriptor, bytes));
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EAGAIN') throw error;
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, retryMs);
    }
  }
}

/** Standard output as a stream, also when it is reserved for the command. */
export let ownOutput = (): NodeJS.WriteStream => process.stdout;

/** A function that writes to a descriptor, 1 or 2. */
export function openWriter(descriptor: 1 | 2): (text: string) => void {
  if (!mayBeTerminal(descriptor))
    return (text) => {
      try {
        writeAll(descriptor, text);
      } catch (error) {
        endUnwritten(error, descriptor);
      }
    };
  const stream = descriptor === 1 ? ownOutput() : process.stderr;
  stream.on('error', (error) => endUnwritten(error, descriptor));
  return (text) => void stream.write(text);
}

/**
 * Sends what user code prints (`console.log`, `process.stdout`) to standard error, so that the output of a command is its own: under
 * `--json` nothing but JSON. In a terminal a person sees both, so nothing changes. Call it after the writers are opened.
 */
export function reserveOutput(isTerminal: boolean): void {
  const found = Object.getOwnPropertyDescriptor(process, 'stdout');
  if (isTerminal || found?.get === undefined) return;
  // Getters: making a stream costs more than listing runs.
  ownOutput = found.get.bind(process) as typeof ownOutput;
  Object.defineProperty(process, 'stdout', { get: () => process.stderr, configurable: true });
}

// Files that commands write. A file is complete and readable by its owner only before it gets its name, and no symbolic link is written
// through. A pipe or device (`/dev/stdout`) is written into: a file put in its place would never reach its reader.

/** A file that is being written. One of `commit` and `abandon` must be called. All throw USAGE_INVALID. */
export interface OwnFile {
  write(text: string): void;
  /** Makes the file durable and gives it its name. */
  commit(): void;
  /** Leaves what was there before. */
  abandon(): void;
}

/** Calls a function that uses the file, and names the file in the error if it fails. */
function reach<Result>(file: string, act: () => Result): Result {
  try {
    return act();
  } catch (error) {
    const reason = `cannot write ${file}: ${fileFault(error, 'write')}`;
    throw new CairnError('USAGE_INVALID', { reason, hint: 'Name another file.' }, { cause: error });
  }
}

/** @throws USAGE_INVALID it is a symbolic link to a file, or to nothing; its folder is not there */
export function openOwnFile(cwd: string, file: string, { keepsMode = false } = {}): OwnFile {
  const path = resolve(cwd, file);
  const found = reach(file, () => statSync(path, { throwIfNoEntry: false }));
  if (found?.isDirectory() === false && !found.isFile()) return openDevice(file, path);
  if (lstatSync(path, { throwIfNoEntry: false })?.isSymbolicLink() === true) {
    const reason = `cannot write ${file}: it is a symbolic link`;
    throw new CairnError('USAGE_INVALID', { reason, hint: 'Name the file that it leads to, or another one.' });
  }
  const part = `${path}.${process.pid}-${randomBytes(6).toString('hex')}.part`;
  const descriptor = reach(file, () => openSync(part, 'wx', 0o600));
  return {
    write: (text) => reach(file, () => writeAll(descriptor, text)),
    commit: () =>
      reach(file, () => {
        if (keepsMode && found !== undefined) fchmodSync(descriptor, found.mode & 0o777);
        fsyncSync(descriptor);
        closeSync(descriptor);
        renameSync(part, path);
      }),
    abandon: () => {
      closeQuietly(descriptor);
      rmSync(part, { force: true });
    },
  };
}

function openDevice(file: string, path: string): OwnFile {
  const descriptor = reach(file, () => openSync(path, 'w'));
  const close = (): void => closeQuietly(descriptor);
  return { write: (text) => reach(file, () => writeAll(descriptor, text)), commit: close, abandon: close };
}

/** Closes a descriptor that may be closed already. Nothing else is opened in between. */
function closeQuietly(descriptor: number): void {
  try {
    closeSync(descriptor);
  } catch {
    // It was.
  }
}

/**
 * Writes a text into a file, in place of one that is there.
 * @param options.keepsMode - whether a file that is replaced keeps its mode, as sources should. Default: only its owner can read it
 * @throws USAGE_INVALID
 */
export function writeOwnFile(cwd: string, file: string, text: string, options: { keepsMode?: boolean } = {}): void {
  const opened = openOwnFile(cwd, file, options);
  try {
    opened.write(text);
    opened.commit();
  } catch (error) {
    opened.abandon();
    throw error;
  }
}

// A file in which a long-lived process reports its health periodically, for whoever monitors it.

/** What is reported. The time shows whether the process is alive: one that hangs or is dead does not update it. */
export interface Health {
  readonly status: 'working' | 'draining' | 'stopped';
  /** Ids of the runs that are advanced now. */
  readonly runs: readonly string[];
  /** The newest failure, with its time; absent: there was none. */
  readonly lastError?: {
    readonly at: string;
    readonly runId?: string;
    readonly code: string;
    readonly message: string;
  };
}

/** Writes the file atomically, readable by its owner only. @throws USAGE_INVALID */
export function writeHealth(file: string, health: Health): void {
  const text = JSON.stringify({ at: new Date().toISOString(), pid: process.pid, ...health });
  writeOwnFile(process.cwd(), file, `${text}\n`);
}

// Files that commands read as texts.

/** @throws USAGE_INVALID it cannot be read; GRAPH_PARSE it is no text in UTF-8 */
export function readTextFile(cwd: string, file: string): string {
  const bytes = bytesOf(cwd, file);
  try {
    return decodeText(bytes);
  } catch (error) {
    throw new CairnError('GRAPH_PARSE', { file, reason: (error as Error).message }, { cause: error });
  }
}

function bytesOf(cwd: string, file: string): Buffer {
  try {
    return readFileSync(resolve(cwd, file));
  } catch (error) {
    const reason = `cannot read ${file}: ${fileFault(error, 'read')}`;
    throw new CairnError('USAGE_INVALID', { reason, hint: 'Name another file.' }, { cause: error });
  }
}

/** Names of files that are programs: their graphs are loaded, and not read. */
const module = /\.[cm]?[jt]s$/i;

export const isModule = (file: string): boolean => module.test(file);
