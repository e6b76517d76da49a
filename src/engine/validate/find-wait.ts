/** Finds the wait that a name means. Everything that takes answers uses these rules (W3, H2). */
import { CairnError } from '../../errors.ts';
import { isAnswerable } from '../../history/stored/wait-row.ts';
import type { WaitRecord } from '../../state/tree.ts';

/** What waits can be found by. */
export interface KnownWait extends Pick<WaitRecord, 'kind' | 'node' | 'name'> {
  readonly waitId: string;
  /** Whether its answer is posted and waits to be taken, as far as is known. */
  readonly isAnswered?: true;
}

/** Shorter beginnings of ids are ignored: all ids begin with `w_`, and a node may be called `w`. */
const shortestPrefix = 5;

/** The name of a wait for people: its node's path from the root of the run. */
export function nodeNameOf({ node }: Pick<WaitRecord, 'node'>): string {
  return node.join('/');
}

const ways: readonly ((wait: KnownWait, name: string) => boolean)[] = [
  (wait, name) => wait.waitId === name,
  (wait, name) => nodeNameOf(wait) === name || wait.node.at(-1) === name,
  (wait, name) => [nodeNameOf(wait), wait.node.at(-1)].some((node) => `${node}/${wait.name}` === name),
  (wait, name) => wait.name === name,
  (wait, name) => name.length >= shortestPrefix && wait.waitId.startsWith(name),
];

/**
 * The answerable waits that a name fits. The name is tried in this order, and the first way that finds any is used: as an id; as a node
 * (its id, or its path `a/b`); as both (`node/name`); as the wait's own name; as the beginning of an id.
 */
export function waitsNamed<Wait extends KnownWait>(waits: readonly Wait[], name: string): readonly Wait[] {
  const answerable = waits.filter(isAnswerable);
  for (const fits of ways) {
    const found = answerable.filter((wait) => fits(wait, name));
    if (found.length > 0) return found;
  }
  return [];
}

/**
 * The one wait that is meant. Without a name, the only one that can be answered. Of several, the only one that is not answered. Undefined
 * if none fits the name, which may still be the id of a closed wait.
 * @throws WAIT_NOT_FOUND there is no name and nothing can be answered; USAGE_INVALID several waits fit
 */
export function findWait<Wait extends KnownWait>(
  waits: readonly Wait[],
  runId: string,
  name: string | undefined,
): Wait | undefined {
  const fitting = name === undefined ? waits.filter(isAnswerable) : waitsNamed(waits, name);
  const unanswered = fitting.filter(({ isAnswered }) => isAnswered !== true);
  const found = unanswered.length === 0 ? fitting : unanswered;
  if (found.length > 1) refuseSeveral(found, runId, name);
  if (found.length === 0 && name === undefined) throw new CairnError('WAIT_NOT_FOUND', { runId, open: 'open ' });
  return found[0];
}

/** Always throws: an answer that may be meant for several waits is recorded for none. @throws USAGE_INVALID */
export function refuseSeveral(found: readonly KnownWait[], runId: string, name: string | undefined): never {
  const listed = found.map((wait) => `${nodeNameOf(wait)} (${wait.waitId})`).join(', ');
  throw new CairnError('USAGE_INVALID', {
    reason: `run ${runId} has several questions${name === undefined ? '' : ` that fit ${name}`}: ${listed}`,
    hint: 'Name one of them: by its node, by its name, or by its id.',
  });
}
