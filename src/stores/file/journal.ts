/**
 * Journals: files of JSON lines that people can read. Each line is chained to the one before by a checksum, so that damage of any byte is
 * found.
 */
import {
  closeSync,
  constants,
  fdatasyncSync,
  fsyncSync,
  ftruncateSync,
  mkdirSync,
  openSync,
  lstatSync,
  readFileSync,
  renameSync,
  rmSync,
  writeSync,
} from 'node:fs';
import { hash } from 'node:crypto';
import { dirname } from 'node:path';
import { CairnError, fileFault } from '../../errors.ts';

/** One line, without its checksum. */
export type Entry = Readonly<Record<string, unknown>>;

/** Where the next line of a journal goes. */
export interface JournalEnd {
  /** Checksum of the last line; that of the journal's name if it has none. */
  readonly sum: string;
  readonly sizeBytes: number;
}

/** A journal as it was found. */
export interface ReadJournal {
  /** Up to the first damage. */
  readonly entries: readonly Entry[];
  readonly end: JournalEnd;
  /** What is wrong with it, and in which line. Absent: nothing. */
  readonly damage?: string;
  /** Bytes behind the last whole line: a process was killed while it wrote them, and they were never acknowledged. */
  readonly tornBytes: number;
}

/** How journals are opened to be written: never through a link. */
const existingFile = constants.O_RDWR | constants.O_NOFOLLOW;
const newFile = constants.O_WRONLY | constants.O_CREAT | constants.O_TRUNC | constants.O_NOFOLLOW;
const lineFeed = Buffer.from('\n');
const sumDigits = 32;
const beforeSum = ',"sum":"';
const afterSum = '"}';
const suffixBytes = beforeSum.length + sumDigits + afterSum.length;

const sumOf = (before: string, bytes: Uint8Array): string =>
  hash('sha256', Buffer.concat([Buffer.from(before), bytes]), 'hex').slice(0, sumDigits);

/** Where a new journal begins. Its name is part of the chain, so that one that took another's place is found. */
export const emptyEnd = (name: string): JournalEnd => ({ sum: sumOf('', Buffer.from(name)), sizeBytes: 0 });

/**
 * Refuses what is not of the store's own making: a link leads out of its folder, and would be written through; a pipe or a device never
 * ends. What is not there is fine. @throws STORE_CORRUPT
 */
export function requireOwn(path: string, kind: 'file' | 'folder', store: string): void {
  const found = withErrors(store, () => lstatSync(path, { throwIfNoEntry: false }));
  if (found === undefined || (kind === 'file' ? found.isFile() : found.isDirectory())) return;
  throw new CairnError('STORE_CORRUPT', { store, reason: `${path} is not a ${kind} of the store` });
}

/** Reads a journal. @param name - that of `emptyEnd` */
export function readJournal(path: string, name: string, store: string): ReadJournal {
  requireOwn(path, 'file', store);
  const bytes = withErrors(store, () => readFileSync(path));
  const entries: Entry[] = [];
  let end = emptyEnd(name);
  while (end.sizeBytes < bytes.length) {
    const at = bytes.indexOf(lineFeed, end.sizeBytes);
    const line = bytes.subarray(end.sizeBytes, at < 0 ? bytes.length : at);
    const read = readLine(line, end.sum);
    if (read === undefined) {
      const rest = { entries, end, tornBytes: bytes.length - end.sizeBytes };
      // A whole line whose last byte, the line feed, became another is damage. All else that has no end was being written.
      const isTorn = at < 0 && readLine(line.subarray(0, -1), end.sum) === undefined;
      return isTorn ? rest : { ...rest, damage: `line ${entries.length + 1} of ${path} is not as it was written` };
    }
    entries.push(read.entry);
    // Where the line feed alone is missing, the next line brings it.
    end = { sum: read.sum, sizeBytes: end.sizeBytes + line.length + 1 };
  }
  return { entries, end, tornBytes: 0 };
}

function readLine(line: Buffer, before: string): { readonly entry: Entry; readonly sum: string } | undefined {
  const content = line.subarray(0, Math.max(0, line.length - suffixBytes));
  const sum = sumOf(before, content);
  if (line.subarray(content.length).toString('latin1') !== `${beforeSum}${sum}${afterSum}`) return undefined;
  return { entry: JSON.parse(`${content.toString()}}`) as Entry, sum };
}

/** The bytes of a line, and the end behind it. */
function writeLine(entry: Entry, before: JournalEnd): { readonly bytes: Buffer; readonly end: JournalEnd } {
  const content = Buffer.from(JSON.stringify(entry).slice(0, -1));
  const sum = sumOf(before.sum, content);
  const bytes = Buffer.concat([content, Buffer.from(`${beforeSum}${sum}${afterSum}\n`)]);
  return { bytes, end: { sum, sizeBytes: before.sizeBytes + bytes.length } };
}

/**
 * Appends a line. What a failed write appended behind the end is cut off first. @param isSynced - whether it survives a power cut when this
 * returns. @throws STORE_FULL, STORE_READ_ONLY, STORE_UNAVAILABLE; then the line may be there or not
 */
export function append(path: string, entry: Entry, before: JournalEnd, isSynced: boolean, store: string): JournalEnd {
  const { bytes: line, end } = writeLine(entry, before);
  return withErrors(store, () => {
    const isNew = before.sizeBytes === 0;
    const bytes = isNew ? line : Buffer.concat([lineFeed, line]);
    const from = isNew ? 0 : before.sizeBytes - 1;
    if (isNew) makeFolder(dirname(path));
    const file = openSync(path, isNew ? newFile : existingFile, 0o600);
    try {
      for (let at = 0; at < bytes.length;) at += writeSync(file, bytes, at, bytes.length - at, from + at);
      if (isSynced) fdatasyncSync(file);
    } finally {
      closeSync(file);
    }
    if (isNew) syncFolder(dirname(path));
    return end;
  });
}

/** Makes durable what was appended to a journal without being synced. */
export function syncJournal(path: string, store: string): void {
  withErrors(store, () => {
    const file = openSync(path, existingFile);
    try {
      fdatasyncSync(file);
    } finally {
      closeSync(file);
    }
  });
}

/** Cuts off what was being written when the process was killed. */
export function cutTorn(path: string, { sizeBytes }: JournalEnd, store: string): void {
  withErrors(store, () => {
    const file = openSync(path, existingFile);
    try {
      ftruncateSync(file, sizeBytes);
      if (sizeBytes > 0) writeSync(file, lineFeed, 0, 1, sizeBytes - 1);
      fsyncSync(file);
    } finally {
      closeSync(file);
    }
  });
}

/** Puts one line in place of a whole journal, all or nothing. */
export function replaceJournal(path: string, name: string, entry: Entry, store: string): JournalEnd {
  const { bytes, end } = writeLine(entry, emptyEnd(name));
  return withErrors(store, () => {
    const part = `${path}.part`;
    rmSync(part, { force: true });
    const file = openSync(part, 'wx', 0o600);
    try {
      for (let at = 0; at < bytes.length;) at += writeSync(file, bytes, at);
      fsyncSync(file);
    } finally {
      closeSync(file);
    }
    renameSync(part, path);
    syncFolder(dirname(path));
    return end;
  });
}

/** Makes a folder that only its owner can read, and its name durable. */
export function makeFolder(path: string): void {
  const first = mkdirSync(path, { recursive: true, mode: 0o700 });
  if (first === undefined) return;
  for (let folder = path; folder.length >= dirname(first).length; folder = dirname(folder)) syncFolder(folder);
}

/** Makes the names in a folder durable, on systems that can. */
export function syncFolder(path: string): void {
  if (process.platform === 'win32') return;
  const folder = openSync(path, 'r');
  try {
    fsyncSync(folder);
  } finally {
    closeSync(folder);
  }
}

/** Calls the file system. @throws STORE_FULL, STORE_READ_ONLY, STORE_UNAVAILABLE */
export function withErrors<Result>(store: string, work: () => Result): Result {
  try {
    return work();
  } catch (error) {
    throw fileFault(store, error);
  }
}
