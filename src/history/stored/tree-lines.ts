/** A tree as lines of JSON: its small parts on the first, its large ones as deltas on those after it (C4). */
import { applyDelta } from '../../state/delta.ts';
import { isPlainObject } from '../../state/values/plain.ts';
import { measureValue } from './measure-value.ts';

/** V8 keeps strings over 128 KiB apart, and making one costs twenty times as much as several that are smaller. */
const lineBytes = 64 * 1024;

type Path = readonly string[];

/** The lines of a tree whose encoding is given. */
export function toTreeLines(treeJson: string): readonly string[] {
  if (treeJson.length <= lineBytes) return [treeJson];
  const lines = new OpLines();
  const root: unknown = JSON.parse(treeJson);
  if (!isPlainObject(root)) return [treeJson];
  putObject(root, [], lines);
  return ['{}', ...lines.end()];
}

/** The tree of its lines, the caller's own. @throws SyntaxError, TypeError the lines are not those of a tree */
export function parseTreeLines(lines: Iterable<string>): Record<string, unknown> {
  let root: Record<string, unknown> | undefined;
  for (const line of lines) {
    if (root === undefined) root = JSON.parse(line) as Record<string, unknown>;
    else applyDelta(root, JSON.parse(line) as readonly unknown[]);
  }
  if (!isPlainObject(root)) throw new TypeError('a tree has at least one line');
  return root;
}

/** Gathers ops into lines of about the size wanted. */
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

/** Keys are put in their order, so that the object read back has it too. */
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

/** What is inside a list has no path of its own, so a large item stays whole. */
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
