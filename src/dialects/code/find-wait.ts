/** Finds the open wait that an answer is for. */
import type { OpenQuestion } from '../../engine/api.ts';
import { CairnError } from '../../errors.ts';

/**
 * The id of the open wait named by its id, by the id or path of the node that opened it, or by its name. A name that is not
 * open goes through as it is, for the engine knows whether such a wait was closed already.
 * @throws USAGE_INVALID several open waits go by the name
 */
export function findWait(runId: string, waits: readonly OpenQuestion[], name: string): string {
  if (waits.some(({ waitId }) => waitId === name)) return name;
  const ofNode = waits.filter(({ node }) => node.at(-1) === name || node.join('/') === name);
  const named = ofNode.length > 0 ? ofNode : waits.filter((wait) => wait.name === name);
  if (named.length > 1) {
    const ids = named.map(({ waitId }) => waitId);
    throw new CairnError('USAGE_INVALID', {
      reason: `run ${runId} has ${named.length} open waits that go by ${name}`,
      hint: `Answer one by its id: ${ids.join(', ')}`,
    });
  }
  return named[0]?.waitId ?? name;
}
