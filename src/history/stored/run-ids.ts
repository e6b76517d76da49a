/** Which ids new runs may have, and which are kept for runs that the system names itself (H1). */
import { CairnError } from '../../errors.ts';
import { isDueBy } from '../../ports/schedule.ts';
import type { RunRow } from '../../ports/store.ts';
import { metaOf, type RunOrigin } from './stored-meta.ts';

/** Id of the graph of deliveries of webhooks. Listings leave its runs out. */
export const deliveryGraphId = 'cairn:webhook';

/** Ids that begin so are derived by the system. Whoever names a run may not take one, so that no run stands where another belongs. */
const reserved = 'cairn:';
/** The form that ids of chats had before they were reserved: a chat that has one goes on, and nobody else takes one. */
const earlierChat = /^chat-[\w-]{32}(?:-\d+)?$/;
const longestId = 200;

/**
 * What a new id may not hold: `@` and `~`, which begin the place of a checkpoint, and all that is not seen or turns the direction of
 * writing, so that two ids that look alike are alike.
 */
const unfit = /[@~]|[\p{Cc}\p{Cf}\p{Cs}\p{Co}\p{Z}\p{Default_Ignorable_Code_Point}]/u;

/** The id of a run that the system starts: `cairn:schedule:nightly`. */
export function derivedRunId(origin: RunOrigin, ...parts: readonly string[]): string {
  return [`${reserved}${origin}`, ...parts].join(':');
}

/** When a run is due that no worker is to take up, in epoch ms: the last time there is. Whoever resumes it does not ask. */
export const neverDue = 8_640_000_000_000_000;

/** Whether a run waits for a time that is to come. What is due never waits for none: whoever asks for it takes it up. */
export function isPutOff(run: Pick<RunRow, 'schedule' | 'createdAt'>, at: number): boolean {
  return run.schedule.dueAt !== neverDue && !isDueBy(run, at);
}

/** Id of the graph of every experiment. */
export const experimentGraphId = 'cairn:experiment';

/** Id of the graph of every dataset. */
export const datasetGraphId = 'cairn:dataset';

/** Whether an experiment made the run: itself, or one of its forks. Lists leave it out. */
export function isOfExperiment(runId: string): boolean {
  return runId.startsWith(derivedRunId('experiment', ''));
}

const housekeeping: readonly RunOrigin[] = ['webhook', 'bulk', 'schedule'];

/** Whether the system made the run for work of its own: a delivery, a change of many runs, a schedule. */
export function isHousekeeping(runId: string): boolean {
  return housekeeping.some((origin) => runId.startsWith(derivedRunId(origin, '')));
}

/** Whether the run is a fork or an item that an experiment made, and not the experiment itself. */
export function isMadeByExperiment(runId: string): boolean {
  return isOfExperiment(runId) && runId.includes(':', derivedRunId('experiment', '').length);
}

/**
 * Checks the id of a run that is about to be made. Runs of earlier versions keep theirs. @param origin - what derived the id, if the
 * system did
 * @throws ID_INVALID
 */
export function checkNewRunId(runId: string, origin?: RunOrigin): void {
  const fault = faultOf(runId, origin);
  if (fault === undefined) return;
  throw new CairnError('ID_INVALID', {
    kind: 'run id',
    id: runId.length > 60 ? `${runId.slice(0, 60)}…` : runId,
    reason: fault,
    hint: `Use 1 to ${longestId} visible characters without @, ~ and spaces, which do not begin with ${reserved} or a quotation mark.`,
  });
}

function faultOf(runId: string, origin: RunOrigin | undefined): string | undefined {
  if (runId.length > longestId) return `it is longer than ${longestId} characters`;
  if (unfit.test(runId)) return 'it holds @, ~, a space, or a character that is not seen';
  if (runId.startsWith('"')) return 'a name in quotation marks is read as the id within them';
  const own = origin === undefined ? undefined : derivedRunId(origin, '');
  const isReserved = runId.startsWith(reserved) || earlierChat.test(runId);
  return (own === undefined ? isReserved : !runId.startsWith(own))
    ? 'ids of this form are given by the system'
    : undefined;
}

/**
 * Whether a run was begun by this part of the system. A run with a derived id that was not (one of an export that is not trusted) does not
 * stand for what should be there.
 */
export function isOfOrigin(run: Pick<RunRow, 'key' | 'meta'>, origin: RunOrigin): boolean {
  return metaOf(run).origin === origin;
}
