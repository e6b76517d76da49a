/** What an operator sees of limits and sets: over the records alone, so that no engine is needed. */
import { CairnError } from '../../errors.ts';
import { knownLimit, limitNameOf } from '../../graph/limit.ts';
import type { LimitRecord, LimitStore } from '../../ports/limits.ts';
import type { Store } from '../../ports/store.ts';
import {
  appliedOf,
  definitionOf,
  stateOf,
  withDefinition,
  type LimitAmounts,
  type LimitEntry,
  type LimitOverride,
  type PlaceState,
} from './place-state.ts';
import { changeEntry, entryPrefix, placePrefix } from './limit-records.ts';

/** No more keys of all limits, and no more runs of a line, are looked at. */
const [keysMax, linedMax] = [1_000, 1_000];
/** Of a limit no more keys than this are listed, the fullest first. */
const listedKeys = 20;

/** One key of a limit. */
export interface KeyUsage {
  readonly key: string;
  /** Places that are taken, by runs and by steps. */
  readonly taken: number;
  /** Runs in its line, and steps that wait; up to 1,000 runs are counted. */
  readonly waiting: number;
  /** The oldest run in line. */
  readonly first?: string;
}

/** A limit as it applies, and how full it is. */
export interface LimitUsage extends LimitAmounts {
  readonly name: string;
  readonly counts: 'claimed' | 'open';
  readonly isPaused: boolean;
  /** What an operator set, which goes before the definition. */
  readonly set?: LimitAmounts;
  readonly taken: number;
  readonly waiting: number;
  /** Its keys that are in use, the fullest first, at most 20. */
  readonly keys: readonly KeyUsage[];
}

/** @throws STORE_UNSUPPORTED */
function limitsIn({ name, limits }: Pick<Store, 'name' | 'limits'>): LimitStore {
  if (limits === undefined) throw new CairnError('STORE_UNSUPPORTED', { store: name, capability: 'limits' });
  return limits;
}

/** Reads all pages of a listing, up to a number. */
async function readAll<Row>(
  read: (after: string | undefined) => Promise<readonly Row[]>,
  nameOfRow: (row: Row) => string,
): Promise<readonly Row[]> {
  const rows: Row[] = [];
  for (let after: string | undefined; rows.length < keysMax;) {
    const page = await read(after);
    rows.push(...page);
    if (page.length === 0) break;
    after = nameOfRow(page.at(-1) as Row);
  }
  return rows;
}

/** The limits of a tenant, by name. @param only - the name of one of them. @throws STORE_UNSUPPORTED */
export async function listLimits(
  store: Pick<Store, 'name' | 'limits'>,
  tenant: string,
  only?: string,
): Promise<readonly LimitUsage[]> {
  const limits = limitsIn(store);
  const byPrefix = (prefix: string): Promise<readonly LimitRecord[]> =>
    readAll(
      (after) => limits.list(tenant, { prefix, limit: 200, ...(after !== undefined && { after }) }),
      ({ name }) => name,
    );
  const [entries, places, lines] = await Promise.all([
    byPrefix(entryPrefix),
    byPrefix(placePrefix),
    readAll(
      (after) => limits.listLines(tenant, { limit: 200, ...(after !== undefined && { after }) }),
      (line) => line,
    ),
  ]);
  const states = new Map(places.map(({ name, body }) => [name.slice(placePrefix.length), stateOf(body)]));
  for (const line of lines) if (!states.has(line)) states.set(line, stateOf(undefined));
  const isLined = new Set(lines);
  const wanted = entries.filter(({ name }) => only === undefined || name === entryPrefix + only);
  return Promise.all(
    wanted.map(async ({ name: record, body }) => {
      const name = record.slice(entryPrefix.length);
      const own = [...states].filter(([key]) => limitNameOf(key) === name);
      const keys = await Promise.all(
        own.map(([key, state]) => usageOfKey(limits, tenant, key, state, isLined.has(key))),
      );
      return usageOf(name, JSON.parse(body) as LimitEntry, keys);
    }),
  );
}

async function usageOfKey(
  limits: LimitStore,
  tenant: string,
  key: string,
  { holders, tickets }: PlaceState,
  isLined: boolean,
): Promise<KeyUsage> {
  const { first } = isLined ? await limits.readLine(tenant, key, { limit: linedMax }) : { first: [] };
  const sum = (counted: readonly { readonly count: number }[]): number =>
    counted.reduce((all, { count }) => all + count, 0);
  const [head] = first;
  return { key, taken: sum(holders), waiting: first.length + sum(tickets), ...(head && { first: head.runId }) };
}

function usageOf(name: string, entry: LimitEntry, keys: readonly KeyUsage[]): LimitUsage {
  const { counts = 'claimed', isPaused = false, onFull: _, isPer: __, ...amounts } = appliedOf(entry);
  const total = (of: 'taken' | 'waiting'): number => keys.reduce((sum, key) => sum + key[of], 0);
  const { isPaused: ___, at: ____, ...set } = entry.override ?? { at: 0 };
  return {
    name,
    ...amounts,
    counts,
    isPaused,
    ...(Object.keys(set).length > 0 && { set }),
    taken: total('taken'),
    waiting: total('waiting'),
    keys: keys
      .filter(({ taken, waiting }) => taken + waiting > 0)
      .sort((a, b) => b.waiting - a.waiting || b.taken - a.taken || (a.key < b.key ? -1 : 1))
      .slice(0, listedKeys),
  };
}

/** What is done to a limit. */
export type LimitEdit =
  | { readonly action: 'set'; readonly amounts: LimitAmounts }
  | { readonly action: 'pause' | 'resume' | 'reset' };

/** Changes what applies of a limit, for all workers, within a second. @throws USAGE_INVALID there is no such limit; STORE_UNSUPPORTED */
export async function editLimit(
  {
    store,
    tenant,
    now,
    writer,
  }: {
    readonly store: Pick<Store, 'name' | 'limits'>;
    readonly tenant: string;
    readonly now: number;
    readonly writer: string;
  },
  name: string,
  edit: LimitEdit,
): Promise<void> {
  const limits = limitsIn(store);
  const defined = knownLimit(name);
  await changeEntry({ store: limits, tenant, workerId: writer }, name, (recorded) => {
    // Nothing has used it so far, but this process or its configuration defines it.
    const entry = recorded ?? (defined && withDefinition(undefined, definitionOf(defined)));
    if (entry === undefined)
      throw new CairnError('USAGE_INVALID', {
        reason: `no limit ${name} is known here`,
        hint: 'cairn limits ls shows those that are.',
      });
    return { ...entry, override: overrideAfter(entry.override, edit, now) } as LimitEntry;
  });
}

function overrideAfter(before: LimitOverride | undefined, edit: LimitEdit, at: number): LimitOverride | undefined {
  const { isPaused, ...set } = before ?? { at };
  if (edit.action === 'reset') return undefined;
  if (edit.action === 'set') return { ...set, ...edit.amounts, ...(isPaused === true && { isPaused }), at };
  return { ...set, ...(edit.action === 'pause' && { isPaused: true as const }), at };
}
