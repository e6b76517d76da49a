/** Reads the inputs of `Agent` and `Judge` blocks, when the file is checked and when the block runs. */
import type { InputField, Inputs, JsonSchema } from '../../graph/contracts/node-type.ts';
import { choiceOption, flagOption, literal, numberOption, textField, type Option } from '../../nodes/blocks/fields.ts';
import { isPlainObject } from '../../state/values/plain.ts';
import type { HistoryLimit, SummaryOptions } from '../history/history-limit.ts';
import { mcpTools, type McpConfig, type McpTools } from '../mcp/mcp-tools.ts';
import type { ModelSettings } from '../model/model-step.ts';
import type { ModeName } from '../modes/mode.ts';

export const maxLoops: Option<number> = numberOption(
  'max_loops',
  'Calls of the model, at most.',
  { default: 15, min: 1, max: 1_000 },
  literal,
);
export const mode: Option<ModeName> = choiceOption(
  'mode',
  'How model and tools understand each other: native, or for models without tool calls of their own json, xml or react.',
  ['native', 'json', 'xml', 'react'],
  literal,
);
export const usesShell: Option<boolean> = flagOption(
  'shell',
  'Whether it may run programs, in the folder of `files`. It asks before each, unless `allow` names `shell`.',
  false,
  literal,
);
export const isReadOnly: Option<boolean> = flagOption(
  'files_read_only',
  'Whether it may only read `files`.',
  false,
  literal,
);
export const showsImages: Option<boolean> = flagOption(
  'show_images',
  'Whether the model looks at images that it reads.',
  false,
  literal,
);
const ofModel = { default: undefined };
const temperature = numberOption(
  'temperature',
  'Default: that of the model.',
  { default: 1, min: 0, max: 2, isWhole: false },
  ofModel,
);
const maxTokens = numberOption(
  'max_tokens',
  'Tokens of an answer. Default: that of the model.',
  { default: 1, min: 1, max: 1_000_000 },
  ofModel,
);
/** What is said of each call. */
export const callOptions: readonly Option<unknown>[] = [temperature, maxTokens];

export const modelField: InputField = textField(
  'A model as `provider:name`, or by the name that the configuration gives it.',
  { default: 'default' },
);

export const schemaField = (description: string): InputField => ({
  schema: { type: ['object', 'string'] },
  description,
});

export const listOf = (value: unknown): readonly string[] =>
  Array.isArray(value) ? value.filter((name) => typeof name === 'string') : [];

/** The MCP servers. As in all files, words in names are joined by `_` and timeouts are in seconds. @throws CONFIG_INVALID */
export function serversOf({ servers }: Inputs): readonly McpTools[] {
  return ((servers ?? []) as readonly Inputs[]).map(({ trusts_annotations: trusts, timeout, ...config }) =>
    mcpTools({
      ...config,
      ...(trusts !== undefined && { trustsAnnotations: trusts }),
      ...(timeout !== undefined && { timeoutMs: Math.round(Number(timeout) * 1_000) }),
    } as McpConfig),
  );
}

export function schemaOf(inputs: Inputs, name: string): JsonSchema | undefined {
  const given = inputs[name];
  const schema: unknown = typeof given === 'string' ? JSON.parse(given) : given;
  if (schema === undefined || isPlainObject(schema)) return schema;
  throw new Error(`${name} is no JSON Schema`);
}

export function settingsOf(inputs: Inputs): Omit<ModelSettings, 'model'> {
  return {
    ...(inputs['temperature'] !== undefined && { temperature: temperature.read(inputs) }),
    ...(inputs['max_tokens'] !== undefined && { tokensMax: maxTokens.read(inputs) }),
  };
}

const count = { type: 'integer', minimum: 1 } as const;
const given = { type: 'string', minLength: 1 } as const;

export const historyField: InputField = {
  schema: {
    type: 'object',
    additionalProperties: false,
    properties: {
      messages_max: count,
      tokens_max: count,
      summary: {
        anyOf: [
          { type: 'boolean' },
          {
            type: 'object',
            additionalProperties: false,
            properties: { model: given, instructions: given, messages_kept: count },
          },
        ],
      },
    },
  },
  description:
    'What the model is sent of a long conversation: `messages_max`, `tokens_max`, and `summary` (true, or `model`, `instructions`, `messages_kept`) to have the rest told in short.',
};

export function historyOf({ history = {} }: Inputs): HistoryLimit {
  const { messages_max: messagesMax, tokens_max: tokensMax, summary } = history as Readonly<Record<string, never>>;
  return {
    ...(messagesMax !== undefined && { messagesMax }),
    ...(tokensMax !== undefined && { tokensMax }),
    ...(summary !== undefined && { summary: summaryOf(summary) }),
  };
}

function summaryOf(summary: unknown): boolean | SummaryOptions {
  if (!isPlainObject(summary)) return summary === true;
  const { messages_kept: messagesKept, ...rest } = summary;
  return { ...rest, ...(messagesKept !== undefined && { messagesKept: messagesKept as number }) };
}
