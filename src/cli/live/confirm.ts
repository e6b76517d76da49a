/** Asks whether something is meant. */
import type { Session } from '../session.ts';

/** Only where `screen.canAsk`. @returns false: no, or the question was left with Ctrl-C */
export async function isConfirmed({ screen }: Session, message: string): Promise<boolean> {
  const { confirm, isCancel } = await import('@clack/prompts');
  const answer = await confirm({ message, initialValue: false });
  if (answer === true) return true;
  screen.note(isCancel(answer) ? 'Stopped: nothing was changed.' : 'Nothing was changed.');
  return false;
}
