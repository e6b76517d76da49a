/** Computes and applies differences between texts. No other file imports the `diff` package. */
import { applyPatch, createTwoFilesPatch, diffLines, formatPatch, parsePatch, type Change } from 'diff';

/**
 * The most removed and added lines of which the smallest difference is looked for, since that takes time with their square. Of more, the
 * difference is that everything between the first and the last of them was replaced.
 */
const bound = { maxEditLength: 1_000 } as const;
const contextLines = 4;
/** The most places that are tried for the hunks of a patch. One that may need more is taken as one that does not fit. */
const triedMax = 20_000_000;

/** A unified diff; empty if the texts are equal. @param path - path for the diff's header */
export function writeUnifiedDiff(path: string, before: string, after: string): string {
  if (before === after) return '';
  const [from, to] = [`a/${path}`, `b/${path}`];
  const patch = createTwoFilesPatch(from, to, before, after, undefined, undefined, bound);
  // The package adds a line of `=` signs, which is not part of the format.
  return (patch ?? replacingPatch(from, to, before, after)).replace(/^=+\n/, '');
}

/** The lines of a text, with their ends. */
const linesOf = (text: string): readonly string[] => text.match(/[^\n]*\n|[^\n]+$/g) ?? [];

/** How many lines are the same at the beginning and at the end. */
function sameAround(before: readonly string[], after: readonly string[]): readonly [first: number, last: number] {
  const most = Math.min(before.length, after.length);
  let first = 0;
  while (first < most && before[first] === after[first]) first += 1;
  let last = 0;
  while (last < most - first && before.at(-1 - last) === after.at(-1 - last)) last += 1;
  return [first, last];
}

/** One hunk, in which everything between the first and the last change is replaced. */
function replacingPatch(oldFileName: string, newFileName: string, before: string, after: string): string {
  const [old, young] = [linesOf(before), linesOf(after)];
  const [first, last] = sameAround(old, young);
  const start = Math.max(0, first - contextLines);
  const [oldEnd, youngEnd] = [old.length - last, young.length - last];
  const marked = (sign: string, lines: readonly string[]): readonly string[] =>
    lines.flatMap((line) =>
      line.endsWith('\n') ? [sign + line.slice(0, -1)] : [sign + line, '\\ No newline at end of file'],
    );
  const behind = old.slice(oldEnd, oldEnd + contextLines);
  const hunk = {
    oldStart: start + 1,
    oldLines: oldEnd - start + behind.length,
    newStart: start + 1,
    newLines: youngEnd - start + behind.length,
    lines: [
      ...marked(' ', old.slice(start, first)),
      ...marked('-', old.slice(first, oldEnd)),
      ...marked('+', young.slice(first, youngEnd)),
      ...marked(' ', behind),
    ],
  };
  return formatPatch({ oldFileName, newFileName, oldHeader: undefined, newHeader: undefined, hunks: [hunk] });
}

/** Applies a unified diff of one file. Returns undefined if some part of it does not fit exactly. */
export function applyUnifiedDiff(text: string, patch: string): string | undefined {
  const files = parse(patch);
  const [file] = files;
  if (file === undefined || files.length > 1 || file.hunks.length === 0) return undefined;
  // The package looks for each hunk in the whole text, wherever its header says that it stands.
  if (file.hunks.length * linesOf(text).length > triedMax) return undefined;
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

function replacedLines(before: string, after: string): readonly Pick<Change, 'added' | 'removed' | 'count'>[] {
  const [old, young] = [linesOf(before), linesOf(after)];
  const [first, last] = sameAround(old, young);
  return [
    { removed: true, added: false, count: old.length - first - last },
    { removed: false, added: true, count: young.length - first - last },
  ];
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
  for (const part of diffLines(before, after, bound) ?? replacedLines(before, after)) {
    if (part.removed) removed += part.count;
    else if (part.added) added += part.count;
    else close();
  }
  close();
  return total;
}
