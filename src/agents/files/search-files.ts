/** Searches files for lines that match a pattern. */
import { NodeFailure } from '../../graph/contracts/node-contract.ts';
import { findMatches } from '../../nodes/blocks/files/edits.ts';
import type { OpenFiles } from '../../ports/file-store.ts';

const hitsMax = 200;
const lineCharacters = 200;
/** Files larger than this are skipped. */
const searchedBytesMax = 1024 * 1024;
const matchMs = 1_000;

/** The matching lines as `path:line: text`, and what was omitted. @throws NodeFailure PATTERN_INVALID */
export async function searchFiles(
  files: OpenFiles,
  { pattern, patterns = ['**'] }: { readonly pattern: string; readonly patterns?: readonly string[] },
  signal: AbortSignal,
): Promise<string> {
  const hits: string[] = [];
  for (const path of await files.list(patterns, signal)) {
    signal.throwIfAborted();
    const bytes = await files.read(path).catch((error: unknown) => {
      // Files that are gone, too large or not readable are skipped.
      if (error instanceof NodeFailure) return undefined;
      throw error;
    });
    if (bytes === undefined || bytes.length > searchedBytesMax || bytes.includes(0)) continue;
    hits.push(...hitsIn(path, Buffer.from(bytes).toString('utf8'), pattern));
    if (hits.length > hitsMax) return `${hits.slice(0, hitsMax).join('\n')}\n[… there are more: look for less …]`;
  }
  return hits.length === 0 ? 'no line matches' : hits.join('\n');
}

function hitsIn(path: string, text: string, pattern: string): readonly string[] {
  const lines = new Map<number, string>();
  let counted = 0;
  let line = 1;
  for (const { index } of matchesIn(text, pattern)) {
    for (; counted < index; counted += 1) if (text[counted] === '\n') line += 1;
    const start = text.lastIndexOf('\n', index - 1) + 1;
    const end = text.indexOf('\n', index);
    lines.set(line, text.slice(start, end < 0 ? undefined : end).slice(0, lineCharacters));
  }
  return [...lines].map(([number, found]) => `${path}:${number}: ${found.trimEnd()}`);
}

function matchesIn(text: string, pattern: string): ReturnType<typeof findMatches> {
  try {
    return findMatches(text, pattern, 'gmu', matchMs);
  } catch (error) {
    throw new NodeFailure(`${JSON.stringify(pattern)} cannot be searched for: ${(error as Error).message}`, {
      code: 'PATTERN_INVALID',
      applied: 'no',
    });
  }
}
