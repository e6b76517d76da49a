/** The limits of stores that keep their data in memory: records, and lines of runs. */
import {
  aheadMax,
  type LimitPage,
  type LimitRecord,
  type LimitStore,
  type LimitWrite,
  type LineHead,
  type LineRow,
  type ParkedRun,
  type PlaceHolder,
} from '../ports/limits.ts';
import type { RunKey } from '../ports/store.ts';
import { isUnderWay } from '../state/tree.ts';
import { claimLeftMs, compareText, type MemoryRun } from './run-queries.ts';
import type { MemoryTables } from './run-tables.ts';
import { wakeUnparked } from './watchers.ts';

interface Waiting {
  readonly run: MemoryRun;
  readonly line: string;
  readonly rank: number;
  readonly group: string | undefined;
}

export class LimitTables {
  readonly #tables: MemoryTables;
  /** By tenant and name. */
  readonly records: Map<string, Map<string, LimitRecord>> = new Map<string, Map<string, LimitRecord>>();
  /** Runs in lines, by tenant, line and id. */
  readonly #lines = new Map<string, Map<string, Map<string, Waiting>>>();

  constructor(tables: MemoryTables) {
    this.#tables = tables;
  }

  read(tenant: string, names: readonly string[]): readonly LimitRecord[] {
    return names.flatMap((name) => this.records.get(tenant)?.get(name) ?? []);
  }

  list(tenant: string, page: LimitPage): readonly LimitRecord[] {
    return pageOf([...(this.records.get(tenant)?.values() ?? [])], ({ name }) => name, page);
  }

  write({ tenant, changes, park = [], unpark = [] }: LimitWrite): boolean {
    const records = this.records.get(tenant) ?? new Map<string, LimitRecord>();
    if (changes.some(({ name, expected }) => records.get(name)?.version !== expected)) return false;
    this.records.set(tenant, records);
    for (const { name, version, body } of changes)
      if (body === undefined) records.delete(name);
      else records.set(name, { name, version, body });
    for (const one of park) this.#park(one);
    for (const runId of unpark) this.#unpark({ tenant, runId });
    return true;
  }

  #park({ claim, line, rank, group }: ParkedRun): void {
    const { tenant, runId, token } = claim;
    const run = this.#tables.find(claim);
    if (run?.token !== token) return;
    this.#tables.releaseClaim({ ...claim, workerId: '', leaseMs: 0 });
    if (run.status !== 'running' && run.status !== 'paused') return;
    run.status = 'paused';
    if (this.#lineOf({ tenant, runId }) !== undefined) return;
    const lines = this.#lines.get(tenant) ?? new Map<string, Map<string, Waiting>>();
    this.#lines.set(tenant, lines);
    lines.set(line, (lines.get(line) ?? new Map<string, Waiting>()).set(runId, { run, line, rank, group }));
  }

  #unpark(key: RunKey): void {
    const line = this.#lineOf(key);
    if (line === undefined) return;
    const runs = this.#lines.get(key.tenant)?.get(line);
    runs?.delete(key.runId);
    if (runs?.size === 0) this.#lines.get(key.tenant)?.delete(line);
    const run = this.#tables.find(key);
    if (run?.status === 'paused') run.status = 'running';
  }

  #lineOf({ tenant, runId }: RunKey): string | undefined {
    for (const [line, runs] of this.#lines.get(tenant) ?? []) if (runs.has(runId)) return line;
    return undefined;
  }

  check(tenant: string, holders: readonly PlaceHolder[]): readonly boolean[] {
    return holders.map(({ runId, token }) => {
      const run = this.#tables.find({ tenant, runId });
      if (token === undefined) return run !== undefined && (isUnderWay(run.status) || run.status === 'paused');
      if (run?.token !== token || run.owner === undefined) return false;
      if (claimLeftMs(run, this.#tables.clock) > 0) return true;
      this.#tables.releaseClaim({ tenant, runId, token, workerId: run.owner, leaseMs: 0 });
      return false;
    });
  }

  /** The runs of a line that still wait in it, first ones first. */
  #inOrder(tenant: string, line: string): readonly Waiting[] {
    const isWaiting = ({ run }: Waiting): boolean =>
      run.status === 'paused' && this.#tables.find({ tenant, runId: run.admission.runId }) === run;
    return [...(this.#lines.get(tenant)?.get(line)?.values() ?? [])]
      .filter(isWaiting)
      .sort((a, b) => b.run.schedule.priority - a.run.schedule.priority || a.rank - b.rank || a.run.no - b.run.no);
  }

  readLine(
    tenant: string,
    line: string,
    { limit, group }: { readonly limit: number; readonly group?: string },
  ): LineHead {
    const waiting = this.#inOrder(tenant, line);
    const ranks = waiting.filter((one) => group !== undefined && one.group === group).map(({ rank }) => rank);
    return {
      first: waiting.slice(0, limit).map(toLineRow),
      ...(ranks.length > 0 && { lastRank: ranks.reduce((most, rank) => Math.max(most, rank)) }),
    };
  }

  listLines(tenant: string, page: LimitPage): readonly string[] {
    return pageOf([...(this.#lines.get(tenant)?.keys() ?? [])], (line) => line, page);
  }

  findInLine({ tenant, runId }: RunKey): { readonly line: string; readonly ahead: number } | undefined {
    const line = this.#lineOf({ tenant, runId });
    if (line === undefined) return undefined;
    const ahead = this.#inOrder(tenant, line).findIndex(({ run }) => run.admission.runId === runId);
    return ahead < 0 ? undefined : { line, ahead: Math.min(ahead, aheadMax) };
  }
}

const toLineRow = ({ run, rank }: Waiting): LineRow => ({
  runId: run.admission.runId,
  priority: run.schedule.priority,
  rank,
});

function pageOf<Row>(
  rows: readonly Row[],
  nameOf: (row: Row) => string,
  { prefix = '', after, limit }: LimitPage,
): readonly Row[] {
  return rows
    .filter((row) => nameOf(row).startsWith(prefix) && (after === undefined || compareText(nameOf(row), after) > 0))
    .sort((a, b) => compareText(nameOf(a), nameOf(b)))
    .slice(0, limit);
}

/** The port over such tables. @param reply - answers a call with what it does, or with the error it throws */
export function createLimitStore(
  limits: LimitTables,
  reply: <Reply>(work: () => Reply) => Promise<Reply>,
  wake: (key: RunKey) => void,
): LimitStore {
  return {
    read: (tenant, names) => reply(() => limits.read(tenant, names)),
    list: (tenant, page) => reply(() => limits.list(tenant, page)),
    write: (write) =>
      reply(() => {
        const isWritten = limits.write(write);
        if (isWritten) wakeUnparked(write, wake);
        return isWritten;
      }),
    check: (tenant, holders) => reply(() => limits.check(tenant, holders)),
    readLine: (tenant, line, query) => reply(() => limits.readLine(tenant, line, query)),
    listLines: (tenant, page) => reply(() => limits.listLines(tenant, page)),
    findInLine: (run) => reply(() => limits.findInLine(run)),
  };
}
