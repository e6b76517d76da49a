/** Which edge is taken from a stage, as the rules say it (DOT4, DOT7, DOT13). It shares nothing with the product. */
import type { EdgePlan, StagePlan } from './pipeline-plan.ts';

/** What a stage knows of the run. */
export interface Context {
  outcome: string;
  label: string;
  flag: string;
  /** What the tasks so far reported, in order. */
  path: string;
  results: readonly BranchResult[];
  /** Why the last parallel stage failed; empty if it did not. */
  shortfall: string;
  /** How the last pipeline that a stage ran came to its end, and with which outcome. */
  childStatus: string;
  childOutcome: string;
}

export interface BranchResult {
  readonly id: string;
  readonly outcome: string;
  /** The path that it left, if it left one. */
  readonly path: string | undefined;
}

/** How a stage ended. */
export interface Ending {
  readonly status: string;
  readonly label?: string | undefined;
  /** The stages that it asks for, in turn. */
  readonly next?: readonly string[];
  readonly reason?: string;
  /** A person chose this edge. */
  readonly chosen?: EdgePlan;
  /** A person was asked for an edge, or for yes and no, and nobody answered. */
  readonly unanswered?: 'edge' | 'yes and no';
}

/** Label without its mark, in small letters. */
export function plainLabel(label: string): string {
  return label
    .replace(/^\s*\[\w+\]\s*/, '')
    .trim()
    .toLowerCase();
}

/** What conditions may ask for. */
export function factsOf(context: Context): Readonly<Record<string, string>> {
  return {
    outcome: context.outcome,
    preferred_label: context.label,
    'context.flag': context.flag,
    'context.stack.child.status': context.childStatus,
    'context.stack.child.outcome': context.childOutcome,
  };
}

export function conditionHolds(clauses: readonly string[], facts: Readonly<Record<string, string>>): boolean {
  return clauses.every((clause) => {
    const [, key = '', operator, value] = /^([\w.]+)(!?=)(.*)$/.exec(clause) ?? [];
    return (facts[key] === value) === (operator === '=');
  });
}

export function chooseWay(
  edges: readonly EdgePlan[],
  ending: Ending,
  context: Context,
  kindOf: (id: string) => StagePlan['kind'] | undefined,
): EdgePlan | undefined {
  const { chosen } = ending;
  // Edges that say the same and lead to one stage are one choice.
  if (chosen !== undefined)
    return best(
      edges.filter(({ label, to }) => to === chosen.to && isSame(label ?? to, chosen.label ?? chosen.to)),
      ending,
    );
  const facts = factsOf({ ...context, outcome: ending.status, label: ending.label ?? '' });
  const held = edges.filter((edge) => edge.clauses.length > 0 && conditionHolds(edge.clauses, facts));
  if (held.length > 0) return best(held, ending);
  if (ending.unanswered === 'edge') return undefined;
  const isAnswer = ({ label = '' }: EdgePlan): boolean => ['yes', 'no'].includes(plainLabel(label));
  const free = edges.filter(
    (edge) => edge.clauses.length === 0 && !(ending.unanswered !== undefined && isAnswer(edge)),
  );
  if (ending.status !== 'fail') return best(free, ending);
  const asked = preferred(free, ending);
  if (asked.length > 0) return best(asked, ending);
  const hasElse = edges.some(({ clauses }) => clauses.some((clause) => clause.startsWith('outcome')));
  return best(hasElse ? free : free.filter(({ to }) => kindOf(to) === 'diamond'), ending);
}

/** The edges that the stage asked for: by label, or else by the stage that it suggested. */
function preferred(edges: readonly EdgePlan[], { label = '', next = [] }: Ending): readonly EdgePlan[] {
  const labelled = edges.filter((edge) => label !== '' && edge.label !== undefined && isSame(edge.label, label));
  const first = next.find((id) => edges.some(({ to }) => to === id));
  return labelled.length > 0 ? labelled : edges.filter(({ to }) => to === first);
}

function isSame(a: string, b: string): boolean {
  return plainLabel(a) === plainLabel(b);
}

function best(edges: readonly EdgePlan[], ending: Ending): EdgePlan | undefined {
  const asked = preferred(edges, ending);
  const among = asked.length > 0 ? asked : edges;
  const [first] = among.toSorted(
    (a, b) => (b.weight ?? 0) - (a.weight ?? 0) || Buffer.compare(Buffer.from(a.to), Buffer.from(b.to)),
  );
  return first;
}
