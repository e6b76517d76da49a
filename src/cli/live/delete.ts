/**
 * How every command that deletes goes about it: it says what would go, asks, and deletes. Where nobody can be asked, `--yes` says that it
 * is meant (D22).
 */
import { CairnError } from '../../errors.ts';
import type { Field } from '../../operations/declare/operation.ts';
import type { Session } from '../session.ts';

export const yesField: Field = { type: 'flag', description: 'do not ask; needed where nobody can be asked' };

/** What the commands say of it under `--help`. */
export const asksFirst = 'It says what would go, and asks.';

export interface Deletion<Report> {
  /** Deletes. A dry run changes nothing and reports what would go. */
  readonly act: (dryRun: boolean) => Promise<Report>;
  readonly print: (report: Report, isDry: boolean) => Promise<void>;
  /** What the person agrees to: `Remove 2 runs`. Undefined if nothing would go. */
  readonly questionFor: (plan: Report) => string | undefined;
}

/** Call only if `screen.canAsk`. @returns false if the person said no or pressed Ctrl-C */
async function isConfirmed({ screen }: Session, message: string): Promise<boolean> {
  const { confirm, isCancel } = await import('@clack/prompts');
  const answer = await confirm({ message, initialValue: false });
  if (answer === true) return true;
  screen.note(isCancel(answer) ? 'Stopped: nothing was changed.' : 'Nothing was changed.');
  return false;
}

/** Shows what would go, and asks. @returns whether it is to be done. @throws USAGE_INVALID nobody can be asked */
async function isMeant<Report>(session: Session, { act, print, questionFor }: Deletion<Report>): Promise<boolean> {
  const plan = await act(true);
  if (!session.screen.canAsk || session.isJson)
    throw new CairnError('USAGE_INVALID', {
      reason: 'what is deleted is gone for good, and nobody can be asked here',
      hint: 'See what would go with --dry-run, and delete with --yes.',
    });
  await print(plan, true);
  const question = questionFor(plan);
  return question !== undefined && isConfirmed(session, `${question}? This cannot be undone.`);
}

/** Does all of it. @returns the exit code: that nothing was deleted after all is no fault */
export async function deleteAsAsked<Report>(
  session: Session,
  { dryRun, yes }: { readonly dryRun?: boolean | undefined; readonly yes?: boolean | undefined },
  deletion: Deletion<Report>,
): Promise<number> {
  const isDry = dryRun === true;
  if (!isDry && yes !== true && !(await isMeant(session, deletion))) return 0;
  const report = await deletion.act(isDry);
  if (session.isJson) session.printJson(report);
  else await deletion.print(report, isDry);
  return 0;
}
