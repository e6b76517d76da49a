/** A tool with which a model asks the person it works for, or informs them. */
import { NodeFailure, type NodeContext, type Question } from '../../graph/contracts/node-contract.ts';
import type { JsonSchema } from '../../graph/contracts/node-type.ts';
import { refuseUnknownKeys } from '../../graph/known-keys.ts';
import { tool, type ComposedTool } from '../tools/tool-box.ts';

/** One of several questions that are asked together. */
interface PersonQuestion {
  readonly id?: string;
  readonly question: string;
  readonly options: readonly string[];
  readonly several?: boolean;
  readonly own_words?: boolean;
}

interface PersonCall {
  readonly action?: 'ask' | 'inform';
  readonly message: string;
  readonly questions?: readonly PersonQuestion[];
}

const input: JsonSchema = {
  type: 'object',
  required: ['message'],
  additionalProperties: false,
  properties: {
    action: { enum: ['ask', 'inform'], description: '`ask` (default) waits for an answer; `inform` does not.' },
    message: { type: 'string', minLength: 1, description: 'What the person reads: all that is needed to decide.' },
    questions: {
      type: 'array',
      minItems: 1,
      maxItems: 4,
      description: 'Of an `ask`, where there are options to choose from.',
      items: {
        type: 'object',
        required: ['question', 'options'],
        additionalProperties: false,
        properties: {
          id: { type: 'string', pattern: '^[A-Za-z0-9_-]{1,40}$', description: 'Default: its number, from 1.' },
          question: { type: 'string', minLength: 1 },
          options: {
            type: 'array',
            minItems: 2,
            maxItems: 4,
            uniqueItems: true,
            items: { type: 'string', minLength: 1 },
          },
          several: { type: 'boolean', description: 'Several options may be chosen.' },
          own_words: { type: 'boolean', description: 'Any other text is an answer, too.' },
        },
      },
    },
  },
};

/**
 * Makes a tool for asking a person: one open question, or up to four questions with options. The question is durable: it is asked once,
 * stays the same after a restart, and the model's call is not repeated. The live event `person-asked` (with `isResumed`) is sent along. A
 * message without a question becomes a recorded event `person-informed`. @param audience - whom it asks: the `user` whose request the run is
 * (default), or the `staff` who run the workflow. @throws CONFIG_INVALID
 */
export function askPerson(options: { readonly audience?: Question['audience'] } = {}): ComposedTool {
  refuseUnknownKeys('askPerson', options, ['audience']);
  const { audience = 'user' } = options;
  return tool({
    description:
      'Asks the person you work for and gives the answer, or informs them. Ask only what you cannot find out yourself.',
    input,
    composed: true,
    audience,
    run: (args, ctx) =>
      (args as PersonCall).action === 'inform'
        ? inform(args as PersonCall, ctx)
        : ask(args as PersonCall, ctx, audience),
  });
}

function inform({ message }: PersonCall, ctx: NodeContext): string {
  ctx.emit({ type: 'person-informed', message }, { recorded: true, name: 'inform' });
  return 'The person was told.';
}

async function ask(
  { message, questions }: PersonCall,
  ctx: NodeContext,
  audience: NonNullable<Question['audience']>,
): Promise<unknown> {
  ctx.emit({ type: 'person-asked', message, isResumed: ctx.isResumed });
  if (questions === undefined) return ctx.ask({ prompt: message, audience });
  const named = questions.map((one, index) => ({ ...one, id: one.id ?? String(index + 1) }));
  const twice = named.find(({ id }, index) => named.findIndex((other) => other.id === id) !== index);
  if (twice !== undefined) throw new NodeFailure(`two questions have the id ${twice.id}`, { applied: 'no' });
  const answer = (await ctx.ask({
    prompt: [message, ...named.map(describe)].join('\n'),
    schema: {
      type: 'object',
      required: named.map(({ id }) => id),
      additionalProperties: false,
      properties: Object.fromEntries(named.map((one) => [one.id, schemaOf(one)])),
    },
    metadata: { questions: named },
    audience,
  })) as Readonly<Record<string, string | readonly string[]>>;
  return { answers: named.map((one) => answerTo(one, answer[one.id] ?? [])) };
}

function describe({ id, question, options, several, own_words: ownWords }: PersonQuestion): string {
  const how = [...(several === true ? ['several'] : []), ...(ownWords === true ? ['or your own words'] : [])].join(
    ', ',
  );
  return `${id}. ${question} [${options.join(' | ')}]${how === '' ? '' : ` (${how})`}`;
}

function schemaOf({ options, several, own_words: ownWords }: PersonQuestion): JsonSchema {
  const one: JsonSchema = ownWords === true ? { type: 'string', minLength: 1 } : { enum: options };
  return several === true ? { type: 'array', minItems: 1, uniqueItems: true, items: one } : one;
}

/** The answer to one question, with the person's own words separate from chosen options. */
function answerTo({ id, options }: PersonQuestion, answer: string | readonly string[]): object {
  const texts = typeof answer === 'string' ? [answer] : answer;
  const own = texts.filter((text) => !options.includes(text));
  return {
    id,
    selected: texts.filter((text) => options.includes(text)),
    ...(own.length > 0 && { own_words: own.join(', ') }),
  };
}
