/** The blocks `Embed` and `Retrieve`: texts as vectors, and those of some passages that are nearest to a query. */
import type { InputField, Inputs, NodeType } from '../../graph/contracts/node-type.ts';
import { NodeFailure } from '../../graph/contracts/node-contract.ts';
import {
  fieldsOf,
  literal,
  numberOption,
  optionFaults,
  outputField,
  readText,
  refuseInput,
  requireText,
  textField,
} from '../../nodes/blocks/block-options.ts';
import { embedTexts, rerankDocuments } from '../model/vector-steps.ts';
import { modelField, modelNeed } from './model-field.ts';

const textsField: InputField = {
  schema: { anyOf: [{ type: 'string' }, { type: 'array', items: { type: 'string' } }] },
  description: 'A text, or a list of texts.',
  isRequired: true,
};
const vector = { type: 'array', items: { type: 'number' } };
const dimensions = numberOption(
  'dimensions',
  'How many numbers a vector has. Default: as the model makes them.',
  { default: 1, min: 1, max: 100_000 },
  { default: undefined },
);
const batch = numberOption(
  'batch',
  'Texts that one step sends at most.',
  { default: 100, min: 1, max: 10_000 },
  literal,
);
const dimensionsOf = (inputs: Inputs): { readonly dimensions?: number } =>
  inputs['dimensions'] === undefined ? {} : { dimensions: dimensions.read(inputs) };
const textsOf = (inputs: Inputs, name: string): readonly string[] => [inputs[name] ?? []].flat() as string[];

/** Of both: their calls are steps, which are bought once. */
const bought = { effect: 'pure', isComposed: true } as const;

export const embedBlock: NodeType = {
  name: 'Embed',
  description: 'Turns texts into vectors.',
  inputs: { model: modelField, texts: textsField, ...fieldsOf([dimensions, batch]) },
  outputs: {
    vectors: { schema: { type: 'array', items: vector }, description: 'One vector for each text, in their order.' },
    passages: {
      schema: { type: 'array', items: { type: 'object' } },
      description: 'The texts with their vectors, `{ text, vector }`, as `Retrieve` takes them.',
    },
    count: outputField('integer', 'How many there are.'),
  },
  ...bought,
  needs: (inputs, pending) => [modelNeed(inputs, pending)],
  check: (inputs) => optionFaults([dimensions, batch], inputs),
  run: async (ctx) => {
    const { inputs } = ctx;
    const texts = textsOf(inputs, 'texts');
    const call = { model: requireText(inputs, 'model'), texts, ...dimensionsOf(inputs) };
    const vectors = await embedTexts(ctx, call, { batch: batch.read(inputs) });
    return { vectors, passages: texts.map((text, index) => ({ text, vector: vectors[index] })), count: texts.length };
  },
};

interface Passage {
  readonly text: string;
  readonly vector?: readonly number[];
}

const top = numberOption('top', 'How many passages, at most.', { default: 5, min: 1, max: 10_000 });
const candidates = numberOption('candidates', 'Of how many the reranking model chooses.', {
  default: 50,
  min: 1,
  max: 10_000,
});

export const retrieveBlock: NodeType = {
  name: 'Retrieve',
  description:
    'Finds the passages that are nearest to a query, by vectors, and by a reranking model where one is named.',
  inputs: {
    query: textField('What is looked for.', { isRequired: true }),
    passages: {
      schema: {
        type: 'array',
        items: {
          anyOf: [
            { type: 'string' },
            { type: 'object', required: ['text'], properties: { text: { type: 'string' }, vector } },
          ],
        },
      },
      description: 'Among what: texts, or `{ text, vector }` as `Embed` gives them. Those without a vector get one.',
      isRequired: true,
    },
    model: modelField,
    rerank_model: textField('A model that ranks what was found. Default: none.'),
    ...fieldsOf([top, candidates, dimensions]),
  },
  outputs: {
    passages: { schema: { type: 'array', items: { type: 'string' } }, description: 'Their texts, the nearest first.' },
    matches: {
      schema: { type: 'array', items: { type: 'object' } },
      description: 'The same with `index`, the place among the passages, and `score`, where higher is nearer.',
    },
    content: outputField('string', 'The texts, with empty lines between them, as for a prompt.'),
  },
  ...bought,
  needs: (inputs, pending = []) => [
    modelNeed(inputs, pending),
    ...(inputs['rerank_model'] === undefined && !pending.includes('rerank_model')
      ? []
      : [modelNeed(inputs, pending, 'rerank_model')]),
  ],
  check: (inputs) => optionFaults([top, candidates, dimensions], inputs),
  run: async (ctx) => {
    const { inputs } = ctx;
    const model = requireText(inputs, 'model');
    const query = requireText(inputs, 'query');
    const rerankModel = readText(inputs, 'rerank_model');
    const passages = (inputs['passages'] as readonly (string | Passage)[]).map((one): Passage =>
      typeof one === 'string' ? { text: one } : one,
    );
    const unknown = passages.filter(({ vector }) => vector === undefined).map(({ text }) => text);
    const settings = { model, ...dimensionsOf(inputs) };
    const [wanted = []] = await embedTexts(ctx, { ...settings, texts: [query] });
    const made = (await embedTexts(ctx, { ...settings, texts: unknown })).values();
    const scored = passages.map(({ text, vector = made.next().value ?? [] }, index) => ({
      text,
      index,
      score: nearness(wanted, vector, index),
    }));
    const count = top.read(inputs);
    const near = scored
      .toSorted((a, b) => b.score - a.score)
      .slice(0, rerankModel === undefined ? count : candidates.read(inputs));
    const matches = rerankModel === undefined ? near : await ranked({ ctx, model: rerankModel, query, count }, near);
    const texts = matches.map(({ text }) => text);
    return { passages: texts, matches, content: texts.join('\n\n') };
  },
};

interface Match {
  readonly text: string;
  readonly index: number;
  readonly score: number;
}

async function ranked(
  {
    ctx,
    model,
    query,
    count,
  }: {
    readonly ctx: Parameters<NodeType['run']>[0];
    readonly model: string;
    readonly query: string;
    readonly count: number;
  },
  near: readonly Match[],
): Promise<readonly Match[]> {
  const ranking = await rerankDocuments(ctx, { model, query, documents: near.map(({ text }) => text), top: count });
  return ranking.map(({ index, score }) => ({ ...(near[index] as Match), score }));
}

/** The cosine of the angle between two vectors; 0 where one of them has no length. @throws NodeFailure INPUT_INVALID */
function nearness(one: readonly number[], other: readonly number[], index: number): number {
  if (one.length !== other.length)
    throw refuseInput(
      'passages',
      `has a vector of ${other.length} numbers at ${index}, and the query has ${one.length}: the model is another`,
    );
  const dot = one.reduce((sum, value, at) => sum + value * (other[at] ?? 0), 0);
  const lengths = Math.hypot(...one) * Math.hypot(...other);
  if (!Number.isFinite(dot))
    throw new NodeFailure(`the vector of passage ${index} is none`, { code: 'INPUT_INVALID', applied: 'no' });
  return lengths === 0 ? 0 : dot / lengths;
}
