/** A stage that asks a person which edge to take. An edge can be chosen by its label, its key, or the stage it leads to. */
import type { NodeContext } from '../../../graph/contracts/node-contract.ts';
import { acceleratorOf, normalLabel, sayingOf } from '../model/labels.ts';
import { holds } from '../model/condition.ts';
import { asText } from './context-keys.ts';
import type { Way } from './choose-edge.ts';
import type { StageContext, StageHandler } from './stage-parts.ts';
import type { StageOutcome } from './stage-outcome.ts';

interface Choice {
  /** The label as it stands in the file, with its mark. */
  readonly label: string;
  readonly key: string;
  readonly to: string;
}

export const humanHandler: StageHandler = { run: askPerson };

async function askPerson(stage: StageContext): Promise<StageOutcome> {
  const { ctx, parts, attributes } = stage;
  const choices = choicesOf(stage);
  if (choices.length === 0) return { status: 'fail', failureReason: 'there is nothing to choose: no edge is open' };
  const late = choices.find(
    ({ label, to }) =>
      [to, normalLabel(label)].includes(normalLabel(attributes.text('human.default_choice'))) ||
      to === attributes.text('human.default_choice'),
  );
  const prompt = attributes.text('label') || 'Select an option:';
  for (let attempt = 1; ; attempt += 1) {
    const chosen = await ask(ctx, prompt, choices, { late, timeoutMs: parts.timeoutMs });
    if (chosen !== undefined) return chosenOutcome(chosen);
    const failureReason = `nobody answered within ${(parts.timeoutMs ?? 0) / 1_000} s`;
    if (attempt < parts.retry.attempts) continue;
    if (attributes.flag('allow_partial')) return { status: 'partial_success', notes: failureReason };
    return { status: 'fail', failureReason };
  }
}

function choicesOf({ parts, value }: StageContext): readonly Choice[] {
  const facts = {
    outcome: asText(value('outcome')),
    preferredLabel: asText(value('preferred_label')),
    context: (key: string) => asText(value(key)),
  };
  const choices = new Map<string, Choice>();
  const open = parts.ways.edges.filter(({ clauses }: Way) => holds(clauses, facts));
  for (const { caption, to } of open) {
    const label = caption === '' ? to : caption;
    if (!choices.has(normalLabel(label))) choices.set(normalLabel(label), { label, key: acceleratorOf(label), to });
  }
  return [...choices.values()];
}

interface Asked {
  readonly late: Choice | undefined;
  readonly timeoutMs: number | undefined;
}

/** Asks for an answer. Undefined means that nobody answered in time. */
async function ask(
  ctx: NodeContext,
  prompt: string,
  choices: readonly Choice[],
  { late, timeoutMs }: Asked,
): Promise<Choice | undefined> {
  const forms = formsOf(choices);
  try {
    const answer = await ctx.ask({
      prompt,
      choices: choices.map(({ label }) => ({ value: sayingOf(label), label })),
      matching: 'open',
      schema: { enum: [...forms.keys()] },
      ...(timeoutMs !== undefined && { deadlineAt: ctx.now() + timeoutMs }),
      ...(late !== undefined && timeoutMs !== undefined && { defaultAnswer: sayingOf(late.label) }),
    });
    const chosen = forms.get(answer);
    if (chosen === undefined)
      throw new Error(`the answer was ${JSON.stringify(answer)}, which is no choice of the pipeline as it is now`);
    return chosen;
  } catch (error) {
    if ((error as { readonly code?: unknown }).code === 'NODE_TIMED_OUT' && !ctx.signal.aborted) return undefined;
    throw error;
  }
}

/** Every text that selects a choice: its wording, its label, its key or its target. A text that fits two choices selects the first. */
function formsOf(choices: readonly Choice[]): ReadonlyMap<string, Choice> {
  const forms = new Map<string, Choice>();
  const of: readonly ((choice: Choice) => readonly string[])[] = [
    ({ label }) => [sayingOf(label), label],
    ({ to }) => [to],
    ({ label }) => [normalLabel(label)],
    ({ key }) => [key, key.toLowerCase()],
  ];
  for (const form of of)
    for (const choice of choices) for (const text of form(choice)) if (!forms.has(text)) forms.set(text, choice);
  return forms;
}

function chosenOutcome({ label, key, to }: Choice): StageOutcome {
  return {
    status: 'success',
    preferredLabel: label,
    suggestedNextIds: [to],
    contextUpdates: { 'human.gate.selected': key, 'human.gate.label': sayingOf(label), 'human.gate.target': to },
  };
}
