/** What ReadFiles returns: the text of each file, and all of them together. */
import { extname, join } from 'node:path';
import { NodeFailure } from '../../../graph/contracts/node-contract.ts';
import type { IsGranted } from '../../file/reached-place.ts';
import { readRegularFile } from '../../file/read-regular-file.ts';
import { outlineText, summarize, writeOutline, type Section } from './outline.ts';
import { decodeBytes, type Encoding } from './text-encoding.ts';
import { writeYamlListing } from './yaml-listing.ts';

export interface LineRange {
  /** A range of lines, counted from 1; both ends are included. */
  readonly first: number;
  readonly last: number;
}

/** Options of reading. */
export interface Reading {
  readonly mode: 'full' | 'outline' | 'summary';
  /** The most bytes of one file. */
  readonly limitBytes: number;
  readonly encoding: Encoding;
  readonly lines: LineRange | undefined;
  readonly isGranted: IsGranted;
}

export interface FileEntry {
  readonly path: string;
  readonly content: string;
  readonly size_bytes: number;
  readonly encoding?: 'base64';
  /** Sections of the file; only in mode `outline`. */
  readonly sections?: readonly Section[];
}

export interface SkippedFile {
  readonly path: string;
  readonly reason: string;
  readonly details: string;
}

const reasons: Readonly<Record<string, string>> = { FILE_TOO_LARGE: 'too_large', ENCODING: 'binary' };
const media = /^\.(png|jpe?g|gif|webp|bmp|ico|tiff?|avif|pdf|mp3|wav|ogg|flac|m4a|mp4|webm|mov|avi|mkv)$/i;

/** Reads one file. @throws NodeFailure FILE_TOO_LARGE, NOT_A_FILE, ENCODING, or the code of the operating system */
export async function readEntry(path: string, full: string, reading: Reading): Promise<FileEntry> {
  const bytes = await readRegularFile(full, { limitBytes: reading.limitBytes, isGranted: reading.isGranted });
  const size = { path, size_bytes: bytes.length };
  if (media.test(extname(path))) return { ...size, content: bytes.toString('base64'), encoding: 'base64' };
  const text = decodeBytes(bytes, reading.encoding);
  if (text.includes('\0')) throw new NodeFailure(`${path} is no text`, { code: 'ENCODING', data: { path } });
  if (reading.mode === 'full') return { ...size, content: cutLines(text, reading.lines) };
  if (reading.mode === 'summary') return { ...size, content: summarize(text, path) };
  const sections = outlineText(text, path);
  return { ...size, content: writeOutline(sections), sections };
}

/** Reads several files, up to a maximum number. Files that cannot be read are listed with the reason. */
export async function readEntries(
  folder: string,
  paths: readonly string[],
  countMax: number,
  reading: Reading,
  signal: AbortSignal,
): Promise<{ readonly entries: readonly FileEntry[]; readonly skipped: readonly SkippedFile[] }> {
  const entries: FileEntry[] = [];
  const skipped: SkippedFile[] = [];
  for (const path of paths.slice(0, countMax)) {
    signal.throwIfAborted();
    try {
      entries.push(await readEntry(path, join(folder, path), reading));
    } catch (error) {
      if (!(error instanceof NodeFailure)) throw error;
      skipped.push({ path, reason: reasons[error.code] ?? 'unreadable', details: error.message });
    }
  }
  const [next] = paths.slice(countMax);
  if (next !== undefined)
    skipped.push({ path: next, reason: 'max_files', details: `this and ${paths.length - countMax - 1} more` });
  return { entries, skipped };
}

/** Makes the output of ReadFiles. */
export function describeEntries(
  entries: readonly FileEntry[],
  skipped: readonly SkippedFile[],
  matched: number,
  mode: Reading['mode'],
): object {
  const [first, second] = entries;
  const totalBytes = entries.reduce((sum, entry) => sum + entry.size_bytes, 0);
  const sections = mode === 'outline' && second === undefined ? (first?.sections ?? []) : undefined;
  return {
    content: second === undefined ? (first?.content ?? '') : writeYamlListing(entries),
    files: entries.map(({ sections: _sections, ...entry }) => entry),
    total_files: entries.length,
    total_size_kb: Math.round((totalBytes / 1024) * 100) / 100,
    skipped_files: skipped,
    patterns_matched: matched,
    ...(sections && {
      sections,
      total_sections: sections.length,
      max_depth: Math.max(0, ...sections.map(({ level }) => level)),
    }),
  };
}

function cutLines(text: string, lines: LineRange | undefined): string {
  if (lines === undefined) return text;
  return text
    .split(/(?<=\n)/)
    .slice(lines.first - 1, lines.last)
    .join('');
}
