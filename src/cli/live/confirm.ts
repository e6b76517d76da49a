/** Asks for confirmation. */
import type { Session } from '../session.ts';

/** Call only if `screen.canAsk`. @returns false if the person said no or pressed Ctrl-C */
export async function isConfirmed({ screen }: Session, message: string): Promise<boolean> {
  const { confirm, isCancel } = await import('@clack/prompts');
  const answer = await confirm({ message, initialValue: false });
  if (answer === true) return true;
  screen.note(isCancel(answer) ? 'Stopped: nothing was changed.' : 'Nothing was changed.');
  return false;
}
