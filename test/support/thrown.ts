/** For tests of what is refused. */
import { CairnError } from '../../src/errors.ts';

/** The Cairn error that a call throws. */
export function thrown(act: () => unknown): CairnError {
  try {
    act();
  } catch (error) {
    if (CairnError.is(error)) return error;
    throw error;
  }
  throw new Error('nothing was thrown');
}
