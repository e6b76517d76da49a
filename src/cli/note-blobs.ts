/** Says how many large values went with what was removed. */
import type { Session } from './session.ts';

export function noteBlobs({ screen }: Pick<Session, 'screen'>, count: number): void {
  if (count > 0)
    screen.note(`${count} large ${count === 1 ? 'value' : 'values'} that nothing refers to any more went too.`);
}
