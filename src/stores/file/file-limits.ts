/** The limits of a folder: a journal of the records. Lines of runs end with the process, as its claims do: what waited looks again. */
import { existsSync } from 'node:fs';
import { CairnError } from '../../errors.ts';
import type { LimitRecord, LimitWrite } from '../../ports/limits.ts';
import { LimitTables } from '../limit-tables.ts';
import type { MemoryTables } from '../run-tables.ts';
import { append, cutTorn, emptyEnd, readJournal, replaceJournal, type JournalEnd } from './journal.ts';

const name = 'limits';
/** A journal with this many more lines than records is written anew. */
const spareMax = 1_000;

type StoredRecord = LimitRecord & { readonly tenant: string };

export class JournaledLimits extends LimitTables {
  readonly #path: string;
  readonly #store: string;
  readonly #requireWritable: () => void;
  #end: JournalEnd = emptyEnd(name);
  #lines = 0;

  /** @param requireWritable - throws if the folder was opened to read */
  constructor(tables: MemoryTables, path: string, isReadOnly: boolean, requireWritable: () => void) {
    super(tables);
    this.#path = path;
    this.#store = tables.name;
    this.#requireWritable = requireWritable;
    if (!existsSync(path)) return;
    const { entries, end, damage, tornBytes } = readJournal(path, name, tables.name);
    if (damage !== undefined) throw new CairnError('STORE_CORRUPT', { store: tables.name, reason: damage });
    if (tornBytes > 0 && !isReadOnly) cutTorn(path, end, tables.name);
    this.#end = end;
    this.#lines = entries.length;
    for (const entry of entries) {
      if (Array.isArray(entry['all']))
        for (const { tenant, ...record } of entry['all'] as StoredRecord[]) this.#put(tenant, record.name, record);
      else
        for (const { body, version, name: of } of entry['changes'] as LimitWrite['changes'])
          this.#put(String(entry['tenant']), of, body === undefined ? undefined : { name: of, version, body });
    }
  }

  #put(tenant: string, of: string, record: LimitRecord | undefined): void {
    const records = this.records.get(tenant) ?? new Map<string, LimitRecord>();
    this.records.set(tenant, records);
    if (record === undefined) records.delete(of);
    else records.set(of, record);
  }

  override write(write: LimitWrite): boolean {
    this.#requireWritable();
    if (!super.write(write)) return false;
    const { tenant, changes } = write;
    if (changes.length > 0) this.#note({ tenant, changes });
    return true;
  }

  /** Appends what has changed, or writes all records anew when the journal has grown long. */
  #note(entry: { readonly tenant: string; readonly changes: LimitWrite['changes'] }): void {
    const all = [...this.records].flatMap(([tenant, records]) =>
      [...records.values()].map((record) => ({ tenant, ...record })),
    );
    if (this.#lines < all.length + spareMax) {
      this.#end = append(this.#path, entry, this.#end, false, this.#store);
      this.#lines += 1;
    } else {
      this.#end = replaceJournal(this.#path, name, { all }, this.#store);
      this.#lines = 1;
    }
  }
}
