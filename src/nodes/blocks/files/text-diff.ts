/** Differences of texts: the one place that knows the `diff` package. */
import { applyPatch, createTwoFilesPatch, diffLines, parsePatch } from 'diff';

/** A unified diff; empty if the texts are the same. @param path - as it is to stand in the heading */
export function writeUnifiedDiff(path: string, before: string, after: string): string {
  if (before === after) return '';
  // The heading line of `=` signs is the package's own and no part of the format.
  return createTwoFilesPatch(`a/${path}`, `b/${path}`, before, after).replace(/^=+\n/, '');
}

/** The text with a unified diff of one file applied, or undefined if a part of it does not fit exactly. */
export function applyUnifiedDiff(text: string, patch: string): string | undefined {
  const files = parse(patch);
  const [file] = files;
  if (file === undefined || files.length > 1 || file.hunks.length === 0) return undefined;
  const applied = applyPatch(text, file, { fuzzFactor: 0 });
  return applied === false ? undefined : applied;
}

function parse(patch: string): ReturnType<typeof parsePatch> {
  try {
    return parsePatch(patch);
  } catch {
    return [];
  }
}

export interface ChangedLines {
  readonly added: number;
  readonly removed: number;
  /** Lines that took the place of others. */
  readonly modified: number;
}

/** Counts changed lines: where lines were replaced by others, as many as there are on both sides are modified. */
export function countChangedLines(before: string, after: string): ChangedLines {
  const total = { added: 0, removed: 0, modified: 0 };
  let removed = 0;
  let added = 0;
  const close = (): void => {
    const modified = Math.min(removed, added);
    total.modified += modified;
    total.removed += removed - modified;
    total.added += added - modified;
    [removed, added] = [0, 0];
  };
  for (const part of diffLines(before, after)) {
    if (part.removed) removed += part.count;
    else if (part.added) added += part.count;
    else close();
  }
  close();
  return total;
}
