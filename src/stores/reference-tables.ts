/** Which runs name which blobs, for stores that keep their data in memory. */
import type { DefinedGraph, NamedBlob, ReadTexts, RunReferences } from '../ports/blob-references.ts';
import { heldBy } from '../ports/held-runs.ts';
import type { MemoryRun } from './run-queries.ts';

const nameOf = (tenant: string, hash: string): string => JSON.stringify([tenant, hash]);

export class ReferenceTables {
  /** Runs by tenant and hash. */
  readonly #runs = new Map<string, Set<MemoryRun>>();
  /** Graphs by tenant and hash. */
  readonly #graphs = new Map<string, Set<string>>();

  /** Counts one more write of the run that names these. */
  add(run: MemoryRun, hashes: readonly string[] | undefined): void {
    if (hashes === undefined) return;
    for (const hash of hashes) run.named.set(hash, (run.named.get(hash) ?? 0) + 1);
    for (const hash of hashes) this.#index(run, hash);
  }

  /** Takes in a run with what it names. */
  put(run: MemoryRun): void {
    for (const hash of run.named.keys()) this.#index(run, hash);
  }

  #index(run: MemoryRun, hash: string): void {
    const name = nameOf(run.admission.tenant, hash);
    const runs = this.#runs.get(name);
    if (runs === undefined) this.#runs.set(name, new Set([run]));
    else runs.add(run);
  }

  /** Forgets a run, or some of what it names. */
  remove(run: MemoryRun, hashes: Iterable<string> = [...run.named.keys()]): void {
    for (const hash of hashes) {
      const name = nameOf(run.admission.tenant, hash);
      const runs = this.#runs.get(name);
      runs?.delete(run);
      if (runs?.size === 0) this.#runs.delete(name);
      run.named.delete(hash);
    }
  }

  named(tenant: string, hashes: readonly string[]): readonly string[] {
    return hashes.filter((hash) => this.#runs.has(nameOf(tenant, hash)));
  }

  /** With what others were told of graphs. */
  withGraphsOf(other: ReferenceTables): this {
    for (const [name, graphs] of other.#graphs) this.#graphs.set(name, graphs);
    return this;
  }

  define(tenant: string, graphId: string, hashes: readonly string[]): void {
    for (const hash of hashes) {
      const name = nameOf(tenant, hash);
      this.#graphs.set(name, (this.#graphs.get(name) ?? new Set()).add(graphId));
    }
  }

  defined(tenant: string, hashes: readonly string[]): readonly DefinedGraph[] {
    return hashes.flatMap((hash) =>
      [...(this.#graphs.get(nameOf(tenant, hash)) ?? [])].map((graphId) => ({ hash, graphId })),
    );
  }
}

export function referencesOf({ admission, named, isRead }: MemoryRun): RunReferences {
  return { runId: admission.runId, named: [...named].map(([hash, times]) => ({ hash, times })), isRead };
}

/** Those that a run names as often as it was seen. */
export function unchanged(run: MemoryRun, named: readonly NamedBlob[]): readonly string[] {
  return named.filter(({ hash, times }) => run.named.get(hash) === times).map(({ hash }) => hash);
}

/** Whether the texts that were read of a run are all that it has. Whoever has it may be writing more. */
export function isAllRead({ head, claims, owner }: MemoryRun, read: ReadTexts | undefined): boolean {
  return read?.head === head && read.claims === claims && (owner === undefined || owner === heldBy);
}

export function pageOfUnread(
  runs: Iterable<MemoryRun>,
  { limit, cursor }: { readonly limit: number; readonly cursor?: string },
): { readonly rows: readonly string[]; readonly cursor?: string } {
  const after = cursor === undefined ? -1 : Number(cursor);
  const found = [...runs].filter(({ isRead, no }) => !isRead && no > after).sort((a, b) => a.no - b.no);
  const last = found[limit - 1];
  return {
    rows: found.slice(0, limit).map(({ admission }) => admission.runId),
    ...(last !== undefined && found.length > limit && { cursor: String(last.no) }),
  };
}
