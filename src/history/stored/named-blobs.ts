/** Finds the blobs that stored texts name. However a blob is referred to (as a value, a file or a node's output), its hash is in the text. */
import type { NamingRow } from '../../ports/blob-references.ts';
import type { Admission, RunKey, Store } from '../../ports/store.ts';
import { asBuffer } from './checksum.ts';
import { metaOf } from './stored-meta.ts';

const hashDigits = 64;
const isDigit: Uint8Array = new Uint8Array(256);
for (const sign of '0123456789abcdef') isDigit[sign.charCodeAt(0)] = 1;

/**
 * The hashes in a text: each run of exactly 64 hex digits. Of 64 bytes one is looked at as long as it is no digit, so a text without hashes
 * costs nothing that can be measured.
 */
export function hashesIn(text: Uint8Array, isOther?: (before: string) => boolean): readonly string[] {
  let found: Set<string> | undefined;
  for (let at = hashDigits - 1; at < text.length; at += hashDigits) {
    if (isDigit[text[at] as number] === 0) continue;
    let start = at;
    while (start > 0 && isDigit[text[start - 1] as number] === 1) start -= 1;
    while (at < text.length && isDigit[text[at] as number] === 1) at += 1;
    if (at - start !== hashDigits) continue;
    const bytes = asBuffer(text);
    if (isOther?.(bytes.toString('latin1', Math.max(0, start - prefixBytes), start)) === true) continue;
    (found ??= new Set()).add(bytes.toString('latin1', start, at));
  }
  return found === undefined ? none : [...found];
}

const none: readonly string[] = [];
const prefixBytes = 24;

/** Where the engine writes the hash of a graph or of code: at the top of the tree, and in the part of a change that begins a run. */
const ofGraph = /(?:\["(?:graphHash|codeHash)"\],"|"start","graphHash":")$/;

const named = (blobs: readonly string[]): NamingRow => (blobs.length === 0 ? nothing : { blobs });
const nothing: NamingRow = {};

/** What a checkpoint's text names. */
export function namedByCheckpoint(text: Uint8Array): NamingRow {
  return named(hashesIn(text, (before) => ofGraph.test(before)));
}

/** What the body of a wait or a message names. */
export function namedByBody(body: Uint8Array): NamingRow {
  return named(hashesIn(body));
}

/** Hashes of the graph and of code, which the text of a whole state begins with. */
const ofState = /^\{"status":"\w+","graphHash":"([0-9a-f]{64})"(?:,"codeHash":"([0-9a-f]{64})")?/;
const stateStart = 256;

/** What the text of a whole state names. */
export function namedByState(text: Uint8Array): NamingRow {
  const [, ...others] = ofState.exec(asBuffer(text).toString('latin1', 0, stateStart)) ?? [];
  return named(hashesIn(text, (before) => ofGraph.test(before)).filter((hash) => !others.includes(hash)));
}

/** What the meta of a new run names: the structure and the text of its graph, which all runs of the graph do, and what else it does. */
export function namedByMeta(meta: Uint8Array): Required<Pick<Admission, 'blobs' | 'defines'>> {
  const { graphHash, structure, text } = metaOf({ key: '', meta });
  const defines = [structure, text].filter((hash) => hash !== undefined);
  return { blobs: hashesIn(meta).filter((hash) => hash !== graphHash && !defines.includes(hash)), defines };
}

/** Records what rows name that a store is about to be given apart from commits: snapshots, and rows that pruning folded. */
export async function recordNamed(store: Store, run: RunKey, rows: readonly NamingRow[]): Promise<void> {
  const blobs = new Set(rows.flatMap(({ blobs = none }) => blobs));
  if (blobs.size > 0) await store.references?.add({ tenant: run.tenant, runId: run.runId }, [...blobs]);
}

/** What a run's meta names that the one before did not. */
export function newlyNamed(before: Uint8Array, after: Uint8Array): NamingRow {
  const known = hashesIn(before);
  return named(hashesIn(after).filter((hash) => !known.includes(hash)));
}
