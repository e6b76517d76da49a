/** Writes a run as text for reading, with values under the names of secrets masked. It cannot be imported (H4.1). */
import type { BlobStore } from '../../ports/blobs.ts';
import type { RunRow, Store } from '../../ports/store.ts';
import { shown } from '../../state/secrecy/shown.ts';
import { encodeValue, reviveValue } from '../../state/values/codec.ts';
import { readHistory } from '../load/lineage.ts';
import { loadState } from '../load/load.ts';
import { viewState } from '../read/state-view.ts';
import { exportVersion } from './export-format.ts';

const opNames = { s: 'set', d: 'delete', a: 'append', t: 'text' } as const;

type StoredOp = readonly [kind: keyof typeof opNames, path: readonly string[], value?: unknown];

/**
 * Writes a header, one line for each kept checkpoint (why it was made, what it changed), and the state at the last one.
 * @param upTo - seq of the last checkpoint
 * @throws what loading the checkpoint throws
 */
export async function* exportMasked(
  store: Store,
  blobs: BlobStore,
  run: RunRow,
  { upTo = run.head }: { readonly upTo?: number } = {},
): AsyncGenerator<string> {
  const { runId, graphId } = run;
  yield lineOf({ cairn: 'export', v: exportVersion, masked: true, runId, graphId, head: upTo });
  for await (const { run: owner, checkpoint } of readHistory(store, run, { from: 0, to: upTo })) {
    const { seq, at, change } = checkpoint;
    const ops = (checkpoint.ops as readonly StoredOp[]).map(([kind, path, value]) => ({
      op: opNames[kind],
      path,
      ...(value !== undefined && { value: reviveValue(value) }),
    }));
    yield lineOf({ checkpoint: seq, run: owner.runId, at, change, ops });
  }
  const { state } = viewState((await loadState(store, blobs, run, upTo)).root);
  yield lineOf({ state });
}

function lineOf(line: object): string {
  return `${encodeValue(shown(line))}\n`;
}
