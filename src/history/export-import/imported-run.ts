/** A run while it is being imported. Its checkpoints are verified under their old identity and get checksums for the new one (H4, C6). */
import type { CheckpointRow, SnapshotRow } from '../../ports/store.ts';
import { decodeJson } from '../../state/values/revive.ts';
import { Chain, decodeSnapshot, encodeSnapshot, type DecodedSnapshot } from '../stored/chain.ts';
import {
  decodeCheckpoint,
  encodeCheckpoint,
  storedForm,
  rootChecksum,
  sealBody,
  type DecodedCheckpoint,
} from '../stored/checkpoint.ts';
import { namedByCheckpoint } from '../stored/named-blobs.ts';
import {
  invalidLine,
  textOf,
  type CheckpointLine,
  type ExportLine,
  type HeaderLine,
  type MessageLine,
  type SnapshotLine,
  type TagLine,
  type ImportedState,
} from './export-masked.ts';
import type { ImportWriter } from './import-writer.ts';

const messageKinds = new Set(['answer', 'signal', 'cancel', 'effect']);

export class ImportedRun {
  readonly #header: HeaderLine;
  readonly #writer: ImportWriter;
  readonly #state: ImportedState;
  #chain: Chain | undefined;
  #snapshot: DecodedSnapshot | undefined;
  /** Link of the last checkpoint under its new identity. */
  #link: Uint8Array = rootChecksum;
  #count = 0;
  /**
   * The latest checkpoint, not written yet. The last one is written only after the whole text was read, because it makes the run usable.
   */
  #pending: CheckpointRow | undefined;
  readonly #tags: TagLine[] = [];
  readonly #messages: MessageLine[] = [];

  constructor(header: HeaderLine, writer: ImportWriter, state: ImportedState) {
    this.#header = header;
    this.#writer = writer;
    this.#state = state;
  }

  /** Takes the next line. @throws INPUT_INVALID, CHECKPOINT_CORRUPT, CHECKPOINT_VERSION_UNKNOWN, RUN_EXISTS, CLAIM_TAKEN */
  async take(line: ExportLine, number: number): Promise<void> {
    if ('checkpoint' in line) await this.#takeCheckpoint(line, number);
    else if ('snapshot' in line) this.#takeSnapshot(line, number);
    else if ('tag' in line && Number.isSafeInteger(line.seq))
      this.#tags.push({ ...line, tag: textOf(line.tag, number) });
    else if ('message' in line && messageKinds.has(line.message)) {
      this.#messages.push({ ...line, name: textOf(line.name, number), body: messageBodyOf(line, number) });
    } else throw invalidLine(number, 'it is of no known kind');
  }

  /** Writes the last checkpoint. A copy gets one more, which records where it came from. @returns the number of checkpoints and the head */
  async finish(isCopy: boolean, number: number): Promise<{ readonly checkpoints: number; readonly head: number }> {
    const last = this.#pending;
    const { head, runId } = this.#header;
    if (last === undefined || last.seq !== head) throw invalidLine(number, `checkpoint ${head} is missing`);
    const standing = await this.#state.standing(this.#header);
    if (isCopy) {
      await this.#writer.write(last);
      await this.#writer.writeLast(this.#markCopy(last, { runId, seq: head }), standing);
    } else {
      await this.#writer.writeLast(last, standing);
    }
    await this.#writer.finish(this.#tags, this.#messages);
    const extra = isCopy ? 1 : 0;
    return { checkpoints: this.#count + extra, head: head + extra };
  }

  #takeSnapshot(line: SnapshotLine, number: number): void {
    const key = this.#header.lineage[0]?.key ?? '';
    this.#snapshot = decodeSnapshot(key, { seq: line.snapshot, ...bytesOf(line, number) });
    this.#link = this.#snapshot.parent;
  }

  async #takeCheckpoint(line: CheckpointLine, number: number): Promise<void> {
    const owner = this.#header.lineage[line.run];
    if (owner === undefined) throw invalidLine(number, 'its run is not in the header');
    const row: CheckpointRow = { seq: line.checkpoint, at: line.at, ...bytesOf(line, number) };
    const checkpoint = await this.#verify(owner, row);
    const checksum = sealBody({ runKey: this.#writer.runKey, seq: row.seq }, this.#link, row.at, row.body);
    this.#link = checkpoint.fold?.covers ?? checksum;
    if (this.#pending !== undefined) await this.#writer.write(this.#pending);
    else if (this.#snapshot !== undefined) this.#writer.beginAt(this.#sealSnapshot(this.#snapshot));
    const body = storedForm(row.seq, JSON.stringify(checkpoint.change), row.body);
    this.#pending = { ...row, body, checksum, ...namedByCheckpoint(row.body) };
    this.#count += 1;
  }

  async #verify(owner: { readonly key: string }, row: CheckpointRow): Promise<DecodedCheckpoint> {
    if (this.#chain === undefined && this.#snapshot !== undefined) {
      this.#chain = Chain.from(owner, row, this.#snapshot);
      this.#state.beginAt(this.#snapshot);
      return decodeCheckpoint({ runKey: owner.key, seq: row.seq }, undefined, row);
    }
    this.#chain ??= new Chain(-1, rootChecksum);
    const checkpoint = this.#chain.verify(owner, row);
    await this.#state.apply(owner, checkpoint);
    return checkpoint;
  }

  #sealSnapshot(snapshot: DecodedSnapshot): SnapshotRow {
    const { seq, parent, hasTags } = snapshot;
    const treeJson = JSON.stringify(snapshot.parseTree());
    return encodeSnapshot({ runKey: this.#writer.runKey, seq }, { link: this.#link, parent }, treeJson, hasTags);
  }

  /** Makes the last checkpoint of a copy, which records where it came from. */
  #markCopy(last: CheckpointRow, from: { readonly runId: string; readonly seq: number }): CheckpointRow {
    const seq = last.seq + 1;
    const change = JSON.stringify([{ kind: 'fork', from }]);
    const encoded = encodeCheckpoint({ runKey: this.#writer.runKey, seq }, this.#link, last.at, change, '[]');
    return { seq, at: last.at, ...encoded };
  }
}

/** Decodes and checks a message's body. One that cannot be read would stop every resume of the run. */
function messageBodyOf({ message, body }: MessageLine, number: number): string {
  const base64 = textOf(body, number);
  try {
    if (message !== 'cancel') decodeJson(Buffer.from(base64, 'base64').toString());
    return base64;
  } catch (error) {
    throw invalidLine(number, 'its body cannot be read', error);
  }
}

function bytesOf(
  line: { readonly checksum: string; readonly body: string },
  number: number,
): Pick<CheckpointRow, 'body' | 'checksum'> {
  return { body: Buffer.from(textOf(line.body, number)), checksum: Buffer.from(textOf(line.checksum, number), 'hex') };
}
