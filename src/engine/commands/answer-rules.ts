/**
 * Decides whether an answer is for whoever gives it (W8), and which seats it takes. A seat is taken in the write of the answer itself, so of
 * two answers under way at once, that one person may not both give, one is refused by the store.
 */
import { CairnError } from '../../errors.ts';
import type { RunKey, RunRow } from '../../ports/store.ts';
import { metaOf } from '../../history/stored/stored-meta.ts';
import type { WaitRecord } from '../../state/tree.ts';
import type { Acting, OpenQuestion } from '../api.ts';
import type { EngineEnvironment } from '../live-run/run-core.ts';
import { messageBody } from '../run-loop/message-intake.ts';
import { waitsNamed, type KnownWait } from '../validate/find-wait.ts';
import { isPerson, refuseOthers, reservedFor, seatOf } from '../validate/whose-answer.ts';
import { readAnswered, type AnsweredWait } from './answered.ts';

/** The seats that an answer takes, and of each the question that it is a seat at. */
export type Seats = ReadonlyMap<string, KnownWait>;

/**
 * @param open - all open questions of the run
 * @throws ANSWER_RESERVED the answer is somebody else's
 */
export async function seatsOf(
  env: EngineEnvironment,
  run: RunRow,
  { wait, open }: { readonly wait: OpenQuestion; readonly open: readonly OpenQuestion[] },
  who: Acting,
): Promise<Seats> {
  refuseOthers(run.runId, wait, who);
  if (who.link !== undefined) await refuseUsed(env, run, who.link);
  const by = isPerson(who) ? who.by : undefined;
  const seats = new Map<string, KnownWait>([[seatOf(wait.waitId, by), wait]]);
  for (const other of await openPartners(env, run, { wait, open }, who))
    for (const person of [by, undefined]) seats.set(seatOf(other.waitId, person), other);
  return seats;
}

/**
 * Refuses a link by which an answer came before. While its question is open, the answer's own row says so: only one is taken. One that was
 * opened again is found in the history. @throws WAIT_CLOSED
 */
async function refuseUsed(env: EngineEnvironment, run: RunRow, link: string): Promise<void> {
  const used = (await readAnswered(env, run, run.head)).find(({ part }) => part.link === link);
  if (used === undefined) return;
  const { waitId, part } = used;
  throw new CairnError('WAIT_CLOSED', { runId: run.runId, waitId, by: part.by ?? 'person', answer: 'this link' });
}

/** The open questions that another person than who acts has to answer. @throws ANSWER_RESERVED */
async function openPartners(
  env: EngineEnvironment,
  run: RunRow,
  { wait, open }: { readonly wait: OpenQuestion; readonly open: readonly OpenQuestion[] },
  who: Acting,
): Promise<readonly KnownWait[]> {
  const { fourEyes } = wait;
  if (fourEyes === undefined) return [];
  const refuse = (reason: string): never => {
    throw reservedFor(run.runId, wait, reason);
  };
  const { by = 'person' } = who;
  if (!isPerson(who)) refuse(`it needs the eyes of a person by name, and this is ${by}`);
  if (metaOf(run).startedBy?.includes(by) === true)
    refuse(`${by} started the run, and it needs the eyes of somebody else`);
  const answered = await readAnswered(env, run, run.head);
  const found = inFrame(wait, open, answered, fourEyes);
  const last = found.answered.at(-1);
  if (found.open.length === 0 && last === undefined)
    refuse(`it needs other eyes than those of ${fourEyes}, which nobody was asked on the way here`);
  const said = [
    ...(last === undefined ? [] : [{ by: last.part.by, as: last.part.as, isOver: found.open.length === 0 }]),
    ...(await posted(env, run, found.open)).map((one) => ({ ...one, isOver: true })),
  ];
  for (const one of said) {
    if (one.by === by) refuse(`${by} answered ${fourEyes}, and it needs the eyes of somebody else`);
    if (one.isOver && !isPerson(one))
      refuse(`${fourEyes} was answered by ${one.by ?? 'nobody'}, who is no person by name`);
  }
  return found.open;
}

/** Who gave the answers that are posted to these questions and not taken yet. */
async function posted(
  { store }: EngineEnvironment,
  { tenant, runId }: RunKey,
  waits: readonly KnownWait[],
): Promise<readonly Pick<Acting, 'by' | 'as'>[]> {
  if (waits.length === 0) return [];
  const ids = new Set(waits.map(({ waitId }) => waitId));
  const rows = await store.readMessages({ tenant, runId });
  return rows
    .filter(({ kind, name }) => kind === 'answer' && ids.has(name))
    .map(({ body }) => {
      const { by = 'person', as } = messageBody(body);
      return { by, ...(as !== undefined && { as }) };
    });
}

interface Found {
  readonly open: readonly KnownWait[];
  /** In the order of their answers. */
  readonly answered: readonly AnsweredWait[];
}

/** The questions that a name means for another one: those of the nearest run around it, child runs first, that has any. */
function inFrame(
  { waitId, node }: OpenQuestion,
  open: readonly OpenQuestion[],
  answered: readonly AnsweredWait[],
  name: string,
): Found {
  for (let depth = node.length - 1; depth >= 0; depth -= 2) {
    const isNear = (other: KnownWait): boolean =>
      other.waitId !== waitId && node.slice(0, depth).every((part, index) => other.node[index] === part);
    const found = { open: waitsNamed(open.filter(isNear), name), answered: waitsNamed(answered.filter(isNear), name) };
    if (found.open.length + found.answered.length > 0) return found;
  }
  return { open: [], answered: [] };
}

/**
 * Refuses two answers of one call that one person may not both give: none of the call is posted then.
 * @throws ANSWER_RESERVED
 */
export function refuseTwoSeats(
  runId: string,
  answers: readonly { readonly waitId: string; readonly seats: Seats }[],
  who: Acting,
): void {
  const holders = new Map<string, string>();
  for (const { waitId, seats } of answers)
    for (const [seat, at] of seats) {
      const holder = holders.get(seat) ?? waitId;
      if (holder !== waitId && [holder, waitId].includes(at.waitId)) throw secondSeat(runId, at, who);
      holders.set(seat, holder);
    }
}

/** The error for a person, or nobody by name, who has a say already about a question that needs other eyes than these. */
export function secondSeat(runId: string, at: Pick<WaitRecord, 'node'>, { by = 'person' }: Acting): Error {
  return reservedFor(runId, at, `${by} answers what needs other eyes than those that answer this`);
}
