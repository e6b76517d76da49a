/** What the next checkpoint of a run will hold, while it gathers: ops, the parts of its change, and what changes in the store's indexes. */
import type { ChangePart } from '../../history/stored/change.ts';
import { waitRowOf } from '../../history/stored/open-waits.ts';
import type { Commit, RunKey, StoredStatus, WaitRow } from '../../ports/store.ts';
import type { RunTree, WaitRecord } from '../../state/tree.ts';
import { TreeWriter } from '../../state/tree-writer.ts';
import type { Activation } from './frame-run.ts';

/** What a commit says beside its checkpoint. */
type IndexChanges = {
  -readonly [Name in 'status' | 'graphHash' | 'openWaits' | 'closeWaits' | 'takeMessages']?: Commit[Name];
};

/** All that gathered, ready to be encoded. */
export interface TakenDraft {
  readonly changeJson: string;
  readonly ops: string;
  /** Updates as nodes gave them, as JSON, where the ops alone would not tell them (X2). */
  readonly given: string | undefined;
  readonly index: Readonly<IndexChanges> | undefined;
}

/** One per advancing run. Whoever changes the run notes here why, in the same turn. */
export class Draft extends TreeWriter {
  /** The next turn must make a checkpoint, whatever the policy. */
  mustCommit = false;
  /** What follows must wait until the next checkpoint is durable: it holds an effect's outcome (E3). */
  holdsEffect = false;
  /** The next checkpoint must be safe against a power cut. */
  wantsPower = false;
  /** Some value of the tree is kept as a blob, or may be. */
  hasBlobs = false;
  /** Activations whose view is not part of a checkpoint yet (E9). */
  readonly unsealed: Set<Activation> = new Set();
  readonly #run: RunKey;
  #parts: string[] = [];
  #givens: [string, string][] = [];
  #settles = 0;
  #mustKeepGiven = false;
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

  /** Adds the part of a settled visit, which is written most often: as text: the JSON of a part. */
  noteText(text: string): void {
    this.#parts.push(text);
  }

  /** Counts an outcome, and keeps its updates as given, in case the ops alone would not tell them (X2). */
  noteOutcome(pathKey: string, givenJson: string | undefined, isTransformed: boolean): void {
    this.#settles += 1;
    if (givenJson !== undefined) this.#givens.push([pathKey, givenJson]);
    if (isTransformed) this.#mustKeepGiven = true;
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

  /** Shows a wait of the tree in the index again: its run goes on. */
  openWaitRow(waitId: string, wait: WaitRecord): void {
    this.#indexChanges();
    this.#openWaits.push(waitRowOf(this.#run, waitId, wait));
  }

  /** Takes a wait out of the index; the tree keeps it, since its run may be resumed. */
  closeWaitRow(waitId: string): void {
    this.#indexChanges();
    const opened = this.#openWaits.findIndex((row) => row.waitId === waitId);
    if (opened >= 0) this.#openWaits.splice(opened, 1);
    else this.#closeWaits.push(waitId);
  }

  takeMessage(id: number): void {
    this.#indexChanges();
    this.#takeMessages.push(id);
  }

  /** Sets where the run stands, in the tree and in the index. */
  setStatus(status: StoredStatus & RunTree['status']): void {
    this.set(['status'], status);
    this.#indexChanges().status = status;
  }

  setGraphHash(hash: string): void {
    this.#indexChanges().graphHash = hash;
  }

  /** Whether there is anything that the next checkpoint would hold. */
  get isPending(): boolean {
    return this.#parts.length > 0 || !this.delta.isEmpty || this.#takeMessages.length > 0;
  }

  get partCount(): number {
    return this.#parts.length;
  }

  /** Takes all that gathered; what comes next belongs to the checkpoint after. */
  take(): TakenDraft {
    const changeJson = `[${this.#parts.join(',')}]`;
    this.#parts = [];
    return { changeJson, ops: this.delta.take(), given: this.#takeGiven(), index: this.#takeIndex() };
  }

  #takeGiven(): string | undefined {
    const needed = this.#mustKeepGiven || this.#settles > 1;
    const given =
      needed && this.#givens.length > 0
        ? `{${this.#givens.map(([key, json]) => `${JSON.stringify(key)}:${json}`).join(',')}}`
        : undefined;
    if (this.#givens.length > 0) this.#givens = [];
    this.#settles = 0;
    this.#mustKeepGiven = false;
    return given;
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
