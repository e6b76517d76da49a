/** What stands at the edges of a graph that is drawn, as its description tells of them: only what says something. */
import { captionOf, exitChoice, readChoice, type StoredChoice } from '../run/stage/choose-edge.ts';

interface Written {
  readonly key: string;
  readonly from: string;
  readonly to: string;
  readonly label?: string;
  /** Edges that share a choice with an earlier one of their node name that edge. */
  readonly choice?: { readonly text: string } | { readonly sharedWith: string };
}

interface Read {
  readonly text: string;
  /** Undefined if it is no choice of a stage. */
  readonly stored: StoredChoice | undefined;
}

/** The labels that authors wrote, in the order of the edges. Of a pipeline, whose edges have names of their own, also conditions and jumps. */
export function writtenLabels(edges: readonly Readonly<Record<string, unknown>>[]): readonly (string | undefined)[] {
  const choices = new Map<string, Read | undefined>();
  return (edges as unknown as readonly Written[]).map(({ key, from, to, label, choice }) => {
    // An edge to the question before a node has the name of the node.
    if (choice === undefined) return label === to || `${label}?` === to ? undefined : label;
    const read =
      'sharedWith' in choice
        ? choices.get(`${from}\n${choice.sharedWith}`)
        : { text: choice.text, stored: readChoice(choice.text) };
    choices.set(`${from}\n${key}`, read);
    if (read === undefined || (read.stored === undefined && read.text !== exitChoice)) return undefined;
    return captionOf(read.stored, label ?? to) || undefined;
  });
}
