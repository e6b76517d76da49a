/** Which runs name which blobs, and of which runs that may not be known. */
import type { DefinedGraph, NamedBlob, ReadTexts, RunReferences } from '../../../ports/blob-references.ts';
import { heldBy } from '../../../ports/held-runs.ts';
import type { RunKey } from '../../../ports/store.ts';
import { bytesOf } from './row-check.ts';
import { asBytes, readText, type Prepare, type Statement } from './run-rows.ts';

/** Whether all that a run `r` names is known: each of its claims, and each message, was written by a version that notes it. */
const isRead = `(r.read_claims = r.claims and not exists (
  select 1 from messages indexed by messages_unread where run = r.no and is_taken = 0 and is_read = 0))`;

export class ReferenceReads {
  readonly #named: Statement;
  readonly #ofRun: Statement;
  readonly #unread: Statement;
  readonly #defined: Statement;

  constructor(prepare: Prepare) {
    this.#named = prepare(
      `select j.value as hash from json_each(?) j
       where exists (select 1 from blob_references where tenant = ? and hash = j.value and run > 0)`,
    );
    this.#ofRun = prepare(
      `select ${isRead} as is_read, b.hash, b.times from runs r left join blob_references b on b.run = r.no and b.run > 0
       where r.tenant = ? and r.run_id = ?`,
    );
    this.#unread = prepare(
      `select no, cast(run_id as blob) as run_id from (
         select no, run_id from runs indexed by runs_unread where tenant = ? and read_claims <> claims and no > ?
         union select run, run_id from messages indexed by messages_unread
           where tenant = ? and is_taken = 0 and is_read = 0 and run > ?)
       order by no limit ?`,
    );
    this.#defined = prepare(
      `select d.hash, ${asBytes('d.graph_id')} from json_each(?) j
       join blob_references d on d.tenant = ? and d.hash = j.value and d.run = 0`,
    );
  }

  named(tenant: string, hashes: readonly string[]): readonly string[] {
    const rows = this.#named().all(JSON.stringify(hashes), tenant) as unknown as readonly Pick<NamedBlob, 'hash'>[];
    return rows.map(({ hash }) => hash);
  }

  of(tenant: string, runIds: readonly string[]): readonly RunReferences[] {
    return runIds.flatMap((runId) => {
      const rows = this.#ofRun().all(tenant, runId) as unknown as readonly StoredReference[];
      if (rows[0] === undefined) return [];
      const named = rows.flatMap(({ hash, times }) => (hash === null ? [] : [{ hash, times }]));
      return [{ runId, named, isRead: rows[0].is_read === 1 }];
    });
  }

  listUnread(
    tenant: string,
    { limit, cursor }: { readonly limit: number; readonly cursor?: string },
  ): { readonly rows: readonly string[]; readonly cursor?: string } {
    const after = cursor === undefined ? -1 : Number(cursor);
    const found = this.#unread().all(tenant, after, tenant, after, limit + 1) as unknown as readonly {
      readonly no: number;
      readonly run_id: Uint8Array;
    }[];
    const last = found[limit - 1];
    return {
      rows: found.slice(0, limit).map(({ run_id }) => readText(bytesOf(run_id))),
      ...(last !== undefined && found.length > limit && { cursor: String(last.no) }),
    };
  }

  defined(tenant: string, hashes: readonly string[]): readonly DefinedGraph[] {
    const rows = this.#defined().all(JSON.stringify(hashes), tenant) as unknown as readonly {
      readonly hash: string;
      readonly graph_id: Uint8Array;
    }[];
    return rows.map(({ hash, graph_id }) => ({ hash, graphId: readText(bytesOf(graph_id)) }));
  }
}

interface StoredReference {
  readonly is_read: number;
  readonly hash: string | null;
  readonly times: number;
}

const definedMax = 10_000;

/** Where runs stand, inside of a transaction. */
interface Heads {
  read(key: RunKey): { readonly no: number; readonly head: number } | undefined;
}

/** Must be called inside of a transaction. */
export class ReferenceWrites {
  readonly #heads: Heads;
  readonly #insert: Statement;
  readonly #drop: Statement;
  readonly #setRead: Statement;
  readonly #setMessageRead: Statement;
  readonly #define: Statement;
  /** What is known to be noted. */
  readonly #defined = new Set<string>();

  constructor(prepare: Prepare, heads: Heads) {
    this.#heads = heads;
    this.#insert = prepare(
      `insert into blob_references (tenant, hash, run, graph_id, times) values (?, ?, ?, '', 1)
       on conflict (tenant, hash, run, graph_id) do update set times = times + 1`,
    );
    this.#drop = prepare(
      'delete from blob_references where tenant = ? and hash = ? and run = ? and run > 0 and times = ?',
    );
    this.#setRead = prepare(
      `update runs set read_claims = claims where tenant = ? and run_id = ? and claims = ?
       and (owner is null or owner = '${heldBy}')`,
    );
    this.#setMessageRead = prepare('update messages set is_read = 1 where run = ? and id = ?');
    this.#define = prepare(
      'insert or ignore into blob_references (tenant, hash, run, graph_id, times) values (?, ?, 0, ?, 1)',
    );
  }

  /** Notes what a write of the run names. @param no - the run's number */
  note(tenant: string, no: number, hashes: readonly string[] | undefined): void {
    if (hashes !== undefined) for (const hash of hashes) this.#insert().run(tenant, hash, no);
  }

  add(key: RunKey, hashes: readonly string[], read: ReadTexts | undefined): void {
    const run = this.#heads.read(key);
    if (run === undefined) return;
    this.note(key.tenant, run.no, hashes);
    if (read?.head !== run.head) return;
    // A run with another claim is not as it was seen; its messages are all the same.
    this.#setRead().run(key.tenant, key.runId, read.claims);
    for (const id of read.messages) this.#setMessageRead().run(run.no, id);
  }

  drop(key: RunKey, named: readonly NamedBlob[]): void {
    const run = this.#heads.read(key);
    if (run !== undefined) for (const { hash, times } of named) this.#drop().run(key.tenant, hash, run.no, times);
  }

  /** Notes it once: what was noted stays. */
  define(tenant: string, graphId: string, hashes: readonly string[] | undefined): void {
    if (hashes === undefined) return;
    for (const hash of hashes) {
      const name = JSON.stringify([tenant, graphId, hash]);
      if (this.#defined.has(name)) continue;
      this.#define().run(tenant, hash, graphId);
      if (this.#defined.size >= definedMax) this.#defined.clear();
      this.#defined.add(name);
    }
  }

  /** Forgets what was noted in a transaction that was rolled back. */
  forget(): void {
    this.#defined.clear();
  }
}
