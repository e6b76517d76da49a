/** Finds an open wait by its id, a unique prefix of it, the name of its node or its own name. */
import type { OpenQuestion } from '../engine/api.ts';
import { CairnError } from '../errors.ts';
import { toJson } from './to-json.ts';

/** An open wait, as every door shows it. */
export type OpenWaitView = OpenQuestion;

/** An answer that a question offers, with the text it goes by. */
export interface Choice {
  readonly value: unknown;
  readonly label: string;
}

/** What a question offers; undefined: nothing. A choice without a label goes by its value. */
export function choicesOf({ choices }: OpenWaitView): readonly Choice[] | undefined {
  return choices?.map((choice) => {
    const hasValue = typeof choice === 'object' && choice !== null && 'value' in choice;
    const { value, label }: { readonly value: unknown; readonly label?: unknown } = hasValue
      ? choice
      : { value: choice };
    const text = typeof label === 'string' ? label : value;
    return { value, label: typeof text === 'string' ? text : JSON.stringify(toJson(value)) };
  });
}

/** Waits that a value from outside can close. */
export function isAnswerable(wait: { readonly kind: string }): boolean {
  return wait.kind === 'question' || wait.kind === 'doubt';
}

/** The name a person calls a wait by: its node, from the root of the run. */
export function nodeNameOf(wait: { readonly node: readonly string[] }): string {
  return wait.node.join('/');
}

/**
 * Finds the one wait that is meant among those open; without a reference, the only one there is. Undefined: none goes by
 * the reference, which may still name one that is closed.
 *
 * @throws WAIT_NOT_FOUND no reference was given and nothing is open; USAGE_INVALID several fit
 */
export function findOpenWait(
  waits: readonly OpenWaitView[],
  runId: string,
  reference: string | undefined,
): OpenWaitView | undefined {
  const answerable = waits.filter(isAnswerable);
  const tests: readonly ((wait: OpenWaitView, text: string) => boolean)[] = [
    (wait, text) => wait.waitId === text,
    (wait, text) => nodeNameOf(wait) === text || wait.node.at(-1) === text,
    (wait, text) => wait.name === text,
    (wait, text) => text !== '' && wait.waitId.startsWith(text),
  ];
  const found =
    reference === undefined
      ? answerable
      : (tests.map((fits) => answerable.filter((wait) => fits(wait, reference))).find((fit) => fit.length > 0) ?? []);
  if (found.length > 1)
    throw new CairnError('USAGE_INVALID', {
      reason: `run ${runId} has several open questions${reference === undefined ? '' : ` that fit ${reference}`}: ${found.map((wait) => `${nodeNameOf(wait)} (${wait.waitId})`).join(', ')}`,
      hint: 'Name one of them: by its node, or by its id.',
    });
  if (found.length === 0 && reference === undefined)
    throw new CairnError('WAIT_NOT_FOUND', { runId, waitId: 'that is open' });
  return found[0];
}
