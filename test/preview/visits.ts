/** What became of each visit of a fork to a node of its own graph, read from histories. */
import type { CheckpointRef } from '../../src/engine/api.ts';
import type { ChangePart } from '../../src/history/stored/change.ts';
import { loadState } from '../../src/history/load/load.ts';
import type { RunTree } from '../../src/state/tree.ts';
import { tenant, type ForkTrial } from './fork-trial.ts';

export type Histories = Pick<ForkTrial, 'engine' | 'store' | 'blobs'>;

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
  /** Of the first wait or retry in it, or the start of a child run: there it gave its place to others. */
  restedAt: number | undefined;
  /** Whether something was asked in it, or an answer taken. */
  hasAsked: boolean;
}

export interface FoundVisits {
  /** What was done then, by {@link placeOf}. */
  readonly own: ReadonlyMap<string, Visit>;
  /** Places that were told of before: by what a resume found, by an ancestor of a fork before or after the fork point. */
  readonly known: ReadonlySet<string>;
  /** Whether anything was answered then, by whomever it was asked. */
  readonly hasAnswers: boolean;
}

export function placeOf(node: string, visit: number): string {
  return `${node}#${visit}`;
}

/** @param firstSeq - of the checkpoints that came of the resume; `known` are those before it */
export async function readResumeVisits(
  trial: Histories,
  { runId, seq: firstSeq }: CheckpointRef,
): Promise<FoundVisits> {
  const [own, hasAnswers] = await readOwn(trial, { runId, seq: firstSeq });
  const known = new Set<string>();
  for (const [place, { fate }] of await readVisits(trial, runId, 0, firstSeq - 1))
    if (fate !== 'ended') known.add(place);
  await noteOpen(trial, { runId, seq: firstSeq - 1 }, known);
  return { own, known, hasAnswers };
}

/** Some have begun, and left nothing but their records. */
async function noteOpen(trial: Histories, { runId, seq }: CheckpointRef, known: Set<string>): Promise<void> {
  const { nodes } = (await treeAt(trial, runId, seq)).frame;
  for (const [id, { fired, visits = 1 }] of Object.entries(nodes))
    if (fired === undefined) known.add(placeOf(id, visits));
}

async function treeAt({ store, blobs }: Histories, runId: string, seq: number): Promise<RunTree> {
  const run = await store.readRun({ tenant, runId });
  if (run === undefined) throw new Error(`there is no run ${runId}`);
  return (await loadState(store, blobs, run, seq)).root;
}

/** @param firstSeq - of the fork's own checkpoints */
export async function readForkVisits(trial: Histories, { runId, seq: firstSeq }: CheckpointRef): Promise<FoundVisits> {
  const [own, hasAnswers] = await readOwn(trial, { runId, seq: firstSeq });
  const known = new Set<string>();
  await noteOpen(trial, { runId, seq: firstSeq }, known);
  for (let run = await trial.store.readRun({ tenant, runId }); run?.parent !== undefined;) {
    const { runId } = run.parent;
    for (const [place, { fate }] of await readVisits(trial, runId, 0)) if (fate !== 'ended') known.add(place);
    run = await trial.store.readRun({ tenant, runId });
  }
  return { own, known, hasAnswers };
}

async function readOwn(
  trial: Histories,
  { runId, seq }: CheckpointRef,
): Promise<readonly [visits: FoundVisits['own'], hasAnswers: boolean]> {
  let hasAnswers = false;
  for await (const event of trial.engine.events(runId))
    if (event.type === 'checkpoint' && event.seq >= seq)
      hasAnswers ||= event.change.some(({ kind }) => kind === 'answer');
  return [await readVisits(trial, runId, seq), hasAnswers];
}

/**
 * Nodes of a run's own graph that have open waits or child runs: when they go on they come to them again, and give their place to others. A
 * run that has failed keeps its waits, though it shows none.
 */
export async function restingNodes(trial: Histories, { runId, seq }: CheckpointRef): Promise<ReadonlySet<string>> {
  const { frame, waits } = await treeAt(trial, runId, seq);
  const waiting = Object.values(waits).map(({ node }) => node[0] ?? '');
  const parents = Object.entries(frame.nodes).filter(
    ([, record]) => record.fired === undefined && record.children !== undefined,
  );
  return new Set([...waiting, ...parents.map(([id]) => id)]);
}

/** Visits of a run from a seq to a seq; what was recorded before counts the visits only. */
async function readVisits(
  trial: Histories,
  runId: string,
  firstSeq: number,
  lastSeq = Number.POSITIVE_INFINITY,
): Promise<Map<string, Visit>> {
  const visits = new Map<string, Visit>();
  /** The last visit of each node that is over. */
  const over: Over = new Map();
  const budgets = await budgetWaits(trial, runId);
  let order = 0;
  for await (const event of trial.engine.events(runId)) {
    if (event.type !== 'checkpoint') continue;
    for (const part of event.change) {
      const [node, ...deeper] = part.node ?? [];
      if (node === undefined) continue;
      order += 1;
      if (event.seq >= firstSeq && isRest(part))
        noteRest(visits, node, await visitOf(trial, runId, event.seq, node, over), order);
      if (deeper.length > 0 || budgets.has(part.wait ?? '')) continue;
      const visit = part.visit ?? (saysVisit(part) ? 1 : await visitOf(trial, runId, event.seq, node, over));
      if (event.seq >= firstSeq && event.seq <= lastSeq) tell(visits, node, visit, part, order);
      if (isEnd(part)) over.set(node, { visit, isFailed: part.status === 'failed' });
    }
  }
  return visits;
}

/** Questions about budgets, and about effects in doubt. Nothing of a visit that waits for a budget has begun, and one answer serves many. */
async function budgetWaits(trial: Histories, runId: string): Promise<ReadonlySet<string>> {
  const found = new Set<string>();
  for await (const event of trial.engine.events(runId)) {
    if (event.type !== 'checkpoint') continue;
    for (const { kind, step, wait = '' } of event.change) if (kind === 'answer' && step === undefined) found.add(wait);
  }
  const run = await trial.store.readRun({ tenant, runId });
  const { waits } = await treeAt(trial, runId, run?.head ?? 0);
  for (const [waitId, { budget }] of Object.entries(waits)) if (budget !== undefined) found.add(waitId);
  return found;
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

type Over = Map<string, { readonly visit: number; readonly isFailed: boolean }>;

/** The visit of a part that does not say it: the one after the last that is over. One that has failed may still be open: its record tells. */
async function visitOf(trial: Histories, runId: string, seq: number, node: string, over: Over): Promise<number> {
  const last = over.get(node);
  if (last?.isFailed !== true) return (last?.visit ?? 0) + 1;
  return (await treeAt(trial, runId, seq)).frame.nodes[node]?.visits ?? 1;
}

const nothing = { fate: 'ended', from: undefined, endedAt: undefined, restedAt: undefined, hasAsked: false } as const;

function noteRest(visits: Map<string, Visit>, node: string, visit: number, order: number): void {
  const place = placeOf(node, visit);
  const known = visits.get(place) ?? { ...nothing, node, visit, begunAt: order };
  known.restedAt ??= order;
  visits.set(place, known);
}

/** A child run takes the place of its parent. */
function isRest({ kind }: ChangePart): boolean {
  return kind === 'wait' || kind === 'retry' || kind === 'start';
}

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
