/** Holds what a preview said of a fork or a resume against what was then done: every visit, both ways (X5). */
import type { PreviewRow } from '../../src/engine/api.ts';
import { placeOf, type FoundVisits, type Visit } from './visits.ts';

export interface PreviewFault {
  /** Which kind of mismatch it is: the same words for each of its kind. */
  readonly kind: string;
  readonly told: string;
}

export interface PreviewedRun {
  readonly visits: FoundVisits;
  /** A failure that nothing handled stops what would have come: then what did not come is no fault. */
  readonly isFailed: boolean;
  /** Nodes that were left at waits when it began. */
  readonly resting: ReadonlySet<string>;
}

export function findPreviewFaults(rows: readonly PreviewRow[], run: PreviewedRun): readonly PreviewFault[] {
  const { visits } = run;
  const faults: PreviewFault[] = [];
  const told = new Map<string, PreviewRow>();
  for (const row of rows) {
    const place = placeOf(row.node.join('/'), row.visit);
    if (told.has(place)) faults.push({ kind: 'a visit is told twice', told: describe(row) });
    told.set(place, row);
  }
  for (const row of rows) {
    const visit = visits.own.get(placeOf(row.node.join('/'), row.visit));
    const kind = faultOfRow(row, visit, { ...run, rows });
    if (kind !== undefined) faults.push({ kind, told: `${describe(row)}, and ${describeVisit(visit)}` });
  }
  for (const visit of visits.own.values()) {
    if (visit.fate === 'ended' || told.has(placeOf(visit.node, visit.visit))) continue;
    const kind = faultOfUntold(visit, rows);
    if (kind !== undefined) faults.push({ kind, told: describeVisit(visit) });
  }
  return faults;
}

interface Surroundings extends PreviewedRun {
  readonly rows: readonly PreviewRow[];
}

function faultOfRow(row: PreviewRow, visit: Visit | undefined, around: Surroundings): string | undefined {
  const { prediction, because } = row;
  const fate = visit?.fate;
  if (prediction === 'unknown') return faultOfUnknown(row, visit, around);
  if (prediction === 'restored' && because === undefined)
    return fate === undefined ? undefined : `restored, and ${fate}`;
  const expected = because === 'set by the fork' ? 'set' : isTakenOver(row) ? 'taken over' : 'ran';
  if (fate === 'ended') return undefined;
  if (visit === undefined || fate === undefined)
    return around.isFailed ? undefined : `${prediction}, and nothing came of it`;
  if (fate !== expected) return `${prediction}, and ${fate}`;
  if (expected === 'taken over' && visit.from !== because) return `${prediction} from another place than told`;
  return faultOfRun(row, visit, around);
}

/** What runs, runs again only if an ancestor told of that visit; and what asks, asks. About a budget others may ask for all. */
function faultOfRun(
  { node, visit: count, prediction, because }: PreviewRow,
  visit: Visit,
  { visits, isFailed }: Surroundings,
): string | undefined {
  const isKnown = visits.known.has(placeOf(node.join('/'), count));
  if (prediction === 'runs' && isKnown) return 'runs, and was begun before';
  if (prediction === 'runs again' && !isKnown) return 'runs again, and was never begun';
  const hasAsked = visit.hasAsked || (because !== undefined && visits.hasAnswers);
  if (prediction === 'asks' && !hasAsked && !isFailed) return 'asks, and asked nothing';
  return undefined;
}

/** Until the node that decides has run, nothing becomes of what is unknown; of what is queued, until it has given its place. */
function faultOfUnknown(
  { because = '', isQueued = false }: PreviewRow,
  visit: Visit | undefined,
  { visits, rows, resting }: Surroundings,
): string | undefined {
  const named = because.split(' or ');
  const deciding = rows.filter(({ node, prediction }) => named.includes(node.join('/')) && !isSettledRow(prediction));
  if (deciding.length === 0) return 'unknown because of a node that is not to run';
  if (visit === undefined || visit.fate === 'ended') return undefined;
  const decided = [...visits.own.values()].some(({ node, endedAt = Infinity, restedAt = Infinity }) => {
    if (!named.includes(node)) return false;
    return endedAt < visit.begunAt || (isQueued && restedAt < visit.begunAt);
  });
  const hasPlace = isQueued && named.some((node) => resting.has(node));
  return decided || hasPlace ? undefined : 'unknown, and done before the node that decides it';
}

/** A visit without a row of its own is foretold if an earlier one of its node is unknown, or leads round a loop. */
function faultOfUntold({ node, visit }: Visit, rows: readonly PreviewRow[]): string | undefined {
  const own = rows.filter((row) => row.node.join('/') === node && row.visit < visit);
  if (own.some(({ prediction }) => prediction === 'unknown')) return undefined;
  return own.some(({ prediction }) => !isSettledRow(prediction))
    ? 'a later visit of a node that runs is not told'
    : 'a visit is not told';
}

function isTakenOver({ prediction }: PreviewRow): boolean {
  return prediction === 'replayed' || prediction === 'reused';
}

function isSettledRow(prediction: PreviewRow['prediction']): boolean {
  return prediction === 'restored' || prediction === 'replayed' || prediction === 'reused';
}

function describe({ node, visit, prediction, because }: PreviewRow): string {
  return `${placeOf(node.join('/'), visit)} was told ${prediction}${because === undefined ? '' : ` (${because})`}`;
}

function describeVisit(visit: Visit | undefined): string {
  if (visit === undefined) return 'nothing came of it';
  return `${placeOf(visit.node, visit.visit)} ${visit.fate}${visit.from === undefined ? '' : ` from ${visit.from}`}`;
}
