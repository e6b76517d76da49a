/**
 * Time in a fork that cannot act (X7): nobody answers it and no clock runs for it. When nothing else can go on, what comes next comes: what
 * ended its waits in the record, in recorded order, then the answers that came with the fork, then the nearest timer.
 */
import { encodeValue } from '../../state/values/encode.ts';
import type { StepRecord, WaitRecord } from '../../state/tree.ts';
import type { RecordedEnd, RunCore } from '../live-run/run-core.ts';
import { checkAnswer } from '../validate/check-answer.ts';
import { waitsNamed } from '../validate/find-wait.ts';
import { recordIn } from '../visit-records/step-record.ts';
import { closeWait, timeoutOf, type Closing } from './open-wait.ts';
import { sentByParent } from './wait.ts';

interface OpenWait {
  readonly waitId: string;
  readonly wait: WaitRecord;
  readonly recorded: RecordedEnd | undefined;
  /** What the answers of the fork itself say to it. */
  readonly ownAnswer: { readonly answer: unknown } | undefined;
}

/** The time of such a fork. */
export class VirtualTime {
  readonly #core: RunCore;
  #isLooking = false;
  /** Whether nothing was found to come when it was looked for last. */
  #isOver = false;

  constructor(core: RunCore) {
    this.#core = core;
  }

  /** Call when nothing else of the run can go on. @returns whether something comes, or is still looked for; it requests a turn then */
  passes(): boolean {
    const core = this.#core;
    if (this.#isOver) return (this.#isOver = false);
    if (this.#isLooking) return true;
    this.#isLooking = true;
    passTime(core).then(
      (hasCome) => {
        this.#isLooking = false;
        this.#isOver = !hasCome;
        core.loop.requestTurn();
      },
      (error: unknown) => core.loop.fail(error),
    );
    return true;
  }
}

/** Closes the wait that ends next. @returns false if none does */
async function passTime(core: RunCore): Promise<boolean> {
  const open = openWaits(core);
  const next =
    open.filter(({ recorded }) => recorded !== undefined).toSorted(byPlace)[0] ??
    open.find(({ ownAnswer }) => ownAnswer !== undefined);
  if (next !== undefined) {
    const closing = await closingOf(core, next);
    if (!Object.hasOwn(core.root.waits, next.waitId)) return true;
    close(core, next, closing);
    return true;
  }
  const timed = open.filter(({ wait }) => wait.dueAt !== undefined).toSorted((a, b) => dueOf(a) - dueOf(b))[0];
  if (timed === undefined) return false;
  setNow(core, dueOf(timed));
  closeWait(core, timed.waitId, endOfTime(timed.wait));
  return true;
}

const dueOf = ({ wait }: OpenWait): number => wait.dueAt ?? Infinity;

function byPlace({ recorded: a }: OpenWait, { recorded: b }: OpenWait): number {
  return (a?.seq ?? 0) - (b?.seq ?? 0) || (a?.index ?? 0) - (b?.index ?? 0);
}

function openWaits(core: RunCore): readonly OpenWait[] {
  const { waits, noEffects } = core.root;
  const answers = Object.entries(noEffects?.answers ?? {});
  const found: OpenWait[] = [];
  for (const [waitId, wait] of Object.entries(waits)) {
    const activation = core.agenda.waiters.get(waitId);
    if (activation === undefined || wait.step === undefined || !isTimed(wait)) continue;
    const question = recordIn(core.root, wait.node)?.steps?.[wait.step]?.asked;
    const recorded = core.replay?.endOfWait(activation, wait, question, sentByParent);
    const ownAnswer =
      wait.kind === 'question'
        ? answers.find(([name]) => waitsNamed([{ ...wait, waitId }], name).length > 0)
        : undefined;
    found.push({ waitId, wait, recorded, ownAnswer: ownAnswer && { answer: ownAnswer[1] } });
  }
  return found;
}

/** Whether something from outside ends the wait. A question about a budget is answered by nobody here. */
function isTimed({ kind, budget }: WaitRecord): boolean {
  return budget === undefined && (kind === 'question' || kind === 'timer' || kind === 'signal');
}

async function closingOf(core: RunCore, { wait, recorded, ownAnswer }: OpenWait): Promise<Closing> {
  if (ownAnswer !== undefined) return { output: checkAnswer(wait, ownAnswer.answer), by: 'fork' };
  const ended = await recorded?.read();
  const { status, output, error, by = 'replay', at } = ended ?? ({} as Partial<StepRecord>);
  if (at !== undefined) setNow(core, at);
  return status === 'failed' ? { error, by } : { output, by };
}

function close(core: RunCore, { waitId, recorded }: OpenWait, closing: Closing): void {
  recorded?.note();
  closeWait(core, waitId, closing);
}

function endOfTime(wait: WaitRecord): Closing {
  if (wait.kind === 'timer') return { by: 'timer' };
  return 'defaultAnswer' in wait
    ? { output: wait.defaultAnswer, by: 'timeout' }
    : { error: timeoutOf(wait), by: 'timeout' };
}

/** The run's own time never goes back. */
function setNow({ draft, root }: RunCore, at: number): void {
  if (at <= (root.noEffects?.now ?? 0)) return;
  draft.set(['noEffects', 'now'], at, encodeValue(at));
}

/** The time that functions of the run see. */
export function timeOf({ root: { noEffects }, env }: RunCore): number {
  return noEffects?.now ?? env.clock.now();
}
