/** A stage that asks a person: to choose an edge by its label, its key or its target, to write any text, or to say yes or no. */
import type { NodeContext, Question } from '../../../../graph/contracts/node-contract.ts';
import { humanForms } from '../../model/attributes.ts';
import { acceleratorOf, normalLabel, sayingOf } from '../../model/edge-label.ts';
import { holds } from '../../model/edge-condition.ts';
import { asText, expand } from '../context/context-reader.ts';
import { whoseOf, type Whose } from '../stage/approval.ts';
import type { Way } from '../stage/choose-edge.ts';
import type { StageContext, StageHandler } from '../stage/attempts.ts';
import { inShort, type StageOutcome, type StageOutput } from '../stage/stage-outcome.ts';

/** What decides which choices a stage offers. */
type Offering = Pick<StageContext, 'parts' | 'attributes' | 'value'>;

interface Choice {
  /** The label as it stands in the file, with its mark. */
  readonly label: string;
  readonly key: string;
  readonly to: string;
  /** Whether the file gives the label. If not, the label is the name of the target. */
  readonly isLabelled: boolean;
}

export const humanHandler: StageHandler = { run: askPerson, outcomeFault };

/** The forms of a question. The first is the default. */
type Form = (typeof humanForms)[number];

async function askPerson(stage: StageContext): Promise<StageOutcome> {
  const { ctx, parts, attributes } = stage;
  const form = (attributes.text('human.type') || humanForms[0]) as Form;
  const question = questionsByForm[form](stage);
  if (question === undefined) return { status: 'fail', failureReason: 'there is nothing to choose: no edge is open' };
  let { prompt } = question;
  let attempt = 1;
  for (;;) {
    const answer = await ask(ctx, { ...question, ...whoseOf(stage), prompt }, parts.timeoutMs);
    const outcome = answer === undefined ? undefined : question.outcomeOf(answer);
    if (outcome !== undefined) return outcome;
    if (answer !== undefined) {
      // The pipeline was edited since it was answered. The question is about what it offers now; the answer is on record.
      prompt = `${question.prompt}\nThe answer ${inShort(answer)} is no choice of the pipeline as it is now.`;
      continue;
    }
    const failureReason = `nobody answered within ${(parts.timeoutMs ?? 0) / 1_000} s`;
    attempt += 1;
    if (attempt <= parts.retry.attempts) continue;
    if (attributes.flag('allow_partial')) return { status: 'partial_success', notes: failureReason };
    return { status: 'fail', failureReason };
  }
}

/** An outcome that is set in a fork must be one that an answer gives: a choice that is offered, or that nobody answered. */
function outcomeFault(stage: Offering, { outcome, preferred_label: label }: StageOutput): string | undefined {
  const form = (stage.attributes.text('human.type') || humanForms[0]) as Form;
  if (form === 'freeform') return undefined;
  const isUnanswered = outcome === 'fail' || (outcome === 'partial_success' && stage.attributes.flag('allow_partial'));
  if (label === undefined && isUnanswered) return undefined;
  const labels = form === 'multiple_choice' ? choicesOf(stage).map((choice) => choice.label) : ['Yes', 'No'];
  return labels.some((one) => normalLabel(one) === normalLabel(label ?? ''))
    ? undefined
    : `its preferred_label is ${inShort(label)}, which is none of ${labels.join(', ')}`;
}

/** A question of a stage, and the outcome that follows from an answer. */
interface StageQuestion extends Pick<Question, 'prompt' | 'choices' | 'schema' | 'metadata'>, Whose {
  /** The answer that is taken when nobody answers in time. Undefined means that there is none. */
  readonly late: string | undefined;
  /** Undefined for an answer that is none of the choices: it was recorded before the pipeline was edited. */
  readonly outcomeOf: (answer: string) => StageOutcome | undefined;
}

/** Builds the question of each form. The result is undefined if there is nothing to ask. */
const questionsByForm: Readonly<Record<Form, (stage: StageContext) => StageQuestion | undefined>> = {
  multiple_choice: (stage) => {
    const choices = choicesOf(stage);
    if (choices.length === 0) return undefined;
    const named = stage.attributes.text('human.default_choice');
    const late = choices.find(({ label, to }) => to === named || [to, normalLabel(label)].includes(normalLabel(named)));
    const forms = formsOf(choices);
    return {
      prompt: promptOf(stage, 'Select an option:'),
      choices: choices.map(({ label }) => ({ value: sayingOf(label), label })),
      schema: { enum: [...forms.keys()] },
      late: late && sayingOf(late.label),
      outcomeOf: (answer) => {
        const chosen = forms.get(answer);
        return chosen && chosenOutcome(chosen);
      },
    };
  },
  freeform: (stage) => {
    const choices = choicesOf(stage).filter(({ isLabelled }) => isLabelled);
    const forms = formsOf(choices);
    return {
      prompt: promptOf(stage, 'What do you say?'),
      ...(choices.length > 0 && { choices: choices.map(({ label }) => ({ value: sayingOf(label), label })) }),
      schema: { type: 'string', minLength: 1 },
      metadata: { form: 'freeform' },
      late: stage.attributes.text('human.default_choice') || undefined,
      outcomeOf: (answer) => freeOutcome(stage, answer, forms.get(answer)),
    };
  },
  yes_no: (stage) => yesNo(stage, 'yes_no'),
  confirmation: (stage) => yesNo(stage, 'confirmation'),
};

function promptOf({ attributes, ctx, parts }: StageContext, otherwise: string): string {
  return expand(attributes.text('label'), ctx.state, parts.params) || otherwise;
}

/** A text that names one of the choices is that choice. Any other text takes the edge without a label, if there is one. */
function freeOutcome({ parts }: StageContext, answer: string, choice: Choice | undefined): StageOutcome {
  const text = { 'human.gate.text': answer };
  if (choice !== undefined) {
    const chosen = chosenOutcome(choice);
    return { ...chosen, contextUpdates: { ...chosen.contextUpdates, ...text } };
  }
  const suggestedNextIds = parts.ways.edges.filter(({ caption }) => caption === '').map(({ to }) => to);
  return {
    status: 'success',
    suggestedNextIds,
    contextUpdates: { ...text, 'human.gate.label': '', 'human.gate.selected': '' },
  };
}

const words: Readonly<Record<string, 'Yes' | 'No'>> = Object.fromEntries(
  (
    [
      ['Yes', ['Yes', 'yes', 'YES', 'Y', 'y', 'true']],
      ['No', ['No', 'no', 'NO', 'N', 'n', 'false']],
    ] as const
  ).flatMap(([word, forms]) => forms.map((form) => [form, word])),
);

/** Yes and no choose the edge of that label. No to a confirmation is a failure. */
function yesNo(stage: StageContext, form: 'yes_no' | 'confirmation'): StageQuestion {
  return {
    prompt: promptOf(stage, form === 'yes_no' ? 'Yes or no?' : 'Go on?'),
    choices: ['Yes', 'No'],
    schema: { enum: Object.keys(words) },
    metadata: { form },
    late: words[stage.attributes.text('human.default_choice')],
    outcomeOf: (answer) => {
      const word = words[answer];
      if (word === undefined) return undefined;
      const contextUpdates = { 'human.gate.selected': word === 'Yes' ? 'Y' : 'N', 'human.gate.label': word };
      if (form === 'confirmation' && word === 'No')
        return { status: 'fail', failureReason: 'it was not confirmed', preferredLabel: word, contextUpdates };
      return { status: 'success', preferredLabel: word, contextUpdates };
    },
  };
}

function choicesOf({ parts, value }: Offering): readonly Choice[] {
  const facts = {
    outcome: asText(value('outcome')),
    preferredLabel: asText(value('preferred_label')),
    context: (key: string) => asText(value(key)),
  };
  const choices = new Map<string, Choice>();
  const open = parts.ways.edges.filter(({ clauses }: Way) => holds(clauses, facts));
  for (const { caption, to } of open) {
    const label = caption === '' ? to : caption;
    if (!choices.has(normalLabel(label)))
      choices.set(normalLabel(label), { label, key: acceleratorOf(label), to, isLabelled: caption !== '' });
  }
  return [...choices.values()];
}

/** Asks, and waits for the answer. The result is undefined if nobody answered in time. */
async function ask(
  ctx: NodeContext,
  question: StageQuestion,
  timeoutMs: number | undefined,
): Promise<string | undefined> {
  const { late, prompt, choices, schema, metadata, outcomeOf: _, ...whose } = question;
  try {
    return (await ctx.ask({
      prompt,
      ...(choices !== undefined && { choices, matching: 'open' }),
      ...(schema !== undefined && { schema }),
      ...(metadata !== undefined && { metadata }),
      ...whose,
      ...(timeoutMs !== undefined && { timeoutMs }),
      ...(late !== undefined && timeoutMs !== undefined && { defaultAnswer: late }),
    })) as string;
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
