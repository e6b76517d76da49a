/** The store in a folder: a journal of JSON lines for each run, which people can read. One process at a time opens it to write. */
import { randomUUID } from 'node:crypto';
import { existsSync, readdirSync, rmSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import type { DatabaseSync } from 'node:sqlite';
import { CairnError, reasonOf } from '../../errors.ts';
import { heldBy, heldMs, openStatuses, warnOfMove } from '../../ports/held-runs.ts';
import type { NamedBlob, ReadTexts } from '../../ports/blob-references.ts';
import type { Remembrance, RemovedRun } from '../../ports/removals.ts';
import type {
  Admission,
  AdmissionReply,
  Claim,
  ClaimReply,
  ClaimRequest,
  Commit,
  GrantedClaim,
  Message,
  MessageReply,
  NextRequest,
  Prune,
  Relabelling,
  RunKey,
  SnapshotRow,
  Store,
  TagRow,
} from '../../ports/store.ts';
import { HostClock } from '../host-clock.ts';
import type { MemoryRun } from '../run-queries.ts';
import { MemoryTables } from '../run-tables.ts';
import { createTablesStore } from '../tables-store.ts';
import {
  append,
  cutTorn,
  emptyEnd,
  makeFolder,
  readJournal,
  replaceJournal,
  requireOwn,
  syncFolder,
  syncJournal,
  withErrors,
  type Entry,
  type JournalEnd,
} from './journal.ts';
import { JournaledLimits } from './file-limits.ts';
import { fileNameOf, textOfFileName } from './file-names.ts';
import { fromReadable, toReadable } from './readable-bytes.ts';
import { isSameLocation, locationOf } from './location.ts';

/** Options of {@link openFileStore}. */
interface FileStoreOptions {
  /** The folder. It is made if there is none, for its owner alone. */
  readonly path: string;
  /** Opens it as it is, beside a process that writes. What that one writes afterwards is not seen. Default false. */
  readonly readOnly?: boolean;
  /** See {@link Store.readIdentity}. Default: that of the folder, or a random one if it is made. */
  readonly identity?: string;
  /** Returns the time in epoch ms; leases are measured with it. Default: the system clock. */
  readonly now?: () => number;
}

const optionNames: readonly string[] = ['path', 'readOnly', 'identity', 'now'] satisfies (keyof FileStoreOptions)[];

/** Numbers that one opening may use. The next one begins above all of them, so that no claim's token is ever used twice. */
const numbersPerOpening = 2 ** 30;
/** Format 3 has lines that clear deliveries, format 4 those that change labels, format 5 what runs name of blobs. */
const format = 5;
const journalSuffix = '.jsonl';

/**
 * Opens the store in a folder: `store.jsonl`, `runs/TENANT/RUN.jsonl`, and `lock`. A line that was being written when the process was
 * killed is cut off, with a warning; it was never acknowledged. Claims end with the process that has them: the lock is the
 * kernel's, so whoever gets it knows that the process before is gone. Who had a claim is in the journal, so that a death is counted.
 *
 * @throws CONFIG_INVALID there is no path, or an option is unknown; STORE_BUSY another process has it open
 * @throws STORE_UNAVAILABLE, STORE_READ_ONLY, STORE_FULL, STORE_CORRUPT, STORE_VERSION_UNKNOWN
 */
export function openFileStore(options: FileStoreOptions): Store {
  for (const name of Object.keys(options))
    if (!optionNames.includes(name))
      throw new CairnError('CONFIG_INVALID', { path: name, reason: 'the store has no such option' });
  if (typeof options.path !== 'string' || options.path === '')
    throw new CairnError('CONFIG_INVALID', { path: 'path', reason: 'a store needs the path of a folder' });
  const tables = new JournaledTables(options);
  const store = createTablesStore(tables, { durability: 'power', isShared: false }, tables.openLimits());
  return {
    ...store,
    close: async () => {
      await store.close();
      tables.unlock();
    },
  };
}

/** A line about a graph: which blobs its runs name in their rows. */
interface DefinedLine {
  readonly tenant: string;
  readonly graphId: string;
  readonly hashes: readonly string[];
}

/** A line about a run. Its number is the last that was used before it: from there on the same call uses the same numbers again. */
interface Line {
  readonly number: number;
  readonly tenant: string;
  readonly runId: string;
  readonly entry: Entry;
}

/** The journal of a run. */
interface Journal {
  readonly path: string;
  /** What its chain of checksums begins with. */
  readonly name: string;
  readonly end: JournalEnd;
}

/** Tables in memory of which each change is in a journal before the call returns. */
class JournaledTables extends MemoryTables {
  readonly #folder: string;
  readonly #isReadOnly: boolean;
  readonly #lock: DatabaseSync | undefined;
  readonly #ends = new Map<string, JournalEnd>();
  /** Journals with lines that a power cut may take. */
  readonly #unsynced = new Set<string>();
  #own = emptyEnd('store');
  /** A write failed, and what is on the disk could not be read again. */
  #isLost = false;

  constructor({ path, readOnly = false, identity, now }: FileStoreOptions) {
    const folder = resolve(path);
    super(new HostClock(now), `file:${folder}`, '');
    this.#folder = folder;
    this.#isReadOnly = readOnly;
    if (!readOnly) {
      withErrors(this.name, () => makeFolder(folder));
      requireOwn(join(folder, 'lock'), 'file', this.name);
      this.#lock = lock(join(folder, 'lock'), this.name);
    }
    try {
      const location = this.#openOwn(identity);
      this.#load();
      this.#holdIfMoved(location);
    } catch (error) {
      this.unlock();
      throw error;
    }
  }

  /** @throws STORE_CORRUPT */
  openLimits(): JournaledLimits {
    const path = join(this.#folder, 'limits.jsonl');
    try {
      return new JournaledLimits(this, path, this.#isReadOnly, () => this.#requireWritable());
    } catch (error) {
      this.unlock();
      throw error;
    }
  }

  unlock(): void {
    if (this.#lock?.isOpen === true) this.#lock.close();
  }

  override requireOpen(): void {
    super.requireOpen();
    const reason = 'a write failed, and the folder could not be read again; open it again';
    if (this.#isLost) throw new CairnError('STORE_UNAVAILABLE', { store: this.name, reason });
  }

  /** Reads what is known of the store as a whole, and notes that it was opened once more. @returns where it was when it was last opened */
  #openOwn(requested: string | undefined): string | undefined {
    const path = join(this.#folder, 'store.jsonl');
    let [openings, identity] = [0, requested ?? randomUUID()];
    let location: string | undefined;
    if (existsSync(path)) {
      const { entries, end, damage, tornBytes } = readJournal(path, 'store', this.name);
      if (damage !== undefined) throw new CairnError('STORE_CORRUPT', { store: this.name, reason: damage });
      if (tornBytes > 0 && !this.#isReadOnly) cutTorn(path, end, this.name);
      this.#own = end;
      for (const entry of entries) {
        const { format: version, opening, identity: noted, location: place, removed, forgotten, defined } = entry;
        if (Number(version ?? format) > format)
          throw new CairnError('STORE_VERSION_UNKNOWN', { store: this.name, version, supported: format });
        if (opening !== undefined) openings = Number(opening);
        if (requested === undefined && typeof noted === 'string') identity = noted;
        if (typeof place === 'string') location = place;
        if (removed !== undefined) this.#takeRemoved(removed);
        if (defined !== undefined) this.#takeDefined(defined);
        if (forgotten !== undefined) super.forgetRemoved(fromReadable(forgotten) as RunKey);
      }
    } else if (this.#isReadOnly)
      throw new CairnError('STORE_UNAVAILABLE', { store: this.name, reason: 'there is no store.jsonl' });
    this.identity = identity;
    this.lastNumber = (openings + 1) * numbersPerOpening;
    if (!this.#isReadOnly) this.#note({ format, opening: openings + 1, identity });
    return location;
  }

  /**
   * Holds all open runs if the folder is a copy: what they did in the original after it was made is not in it. Where it is, is noted when they
   * are held. Who opens the folder to read sees them held, too.
   */
  #holdIfMoved(location: string | undefined): void {
    const here = locationOf(join(this.#folder, 'store.jsonl'), this.name);
    if (location !== undefined && !isSameLocation(location, here)) {
      const runs = this.allRuns().filter(
        ({ status, owner, damage }) =>
          damage === undefined && owner !== heldBy && openStatuses.some((open) => open === status),
      );
      for (const { admission } of runs) {
        const request = { tenant: admission.tenant, runId: admission.runId, workerId: heldBy, leaseMs: heldMs };
        if (this.#isReadOnly) super.claimRun(request);
        else this.claimRun(request);
      }
      warnOfMove(this.name, runs.length);
    }
    if (location !== here && !this.#isReadOnly) this.#note({ location: here });
  }

  #takeRemoved(entry: unknown): void {
    const { tenant, ...line } = fromReadable(entry) as RemovedRun & Pick<RunKey, 'tenant'>;
    this.putRemoved(tenant, line);
  }

  #takeDefined(entry: unknown): void {
    const { tenant, graphId, hashes } = fromReadable(entry) as DefinedLine;
    super.define(tenant, graphId, hashes);
  }

  #note(entry: Entry): void {
    this.#own = append(join(this.#folder, 'store.jsonl'), entry, this.#own, true, this.name);
  }

  override setIdentity(identity: string): void {
    this.#requireWritable();
    this.#note({ identity });
    super.setIdentity(identity);
  }

  /** Reads all journals, and does again what they tell, in the order in which it was done. */
  #load(): void {
    const lines: Line[] = [];
    const tables = new MemoryTables(this.clock, this.name, '');
    const damaged: { readonly key: RunKey; readonly damage: string }[] = [];
    const top = join(this.#folder, 'runs');
    this.#ends.clear();
    requireOwn(top, 'folder', this.name);
    for (const folder of withErrors(this.name, () => (existsSync(top) ? readdirSync(top) : []))) {
      requireOwn(join(top, folder), 'folder', this.name);
      for (const file of withErrors(this.name, () => readdirSync(join(top, folder)))) {
        if (!file.endsWith(journalSuffix)) continue;
        const [path, name] = [join(top, folder, file), `${folder}/${file}`];
        const { entries, end, damage, tornBytes } = readJournal(path, name, this.name);
        if (tornBytes > 0 && damage === undefined) this.#cut(path, end, tornBytes);
        const key = keyOf(entries[0], folder, file);
        this.#ends.set(path, end);
        if (damage !== undefined) damaged.push({ key, damage });
        for (const entry of entries) lines.push({ number: Number(entry['n']), ...key, entry });
      }
    }
    for (const line of lines.sort((a, b) => a.number - b.number || Number(beginsRun(a)) - Number(beginsRun(b))))
      try {
        replay(tables, line);
      } catch (error) {
        // A fork of a run that is damaged, or a line that a newer version wrote.
        const { tenant, runId } = line;
        damaged.push({
          key: { tenant, runId },
          damage: `the journal of ${runId} cannot be followed: ${reasonOf(error)}`,
        });
      }
    for (const { key, damage } of damaged) tables.markDamaged(key, damage);
    this.replaceBy(tables);
  }

  #cut(path: string, end: JournalEnd, tornBytes: number): void {
    if (this.#isReadOnly) return;
    const message = `${path}: ${tornBytes} bytes were being written when the process ended, and are left out`;
    process.emitWarning(message, { code: 'CAIRN_TORN_LINE' });
    cutTorn(path, end, this.name);
  }

  #journalOf({ tenant, runId }: RunKey): Journal {
    const name = `${fileNameOf(tenant)}/${fileNameOf(runId)}${journalSuffix}`;
    const path = join(this.#folder, 'runs', name);
    return { path, name, end: this.#ends.get(path) ?? emptyEnd(name) };
  }

  #requireWritable(): void {
    this.requireOpen();
    if (this.#isReadOnly)
      throw new CairnError('STORE_READ_ONLY', { store: this.name, reason: 'it was opened to read' });
  }

  /**
   * Appends what a call has changed to the run's journal. @param number - the last number before the call
   * @param isNeeded - whether lines of other runs may build on it
   */
  #append(key: RunKey, number: number, op: string, details: object, isSynced = true, isNeeded = true): void {
    const journal = this.#journalOf(key);
    const entry = { n: number, op, ...(toReadable(details) as object) };
    this.#keep(journal, () => {
      if (isSynced) this.#syncOthers(journal.path);
      const end = append(journal.path, entry, journal.end, isSynced, this.name);
      if (isSynced) this.#unsynced.delete(journal.path);
      else if (isNeeded) this.#unsynced.add(journal.path);
      return end;
    });
  }

  /** A line that survives a power cut may build on lines of other runs, such as a fork on those of its original. */
  #syncOthers(own: string): void {
    for (const path of this.#unsynced) {
      if (path !== own && existsSync(path)) syncJournal(path, this.name);
      if (path !== own) this.#unsynced.delete(path);
    }
  }

  /** Writes; if that fails, the tables become what is on the disk. */
  #keep({ path, end }: Journal, write: () => JournalEnd): void {
    try {
      this.#ends.set(path, write());
    } catch (error) {
      try {
        if (existsSync(path)) cutTorn(path, end, this.name);
        this.#load();
      } catch {
        this.#isLost = true;
      }
      throw error;
    }
  }

  override admitRun(admission: Admission): AdmissionReply {
    this.#requireWritable();
    if (admission.defines !== undefined) this.define(admission.tenant, admission.graphId, admission.defines);
    const number = this.lastNumber;
    const reply = super.admitRun(admission);
    const { durability, claim, defines: _, ...rest } = admission;
    // The lease ends with the process.
    const granted = claim === undefined ? null : { workerId: claim.workerId, leaseMs: 0 };
    if (reply.created) this.#append(admission, number, 'admit', { ...rest, claim: granted }, durability === 'power');
    return reply;
  }

  override claimRun(request: ClaimRequest): ClaimReply {
    this.#requireWritable();
    const reply = super.claimRun(request);
    if (reply.claim !== undefined) this.#noteClaim(reply.claim);
    return reply;
  }

  override claimNext(request: NextRequest): readonly GrantedClaim[] {
    this.#requireWritable();
    const grants = super.claimNext(request);
    for (const { claim } of grants) this.#noteClaim(claim);
    return grants;
  }

  #noteClaim(claim: Claim): void {
    const { token, workerId } = claim;
    // Claims end with the process, but for those of held runs.
    this.#append(claim, token - 1, 'claim', { workerId }, workerId === heldBy, false);
  }

  override releaseClaim(claim: Claim, refusedBy?: string): void {
    const number = this.lastNumber;
    super.releaseClaim(claim, refusedBy);
    if (this.lastNumber !== number) this.#append(claim, number, 'release', {}, false, false);
  }

  /** The line of the run is durable before its journal goes: a run that is there is not removed, whatever lines say. */
  override removeRun(key: RunKey, leaves?: Remembrance): void {
    this.#requireWritable();
    super.removeRun(key, leaves);
    const { path } = this.#journalOf(key);
    this.#ends.delete(path);
    this.#unsynced.delete(path);
    withErrors(this.name, () => {
      rmSync(path, { force: true });
      syncFolder(dirname(path));
    });
  }

  protected override remember(key: RunKey, leaves: Remembrance): RemovedRun {
    const line = super.remember(key, leaves);
    this.#note({ removed: toReadable({ tenant: key.tenant, ...line }) });
    return line;
  }

  override forgetRemoved(key: RunKey): boolean {
    this.#requireWritable();
    const { tenant, runId } = key;
    if (this.readRemoved(key) !== undefined) this.#note({ forgotten: toReadable({ tenant, runId }) });
    return super.forgetRemoved(key);
  }

  override commit(commit: Commit): boolean {
    this.#requireWritable();
    const number = this.lastNumber;
    const { claim, durability, ...rest } = commit;
    const head = this.find(claim)?.head;
    const isClaimHeld = super.commit(commit);
    if (this.find(claim)?.head !== head)
      this.#append(claim, number, 'commit', { token: claim.token, ...rest }, durability === 'power');
    return isClaimHeld;
  }

  override writeSnapshot(key: RunKey, snapshot: SnapshotRow): void {
    this.#requireWritable();
    const number = this.lastNumber;
    const count = this.find(key)?.snapshots.length;
    super.writeSnapshot(key, snapshot);
    if (this.find(key)?.snapshots.length !== count) this.#append(key, number, 'snapshot', { snapshot }, false);
  }

  override postMessage(message: Message): MessageReply {
    this.#requireWritable();
    const { defines, ...first } = message.admission ?? {};
    if (message.admission !== undefined && defines !== undefined)
      this.define(message.tenant, message.admission.graphId, defines);
    const number = this.lastNumber;
    const reply = super.postMessage(message);
    const { tenant: _, runId: __, admission: ____, isForOpen: ___, ...rest } = message;
    if (reply.status !== 'accepted') return reply;
    if (reply.created === true) this.#append(message, number, 'begin', { ...first, claim: null, message: rest });
    else this.#append(message, number, 'message', rest);
    return reply;
  }

  override clearDelivery(key: RunKey, waitId: string): void {
    this.#requireWritable();
    const number = this.lastNumber;
    const count = this.find(key)?.waits.size;
    super.clearDelivery(key, waitId);
    if (this.find(key)?.waits.size !== count) this.#append(key, number, 'clear', { waitId }, false);
  }

  override addReferences(key: RunKey, hashes: readonly string[], read?: ReadTexts): void {
    this.#requireWritable();
    const run = this.find(key);
    if (run === undefined) return;
    super.addReferences(key, hashes, read);
    this.#append(key, this.lastNumber, 'name', { blobs: hashes, isRead: run.isRead });
  }

  override dropReferences(key: RunKey, named: readonly NamedBlob[]): void {
    this.#requireWritable();
    super.dropReferences(key, named);
    if (this.find(key) !== undefined) this.#append(key, this.lastNumber, 'unname', { named }, false);
  }

  override define(tenant: string, graphId: string, hashes: readonly string[]): void {
    this.#requireWritable();
    const known = this.definedGraphs(tenant, hashes).filter((one) => one.graphId === graphId);
    if (known.length === new Set(hashes).size) return;
    super.define(tenant, graphId, hashes);
    this.#note({ defined: toReadable({ tenant, graphId, hashes } satisfies DefinedLine) });
  }

  override tagCheckpoint(key: RunKey, tag: TagRow): void {
    this.#requireWritable();
    const number = this.lastNumber;
    super.tagCheckpoint(key, tag);
    this.#append(key, number, 'tag', tag);
  }

  override labelRun(change: Relabelling): boolean {
    this.#requireWritable();
    const number = this.lastNumber;
    const before = this.find(change)?.admission;
    const isWritten = super.labelRun(change);
    const { labels, meta } = change;
    if (this.find(change)?.admission !== before) this.#append(change, number, 'label', { labels, meta });
    return isWritten;
  }

  override removeTag(key: RunKey, name: string): void {
    this.#requireWritable();
    const number = this.lastNumber;
    if (this.find(key)?.tags.has(name) !== true) return;
    super.removeTag(key, name);
    this.#append(key, number, 'untag', { name });
  }

  /** What is pruned is no longer on the disk: one line with the whole run takes the place of its journal. */
  override pruneRun(prune: Prune): void {
    this.#requireWritable();
    super.pruneRun(prune);
    const run = this.requireRun(prune);
    const journal = this.#journalOf(prune);
    // It stands where the admission stood, before those of its forks.
    const entry = { n: run.no - 1, op: 'whole', run: toReadable({ ...run, forks: 0 }) };
    this.#keep(journal, () => replaceJournal(journal.path, journal.name, entry, this.name));
  }
}

/**
 * An exclusive transaction on an empty database is a lock that ends with the process, on every system. @throws STORE_BUSY,
 * STORE_UNAVAILABLE
 */
function lock(path: string, store: string): DatabaseSync {
  const { DatabaseSync: Database } = process.getBuiltinModule('node:sqlite');
  let database: DatabaseSync | undefined;
  try {
    database = new Database(path);
    database.exec('pragma busy_timeout = 0; pragma journal_mode = memory; begin exclusive');
    return database;
  } catch (error) {
    database?.close();
    const isBusy = (error as { readonly errcode?: number }).errcode === 5;
    const reason = isBusy ? 'another process has the folder open, and only one can' : (error as Error).message;
    throw new CairnError(isBusy ? 'STORE_BUSY' : 'STORE_UNAVAILABLE', { store, reason }, { cause: error });
  }
}

/** Whose journal it is: what its first line says, else the names of the files. */
function keyOf(first: Entry | undefined, folder: string, file: string): RunKey {
  const { run: begun } = (first ?? {}) as { readonly run?: { readonly admission?: Partial<RunKey> } };
  const run: Partial<RunKey> | undefined = begun?.admission ?? first;
  const fallback = { tenant: textOfFileName(folder), runId: textOfFileName(file.slice(0, -journalSuffix.length)) };
  return { tenant: run?.tenant ?? fallback.tenant, runId: run?.runId ?? fallback.runId };
}

/** Whether a line begins a run, which takes a number: of the lines with the same number before them, this one was written last. */
function beginsRun({ entry }: Line): boolean {
  return entry['op'] === 'admit' || entry['op'] === 'begin' || entry['op'] === 'whole';
}

/** What lines of an older format do not tell. */
const notTold = (): Partial<MemoryRun> => ({
  claims: 0,
  deaths: 0,
  deathsHead: 0,
  deathsSinceRest: 0,
  named: new Map(),
  isRead: false,
});

/** Does once more what a line tells. It was accepted when it was written. */
function replay(tables: MemoryTables, { number, tenant, runId, entry }: Line): void {
  const key = { tenant, runId };
  const { n: _, op, ...rest } = fromReadable(entry) as Entry;
  tables.lastNumber = number;
  if (op === 'begin') {
    const { message, ...admission } = rest;
    tables.admitRun(admission as unknown as Admission);
    tables.postMessage({ ...key, ...(message as object) } as unknown as Message);
  } else if (op === 'admit') {
    tables.admitRun(rest as unknown as Admission);
    // Lines of an older format do not tell whether it was claimed.
    if (rest['claim'] === undefined) tables.requireRun(key).claims = 1;
  } else if (op === 'whole') tables.putRun({ ...notTold(), ...(rest['run'] as MemoryRun), token: 0, leaseUntil: 0 });
  else if (op === 'claim') {
    const workerId = String(rest['workerId']);
    tables.claimRun({ ...key, workerId, leaseMs: workerId === heldBy ? heldMs : 0, takeFrom: workerId });
  } else if (op === 'release')
    tables.releaseClaim({ ...key, workerId: '', leaseMs: 0, token: tables.requireRun(key).token });
  else if (op === 'message') tables.postMessage({ ...key, ...rest } as unknown as Message);
  else if (op === 'name') {
    tables.addReferences(key, rest['blobs'] as readonly string[]);
    tables.requireRun(key).isRead = rest['isRead'] === true;
  } else if (op === 'unname') tables.dropReferences(key, rest['named'] as readonly NamedBlob[]);
  else if (op === 'clear') tables.clearDelivery(key, String(rest['waitId']));
  else if (op === 'tag') tables.tagCheckpoint(key, rest as unknown as TagRow);
  else if (op === 'label') {
    const { meta: oldMeta } = tables.requireRun(key).admission;
    tables.labelRun({ ...key, ...(rest as unknown as Pick<Relabelling, 'labels' | 'meta'>), oldMeta });
  } else if (op === 'untag') tables.removeTag(key, String(rest['name']));
  else if (op === 'snapshot') tables.writeSnapshot(key, rest['snapshot'] as SnapshotRow);
  else if (op === 'commit') {
    const token = Number(rest['token']);
    // Whoever wrote it had the claim then.
    tables.requireRun(key).token = token;
    tables.commit({ ...rest, claim: { ...key, token } } as unknown as Commit);
    Object.assign(tables.requireRun(key), { token: 0 });
  } else throw new CairnError('STORE_VERSION_UNKNOWN', { store: tables.name, version: op, supported: format });
}
