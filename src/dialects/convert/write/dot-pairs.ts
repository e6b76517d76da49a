/** Attributes of a pipeline as they are written: of the graph, of edges, and what several of these share. */
import { sayingOf } from '../../dot/model/labels.ts';
import type { Notes } from '../outline/notes.ts';
import { chosenBy, type Budget, type End, type Outline, type OutlineInput, type Step } from '../outline/outline.ts';

/** Names and values in order; without a value, the attribute is left out. */
export type Pairs = readonly (readonly [name: string, value: string | undefined])[];

export function graphPairs({ description, inputs, budget }: Outline, notes: Notes): Pairs {
  const goal = inputs.find(({ name }) => name === 'goal');
  if (goal !== undefined && goal.default === undefined)
    notes.lost(
      'INPUT',
      'input goal',
      'the goal need not be given: a pipeline has one, if an empty one',
      'give it with --input',
    );
  const params = inputs.filter(({ name }) => name !== 'goal').map((input) => paramText(input, notes));
  return [
    ['label', description],
    ['goal', goal?.default || undefined],
    ['params', params.join(', ') || undefined],
    ...budgetPairs(budget),
  ];
}

/** `params` is one text: a default with a comma, or with space around it, would be read as something else. */
function paramText({ name, default: initial }: OutlineInput, notes: Notes): string {
  if (initial === undefined) return name;
  if (!initial.includes(',') && initial.trim() === initial) return `${name}=${initial}`;
  notes.lost(
    'INPUT',
    `input ${name}`,
    `the default of ${name} cannot be written in params; it must be given`,
    'give it with --input',
  );
  return name;
}

export function budgetPairs({ budget, onBudget }: Budget): Pairs {
  if (budget === undefined) return [];
  const amounts = Object.entries(budget).map(([unit, amount]) =>
    unit === 'seconds' ? `time=${amount}` : `${unit}=${amount}`,
  );
  return [
    ['budget', amounts.join(', ')],
    ['on_budget', onBudget === 'fail' ? 'fail' : undefined],
  ];
}

/** An end's edge. That of a choice has its label; that of a failure which leads on, a condition. */
export function edgePairs({ work, ends }: Step, { on }: End): Pairs {
  const choice = chosenBy(on);
  if (choice !== undefined) return [['label', labelOfChoice(choice)]];
  if (work.kind === 'confirm') return [['label', on === 'yes' ? 'Yes' : 'No']];
  if (on === 'fail') return [['condition', 'outcome=fail']];
  // Beside edges with labels, the one without is for an answer that chooses none.
  return [['weight', ends.some((end) => chosenBy(end.on) !== undefined) ? '1' : undefined]];
}

/** A label that says this choice. One that looks as if it began with a key gets a key of its own. */
export function labelOfChoice(choice: string): string {
  return sayingOf(choice) === choice ? choice : `[${Array.from(choice.trim())[0] ?? '?'}] ${choice}`;
}
