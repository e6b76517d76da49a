/** One run of a thread: a line of its checkpoints, begun at its start or by a fork, and what each of them is. */
import { setTimeout } from 'node:timers/promises';
import { CairnError } from '../errors.ts';
import type { WritePlace } from '../history/access/place.ts';
import { takeClaim } from '../history/access/claim-run.ts';
import { writeDueSnapshot } from '../history/load/fold-stored.ts';
import { loadState, type LoadedState } from '../history/load/load.ts';
import type { ChangePart } from '../history/stored/change.ts';
import { decodeCheckpoint, encodeCheckpoint } from '../history/stored/checkpoint.ts';
import type { GrantedClaim, RunRow } from '../ports/store.ts';
import { TreeWriter } from '../state/tree-writer.ts';

const retryMs = 10;
const waitMaxMs = 5000;

/** What a checkpoint of ours keeps of LangGraph: one of its checkpoints (`put`), or writes of a task to the one named. */
export interface ThreadEntry {
  readonly seq: number;
  readonly put?: string;
  readonly writes?: string;
}

/** The part of a change that tells what was kept. */
export function describeEntry(label: string, entry: Omit<ThreadEntry, 'seq'>): ChangePart {
  return { kind: 'save', node: [label], detail: entry };
}

export class ThreadRun {
  readonly #place: WritePlace;
  #run: RunRow;
  #entries: ThreadEntry[] = [];
  /** Up to which seq the entries are known. */
  #knownTo: number;
  #head: LoadedState | undefined;

  constructor(place: WritePlace, run: RunRow) {
    this.#place = place;
    this.#run = run;
    this.#knownTo = run.parent?.seq ?? -1;
  }

  get run(): RunRow {
    return this.#run;
  }

  get entries(): readonly ThreadEntry[] {
    return this.#entries;
  }

  /** The checkpoint of LangGraph that the run stands at. */
  get newest(): string | undefined {
    return this.#entries.findLast(({ put }) => put !== undefined)?.put;
  }

  /** Reads what was written since. */
  async refresh(run: RunRow): Promise<void> {
    this.#run = run;
    while (this.#knownTo < run.head) {
      const rows = await this.#place.store.readCheckpoints(run, { from: this.#knownTo + 1, to: run.head, limit: 200 });
      if (rows.length === 0) return;
      for (const row of rows) {
        const { change } = decodeCheckpoint({ runKey: run.key, seq: row.seq }, undefined, row);
        const entry = change.findLast(({ kind }) => kind === 'save')?.detail as Omit<ThreadEntry, 'seq'> | undefined;
        if (entry !== undefined) this.#entries.push({ ...entry, seq: row.seq });
        this.#knownTo = row.seq;
      }
    }
  }

  /** The last seq that belongs to a checkpoint: its own, or that of the last writes before the next one. Undefined: it is not here. */
  lastSeqOf(id: string): number | undefined {
    const own = this.#entries.findLastIndex(({ put }) => put === id);
    if (own === -1) return undefined;
    const next = this.#entries.findIndex(({ put }, index) => index > own && put !== undefined);
    return this.#entries.at(next === -1 ? -1 : next - 1)?.seq;
  }

  /** The seqs whose states together hold all writes to a checkpoint: the last of each row of them that no other checkpoint interrupts. */
  seqsOfWrites(id: string): readonly number[] {
    const seqs: number[] = [];
    let last: number | undefined;
    for (const { seq, put, writes } of this.#entries) {
      if (writes === id) last = seq;
      else if (put !== undefined && put !== id && last !== undefined) {
        seqs.push(last);
        last = undefined;
      }
    }
    return last === undefined ? seqs : [...seqs, last];
  }

  /** The state at a seq, for reading only. */
  async stateAt(seq: number): Promise<LoadedState> {
    const { store, blobs } = this.#place;
    return this.#head?.seq === seq ? this.#head : loadState(store, blobs, this.#run, seq);
  }

  /**
   * Writes the next checkpoint under a claim of its own. @param expected - where the run must stand; undefined: anywhere
   * @throws CLAIM_TAKEN, CLAIM_FENCED, RUN_HELD; COMMIT_CONFLICT it stands at another checkpoint by now
   */
  async append(part: ChangePart, expected: string | undefined, edit: (writer: TreeWriter) => void): Promise<void> {
    const { store, blobs, now } = this.#place;
    const { claim, run } = await this.#claim();
    try {
      await this.refresh(run);
      if (expected !== undefined && this.newest !== expected)
        throw new CairnError('COMMIT_CONFLICT', { runId: run.runId, seq: run.head, head: this.newest });
      const loaded = this.#head?.seq === run.head ? this.#head : await loadState(store, blobs, run, run.head);
      this.#head = undefined;
      const writer = new TreeWriter(loaded.root);
      edit(writer);
      const seq = run.head + 1;
      const at = now();
      const row = encodeCheckpoint(
        { runKey: run.key, seq },
        loaded.checksum,
        at,
        JSON.stringify([part]),
        writer.delta.take(),
      );
      const { durability } = store.capabilities;
      await store.commit({ claim, checkpoint: { seq, at, ...row }, durability, releases: true });
      this.#committed({ ...run, head: seq }, part, row.checksum, loaded);
      await this.#snapshot(loaded, row.body.byteLength);
    } catch (error) {
      await store.releaseClaim(claim);
      throw error;
    }
  }

  /** Claims the run. Another's claim lasts for one write, so it is waited for. @throws CLAIM_TAKEN it lasts longer, RUN_HELD */
  async #claim(): Promise<GrantedClaim> {
    for (let waitedMs = 0; ; waitedMs += retryMs) {
      try {
        return await takeClaim(this.#place, this.#run);
      } catch (error) {
        if (!CairnError.is(error, 'CLAIM_TAKEN') || waitedMs >= waitMaxMs) throw error;
        await setTimeout(retryMs);
      }
    }
  }

  /** Notes the state that was written, so that the next write need not load it. */
  begun(part: ChangePart, checksum: Uint8Array, loaded: LoadedState): void {
    this.#committed(this.#run, part, checksum, loaded);
  }

  #committed(run: RunRow, { detail }: ChangePart, checksum: Uint8Array, { root, cost }: LoadedState): void {
    this.#run = run;
    this.#entries.push({ ...(detail as Omit<ThreadEntry, 'seq'>), seq: run.head });
    this.#knownTo = run.head;
    this.#head = { root, seq: run.head, checksum, cost };
  }

  /** Writes a snapshot when it pays off, so that reading the newest state costs about as much as its size. */
  async #snapshot({ cost }: LoadedState, sizeBytes: number): Promise<void> {
    const after = { ...cost, deltaBytes: cost.deltaBytes + sizeBytes, rows: cost.rows + 1 };
    if (this.#head !== undefined) this.#head = { ...this.#head, cost: after };
    if (await writeDueSnapshot(this.#place, this.#run, cost, sizeBytes)) this.#head = undefined;
  }
}
