/** The processes of a clerk that is deployed again and again: see deployed-clerk.ts. */

/** What a deploy changes of the graph around the clerk: a node renamed, removed or added, and the words of a question. */
const ofGraph = ['renamed', 'unpriced', 'told', 'question'] as const;
/** What it may change of a clerk that is written in TypeScript. */
const ofCode = [
  'description',
  'instructions',
  'added',
  'removed',
  'stricter',
  'default',
  'transform',
  'composed',
  'mode',
  'dated',
] as const;
/** What it may change of the clerk, by the form in which that is written. */
const ofAgent = {
  native: ofCode,
  sdk: ofCode,
  yaml: ['description', 'instructions', 'added', 'removed', 'stricter', 'default', 'mode'],
  dot: ['instructions', 'added', 'removed'],
} as const;

export type Form = keyof typeof ofAgent;
/** The code that is deployed: `base`, or how it differs from that. */
export type Deploy = 'base' | (typeof ofAgent)[Form][number] | (typeof ofGraph)[number];

export const forms = Object.keys(ofAgent) as readonly Form[];

/** The ways in which a deploy may differ from the base. */
export function changesOf(form: Form): readonly Deploy[] {
  return [...ofAgent[form], ...ofGraph];
}

/** One process of a run. */
export interface Life {
  readonly form: Form;
  readonly deploy: Deploy;
  readonly folder: string;
  readonly runId: string;
  /** It dies when it has come to so many places, and so many milliseconds later. Absent: it lives on. */
  readonly dies?: { readonly at: number; readonly afterMs: number };
}
