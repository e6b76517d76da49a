/** Writes a tree as lines of JSON: small parts in the first line, large parts as ops in the lines after it (C4). */
import { applyDelta } from '../../state/delta.ts';
import { isPlainObject } from '../../state/values/plain.ts';
import { measureValue } from './measure-value.ts';

/**
 * Target length of a line. Strings above 128 KiB are handled separately by V8, and creating one takes twenty times as long as creating
 * several smaller ones.
 */
const lineBytes = 64 * 1024;

type Path = readonly string[];

/** The lines of a tree, given its JSON text. */
export function toTreeLines(treeJson: string): readonly string[] {
  if (treeJson.length <= lineBytes) return [treeJson];
  const lines = new OpLines();
  const root: unknown = JSON.parse(treeJson);
  if (!isPlainObject(root)) return [treeJson];
  putObject(root, [], lines);
  return ['{}', ...lines.end()];
}

/** Parses lines into a new tree. @throws SyntaxError, TypeError the lines are not those of a tree */
export function parseTreeLines(lines: Iterable<string>): Record<string, unknown> {
  let root: Record<string, unknown> | undefined;
  for (const line of lines) {
    if (root === undefined) root = JSON.parse(line) as Record<string, unknown>;
    else applyDelta(root, JSON.parse(line) as readonly unknown[]);
  }
  if (!isPlainObject(root)) throw new TypeError('a tree has at least one line');
  return root;
}

/** Collects ops into lines of about the target length. */
class OpLines {
  readonly #lines: string[] = [];
  #ops: string[] = [];
  #size = 0;

  add(op: readonly [kind: 's' | 'a', path: Path, value: unknown]): void {
    const json = JSON.stringify(op);
    if (this.#size + json.length > lineBytes) this.#cut();
    this.#ops.push(json);
    this.#size += json.length;
  }

  end(): readonly string[] {
    this.#cut();
    return this.#lines;
  }

  #cut(): void {
    if (this.#ops.length > 0) this.#lines.push(`[${this.#ops.join(',')}]`);
    this.#ops = [];
    this.#size = 0;
  }
}

/** Writes keys in their order, so that the parsed object has them in the same order. */
function putObject(object: Readonly<Record<string, unknown>>, path: Path, lines: OpLines): void {
  for (const key of Object.keys(object)) {
    const value = object[key];
    const place = [...path, key];
    const isLarge = measureValue(value) > lineBytes;
    if (isLarge && isPlainObject(value) && typeof value['$'] !== 'string') {
      lines.add(['s', place, {}]);
      putObject(value, place, lines);
    } else if (isLarge && Array.isArray(value)) {
      putList(value, place, lines);
    } else {
      lines.add(['s', place, value]);
    }
  }
}

/** Writes a list. Items of a list have no path of their own, so a large item stays in one line. */
function putList(items: readonly unknown[], path: Path, lines: OpLines): void {
  lines.add(['s', path, []]);
  let batch: unknown[] = [];
  let size = 0;
  for (const item of items) {
    batch.push(item);
    size += measureValue(item);
    if (size < lineBytes / 2) continue;
    lines.add(['a', path, batch]);
    batch = [];
    size = 0;
  }
  if (batch.length > 0) lines.add(['a', path, batch]);
}
