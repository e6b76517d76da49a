/** Whose answers a question takes (W8): what it says itself, and what counts as a person who answered. */
import { CairnError } from '../../errors.ts';
import { hashParts } from '../../state/values/canonical-text.ts';
import type { WaitRecord } from '../../state/tree.ts';
import type { Acting } from '../api.ts';
import { nodeNameOf } from './find-wait.ts';

/** Names under which the record keeps answers that no person has given, or none who said who it is. */
const nobodies: ReadonlySet<string> = new Set([
  'person',
  'model',
  'policy',
  'timeout',
  'timer',
  'signal',
  'owner',
  'parent',
  'replay',
]);

type Named = { readonly [Name in 'by' | 'door' | 'as' | 'link']?: Acting[Name] | undefined };

/** Who acts, as a change keeps it. */
export function actorIn({ by, door, as, link }: Named): Pick<Acting, 'by' | 'door' | 'as' | 'link'> {
  return {
    ...(by !== undefined && { by }),
    ...(door !== undefined && { door }),
    ...(as !== undefined && { as }),
    ...(link !== undefined && { link }),
  };
}

/** Whether who acts is a person by name: one who can be told from another. */
export function isPerson({ by, as }: Named): boolean {
  return by !== undefined && by !== '' && as !== 'program' && !nobodies.has(by);
}

/** Names under which the run itself answers: no person and no token did. */
const ownNames: ReadonlySet<string> = new Set(['policy', 'timeout', 'timer', 'signal', 'owner', 'parent', 'replay']);

/** Whether an answer on record was somebody's, and not the run's own. */
export function isAct(by: string | undefined): boolean {
  return by === undefined || !ownNames.has(by);
}

/** Whether not everybody's answer to a question counts. */
export function isBound({ for: assignees, fourEyes }: Pick<WaitRecord, 'for' | 'fourEyes'>): boolean {
  return assignees !== undefined || fourEyes !== undefined;
}

const rolePrefix = 'role:';

/** Whether a question is for whoever acts. The owner of a store answers for all whose questions are in it. */
export function isFor({ for: assignees }: Pick<WaitRecord, 'for'>, { by, roles = [], as }: Acting): boolean {
  if (assignees === undefined || as === 'owner') return true;
  return assignees.some((one) =>
    one.startsWith(rolePrefix) ? roles.includes(one.slice(rolePrefix.length)) : one === by && isPerson({ by, as }),
  );
}

/** Whose a question is, in words: `the role finance, or ann`. */
export function assigneesOf({ for: assignees = [] }: Pick<WaitRecord, 'for'>): string {
  return assignees
    .map((one) => (one.startsWith(rolePrefix) ? `the role ${one.slice(rolePrefix.length)}` : one))
    .join(', or ');
}

/** Who acts, in words. */
function actorOf({ by = 'person', roles = [] }: Acting): string {
  const known =
    roles.length === 0 ? 'without a role' : `with the role${roles.length === 1 ? '' : 's'} ${roles.join(', ')}`;
  return `${by === 'person' ? 'somebody without a name' : by} ${known}`;
}

type Bound = Pick<WaitRecord, 'node' | 'for' | 'fourEyes'>;

/** The error for an answer that is not for whoever acts to give. */
export function reservedFor(runId: string, wait: Pick<WaitRecord, 'node'>, reason: string): CairnError {
  return new CairnError('ANSWER_RESERVED', {
    runId,
    what: `the answer to ${nodeNameOf(wait)} is somebody else's`,
    reason,
  });
}

/** Refuses who is none of those whom a question is for. @throws ANSWER_RESERVED */
export function refuseOthers(runId: string, wait: Bound, who: Acting): void {
  if (isFor(wait, who)) return;
  throw reservedFor(runId, wait, `it is for ${assigneesOf(wait)}, and this is ${actorOf(who)}`);
}

/**
 * The seat of a person at a question: whoever has it is the one message by which that person has a say about this question. Without a name:
 * the seat of all who are no person by name.
 */
export function seatOf(waitId: string, by = ''): string {
  return `${waitId}:${hashParts([by]).slice(0, 16)}`;
}
