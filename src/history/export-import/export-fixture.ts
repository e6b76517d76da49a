/**
 * Writes a run as a fixture of a test: an export that can be imported, in which what looks like a secret is masked (H4.3). Masked values are
 * other values: what was called with one of them has another input when the fixture is replayed.
 */
import { hash } from 'node:crypto';
import { CairnError } from '../../errors.ts';
import type { BlobStore } from '../../ports/blobs.ts';
import type { RunRow, Store } from '../../ports/store.ts';
import { isSecretKey, plainKey, shownText } from '../../state/secrecy/shown-text.ts';
import { maskWellKnown } from '../../state/secrecy/well-known.ts';
import { maskedText } from '../../state/values/admit.ts';
import { rootChecksum, sealBody } from '../stored/checkpoint.ts';
import { toHex } from '../stored/checksum.ts';
import { exportRun } from './export.ts';
import { headerMeta, type CheckpointLine, type ExportLine, type HeaderLine } from './export-masked.ts';

/** Keys of the tree under which are records by names that people chose. They are no keys of values. */
const recordsByName: ReadonlySet<string> = new Set(['nodes', 'steps', 'waits']);

type Data = Readonly<Record<string, unknown>>;

const isData = (value: unknown): value is Data => typeof value === 'object' && value !== null && !Array.isArray(value);

/** Whether a value is the record of a node, a step or a wait: what it holds has names of its own. */
const isRecord = (value: unknown): boolean => isData(value) && typeof (value['status'] ?? value['kind']) === 'string';

/** Masks stored values: those under names of secrets, and under the names that are given beside them. */
class Mask {
  readonly #names: ReadonlySet<string>;
  /** The hashes of blobs by those that they had before. */
  readonly #hashes = new Map<string, string>();

  constructor(names: readonly string[]) {
    this.#names = new Set(names.map(plainKey));
  }

  #hides(key: string): boolean {
    return isSecretKey(key) || this.#names.has(plainKey(key));
  }

  /** @param isRecords - whether its keys are names of nodes and the like */
  value(value: unknown, isRecords = false): unknown {
    if (typeof value === 'string') return maskWellKnown(shownText(value));
    if (Array.isArray(value)) return value.map((item) => this.value(item));
    if (!isData(value)) return value;
    const isTag = typeof value['$'] === 'string';
    return Object.fromEntries(
      Object.entries(value).map(([key, part]) => {
        if (isTag && key === '$') return [key, part];
        if (key === 'by' && typeof part === 'string') return [key, 'somebody'];
        const isHidden = part !== null && this.#hides(key);
        if (isHidden && isRecords && isRecord(part)) return [key, this.#ofSecretNode(part)];
        return [key, isHidden ? maskedText : this.value(part, recordsByName.has(key))];
      }),
    );
  }

  /** The record of a node that is named like a secret. */
  #ofSecretNode(record: unknown): unknown {
    const masked = this.value(record) as Data;
    return Object.hasOwn(masked, 'output') ? { ...masked, output: maskedText } : masked;
  }

  /** An op of a delta. What lies below a masked value is masked with it. */
  op(op: unknown): unknown {
    const [kind, path, ...rest] = op as readonly [string, readonly string[], ...unknown[]];
    const isName = (index: number): boolean => recordsByName.has(path[index - 1] ?? '');
    const at = path.findIndex((key, index) =>
      isName(index)
        ? false
        : this.#hides(key) || (key === 'output' && isName(index - 1) && this.#hides(path[index - 1] ?? '')),
    );
    const last = path.length - 1;
    if (at < 0 && isName(last) && this.#hides(path[last] ?? ''))
      return [kind, path, ...rest.map((value) => (isRecord(value) ? this.#ofSecretNode(value) : maskedText))];
    if (at < 0) return [kind, path, ...rest.map((value) => this.value(value, recordsByName.has(path[last] ?? '')))];
    if (kind === 'd' && at === last) return op;
    return ['s', path.slice(0, at + 1), maskedText];
  }

  body(text: string): string {
    const { change, delta, ...more } = JSON.parse(text) as Data;
    const masked = {
      v: more['v'],
      change: this.value(change),
      delta: (delta as readonly unknown[]).map((op) => this.op(op)),
    };
    return this.#named(JSON.stringify({ ...masked, ...(this.value(more) as object) }));
  }

  /** The bytes of a blob, in base64. Those of files are no JSON, and stay. */
  blob(before: string, base64: string): { readonly blob: string; readonly bytes: string } {
    const bytes = Buffer.from(base64, 'base64');
    try {
      const text = this.#named(JSON.stringify(this.value(JSON.parse(bytes.toString()))));
      const after = hash('sha256', text, 'hex');
      this.#hashes.set(before, after);
      return { blob: after, bytes: Buffer.from(text).toString('base64') };
    } catch {
      return { blob: before, bytes: base64 };
    }
  }

  /** A text with the blobs that it refers to by their hashes as they are now. */
  #named(text: string): string {
    return text.replaceAll(/\b[0-9a-f]{64}\b/g, (found) => this.#hashes.get(found) ?? found);
  }
}

/**
 * @param options.upTo - the last checkpoint. Default: the head
 * @param options.mask - names of further keys whose values are masked: `email`
 * @throws CHECKPOINT_PRUNED its start is gone, without which it cannot be replayed; and as {@link exportRun}
 */
export async function* exportFixture(
  store: Store,
  blobs: BlobStore,
  run: RunRow,
  { upTo, mask: names = [] }: { readonly upTo?: number; readonly mask?: readonly string[] } = {},
): AsyncGenerator<string> {
  const mask = new Mask(names);
  let link: Uint8Array = rootChecksum;
  let isMeta = new Set<string>();
  let lines = 0;
  const sealed = (line: CheckpointLine): CheckpointLine => {
    const body = mask.body(line.body);
    link = sealBody({ runKey: run.key, seq: line.checkpoint }, link, line.at, Buffer.from(body));
    return { ...line, run: 0, body, checksum: toHex(link) };
  };
  for await (const text of exportRun(store, blobs, run, upTo === undefined ? {} : { upTo })) {
    const line = JSON.parse(text) as ExportLine;
    if ('snapshot' in line) throw new CairnError('CHECKPOINT_PRUNED', { checkpoint: `${run.runId}@0` });
    // Messages that no commit had taken are of no recorded run.
    if ('message' in line) continue;
    let written: ExportLine = line;
    if ('cairn' in line) {
      const { structure, text: source } = headerMeta(line);
      isMeta = new Set([structure, source].filter((one) => one !== undefined));
      written = headerOf(line, run, mask);
    } else if ('blob' in line && !isMeta.has(line.blob)) written = mask.blob(line.blob, line.bytes);
    else if ('checkpoint' in line) written = sealed(line);
    else if ('end' in line) written = { end: lines };
    lines += 1;
    yield `${JSON.stringify(written)}\n`;
  }
}

/** The header of a run without ancestors, and without who started it and its title, which is made of its input. */
function headerOf(header: HeaderLine, { runId, key }: RunRow, mask: Mask): HeaderLine {
  const { startedBy: _, relabelled: __, title: ___, labels, ...meta } = headerMeta(header);
  const masked = { ...meta, ...(labels && { labels: mask.value(labels) }) };
  const inBase64 = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString('base64');
  return {
    ...header,
    lineage: [{ runId, key, upTo: header.head }],
    meta: inBase64(masked),
    waits: header.waits.map((wait) => ({
      ...wait,
      body: inBase64(mask.value(JSON.parse(Buffer.from(wait.body, 'base64').toString()))),
    })),
  };
}
