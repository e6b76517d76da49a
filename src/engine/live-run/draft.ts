/** Collects the next checkpoint of a run: ops, the parts of its change, and changes of the store's indexes. */
import type { ChangePart } from '../../history/stored/change.ts';
import { waitRowOf } from '../../history/stored/wait-row.ts';
import type { Commit, RunKey, StoredStatus, WaitRow } from '../../ports/store.ts';
import type { RunTree, WaitRecord } from '../../state/tree.ts';
import { TreeWriter } from '../../state/tree-writer.ts';
import type { Activation } from './loop.ts';

/** What a commit contains in addition to its checkpoint. */
type IndexChanges = {
  -readonly [Name in 'status' | 'graphHash' | 'code' | 'openWaits' | 'closeWaits' | 'takeMessages']?: Commit[Name];
};

/** Everything collected, ready to be encoded. */
export interface TakenDraft {
  readonly changeJson: string;
  readonly ops: string;
  /** Updates as nodes gave them, as JSON, where they cannot be derived from the ops (X2). */
  readonly updates: string | undefined;
  readonly index: Readonly<IndexChanges> | undefined;
}

/** One for each run being advanced. Code that changes the run notes the reason here in the same turn. */
export class Draft extends TreeWriter {
  /** Whether the next turn must make a checkpoint, whatever the policy. */
  mustCommit = false;
  /** Whether what follows must wait until the next checkpoint is durable, because it holds an effect's outcome (E3). */
  holdsEffect = false;
  /** Whether the next checkpoint must survive a power cut. */
  wantsPower = false;
  /** Whether some value of the tree is, or may be, stored as a blob. */
  hasBlobs = false;
  /** Activations whose seen state is not in a checkpoint yet (E9). */
  readonly unsealed: Set<Activation> = new Set();
  readonly #run: RunKey;
  #parts: string[] = [];
  #updates: [string, string][] = [];
  #settles = 0;
  #mustSaveUpdates = false;
  #index: IndexChanges | undefined;
  #openWaits: WaitRow[] = [];
  #closeWaits: string[] = [];
  #takeMessages: number[] = [];

  constructor(run: RunKey, root: RunTree) {
    super(root);
    this.#run = run;
  }

  /** Adds a part to the change. */
  note(part: ChangePart): void {
    this.#parts.push(JSON.stringify(part));
  }

  /** Adds the part of a settled visit, as JSON text because it is the most frequent part. */
  noteText(text: string): void {
    this.#parts.push(text);
  }

  /** Counts an outcome, and keeps its original updates in case they cannot be derived from the ops (X2). */
  noteOutcome(pathKey: string, updatesJson: string | undefined, isTransformed: boolean): void {
    this.#settles += 1;
    if (updatesJson !== undefined) this.#updates.push([pathKey, updatesJson]);
    if (isTransformed) this.#mustSaveUpdates = true;
  }

  /** Opens a wait, in the tree and in the index. */
  openWait(waitId: string, wait: WaitRecord): void {
    this.set(['waits', waitId], wait);
    this.openWaitRow(waitId, wait);
  }

  /** Closes a wait, in the tree and in the index. */
  closeWait(waitId: string): void {
    this.delete(['waits', waitId]);
    this.closeWaitRow(waitId);
  }

  /** Adds a wait of the tree to the index again, because its run goes on. */
  openWaitRow(waitId: string, wait: WaitRecord): void {
    this.#indexChanges();
    this.#openWaits.push(waitRowOf(this.#run, waitId, wait));
  }

  /**
   * Removes a wait from the index. The tree keeps it, because the run may be resumed. Also one that this draft opens may have a row of before,
   * since waits are opened again with another schema or deadline; to close one without a row has no effect.
   */
  closeWaitRow(waitId: string): void {
    this.#indexChanges();
    this.#openWaits = this.#openWaits.filter((row) => row.waitId !== waitId);
    this.#closeWaits.push(waitId);
  }

  takeMessage(id: number): void {
    this.#indexChanges();
    this.#takeMessages.push(id);
  }

  /** Sets the run's status in the tree and in the index. */
  setStatus(status: StoredStatus): void {
    this.set(['status'], status);
    this.#indexChanges().status = status;
  }

  setGraphHash(hash: string): void {
    this.#indexChanges().graphHash = hash;
  }

  setCode(code: string): void {
    this.#indexChanges().code = code;
  }

  /** Whether the next checkpoint would contain anything. */
  get isPending(): boolean {
    return this.#parts.length > 0 || !this.delta.isEmpty || this.#takeMessages.length > 0;
  }

  get partCount(): number {
    return this.#parts.length;
  }

  /** Takes everything collected. What comes later belongs to the next checkpoint. */
  take(): TakenDraft {
    const changeJson = `[${this.#parts.join(',')}]`;
    this.#parts = [];
    return { changeJson, ops: this.delta.take(), updates: this.#takeUpdates(), index: this.#takeIndex() };
  }

  #takeUpdates(): string | undefined {
    const needed = this.#mustSaveUpdates || this.#settles > 1;
    const updates =
      needed && this.#updates.length > 0
        ? `{${this.#updates.map(([key, json]) => `${JSON.stringify(key)}:${json}`).join(',')}}`
        : undefined;
    if (this.#updates.length > 0) this.#updates = [];
    this.#settles = 0;
    this.#mustSaveUpdates = false;
    return updates;
  }

  #indexChanges(): IndexChanges {
    return (this.#index ??= {});
  }

  #takeIndex(): Readonly<IndexChanges> | undefined {
    const changes = this.#index;
    if (changes === undefined) return undefined;
    this.#index = undefined;
    if (this.#openWaits.length > 0) changes.openWaits = this.#openWaits.splice(0);
    if (this.#closeWaits.length > 0) changes.closeWaits = this.#closeWaits.splice(0);
    if (this.#takeMessages.length > 0) changes.takeMessages = this.#takeMessages.splice(0);
    return changes;
  }
}
