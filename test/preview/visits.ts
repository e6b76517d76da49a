/** What became of each visit of a fork to a node of its own graph, read from histories. */
import type { Engine } from '../../src/engine/api.ts';
import type { ChangePart } from '../../src/history/stored/change.ts';
import type { Store } from '../../src/ports/store.ts';
import { tenant } from './fork-trial.ts';

/** A visit that a history tells of. */
export interface Visit {
  readonly node: string;
  readonly visit: number;
  /** `ended`: it was cancelled or skipped before anything of it was recorded. */
  fate: 'set' | 'taken over' | 'ran' | 'ended';
  /** Where it was recorded, if it was taken over. */
  from: string | undefined;
  /** Its place among all parts of the history: of what first tells of it, and of its end. */
  readonly begunAt: number;
  endedAt: number | undefined;
  /** Whether something was asked in it, or an answer taken. */
  hasAsked: boolean;
}

export interface ForkVisits {
  /** What the fork did, by {@link placeOf}. */
  readonly own: ReadonlyMap<string, Visit>;
  /** Places that an ancestor told of before or after the fork point, however it went on. */
  readonly known: ReadonlySet<string>;
}

export function placeOf(node: string, visit: number): string {
  return `${node}#${visit}`;
}

/** @param firstSeq - of the fork's own checkpoints */
export async function readForkVisits(
  engine: Engine,
  store: Store,
  { runId, seq: firstSeq }: { readonly runId: string; readonly seq: number },
): Promise<ForkVisits> {
  const own = await readVisits(engine, runId, firstSeq);
  const known = new Set<string>();
  for (let run = await store.readRun({ tenant, runId }); run?.parent !== undefined;) {
    const { runId } = run.parent;
    for (const [place, { fate }] of await readVisits(engine, runId, 0)) if (fate !== 'ended') known.add(place);
    run = await store.readRun({ tenant, runId });
  }
  return { own, known };
}

/** Visits of a run from a seq on; what its ancestors recorded before counts the visits only. */
async function readVisits(engine: Engine, runId: string, firstSeq: number): Promise<Map<string, Visit>> {
  const visits = new Map<string, Visit>();
  /** The last visit of each node that is over. */
  const over = new Map<string, number>();
  let order = 0;
  for await (const event of engine.events(runId)) {
    if (event.type !== 'checkpoint') continue;
    for (const part of event.change) {
      const [node, ...deeper] = part.node ?? [];
      if (node === undefined || deeper.length > 0) continue;
      order += 1;
      const visit = part.visit ?? (saysVisit(part) ? 1 : (over.get(node) ?? 0) + 1);
      if (event.seq >= firstSeq) tell(visits, node, visit, part, order);
      if (isEnd(part)) over.set(node, visit);
    }
  }
  return visits;
}

function tell(visits: Map<string, Visit>, node: string, visit: number, part: ChangePart, order: number): void {
  const place = placeOf(node, visit);
  const known = visits.get(place) ?? { ...nothing, node, visit, begunAt: order };
  visits.set(place, known);
  const isGone = isEnd(part) && (part.status === 'skipped' || part.status === 'cancelled');
  if (known.fate === 'ended' && !isGone) known.fate = fateOf(part);
  if (part.kind === 'replay') known.from = `${part.from?.runId}@${part.from?.seq}`;
  if (part.kind === 'wait' || part.kind === 'answer') known.hasAsked = true;
  if (isEnd(part)) known.endedAt = order;
}

const nothing = { fate: 'ended', from: undefined, endedAt: undefined, hasAsked: false } as const;

function fateOf({ kind, by }: ChangePart): Visit['fate'] {
  if (kind === 'replay') return 'taken over';
  return kind === 'settle' && by === 'fork' ? 'set' : 'ran';
}

function isEnd({ kind }: ChangePart): boolean {
  return kind === 'settle' || kind === 'replay';
}

/** The others leave out a first visit only; a skip leaves out every visit. */
function saysVisit({ kind, status }: ChangePart): boolean {
  return !['wait', 'retry', 'save'].includes(kind) && status !== 'skipped';
}
