/** Computes and applies differences between texts. No other file imports the `diff` package. */
import { applyPatch, createTwoFilesPatch, diffLines, parsePatch } from 'diff';

/** A unified diff; empty if the texts are equal. @param path - path for the diff's header */
export function writeUnifiedDiff(path: string, before: string, after: string): string {
  if (before === after) return '';
  // The package adds a line of `=` signs, which is not part of the format.
  return createTwoFilesPatch(`a/${path}`, `b/${path}`, before, after).replace(/^=+\n/, '');
}

/** Applies a unified diff of one file. Returns undefined if some part of it does not fit exactly. */
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
  /** Number of lines that replaced others. */
  readonly modified: number;
}

/** Counts changed lines. Where lines were replaced, the smaller number of the two sides counts as modified. */
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
