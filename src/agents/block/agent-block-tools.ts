/** What the model of an `Agent` block may call, before anything runs: for the plan, and for `allow`. */
import type {
  InputField,
  Inputs,
  JsonSchema,
  CommandText,
  NodeType,
  TypedNodeContext,
  CallableWorkflow,
  PlannedTool,
} from '../../graph/contracts/node-type.ts';
import {
  choiceOption,
  flagOption,
  literal,
  numberOption,
  textField,
  type Option,
} from '../../nodes/blocks/block-options.ts';
import { isPlainObject } from '../../state/values/plain-object.ts';
import type { HistoryLimit, SummaryOptions } from '../history/conversation.ts';
import { mcpTools, type McpConfig, type McpTools } from '../mcp/mcp-tools.ts';
import type { ModelSettings } from '../model/model-step.ts';
import type { ModeName } from '../modes/text-modes.ts';
import { NodeFailure, type EffectClass, type NodeContext } from '../../graph/contracts/node-contract.ts';
import { type AgentTool, type FunctionTool, strengthOfTool } from '../tools/tool-box.ts';
import { fileTools } from '../files/file-tools.ts';
import { localFiles } from '../files/local-files.ts';
import { shellTool } from '../shell/shell-tool.ts';
import { onChanges } from '../check-options.ts';
import type { OnChange } from '../model/call-record.ts';
import { schemaDefect } from '../../schema/json-schema.ts';
import { isAct, strengthOfGraph, strengthOfWork, type Strength } from '../../graph/effect-strength.ts';
import type { Graph } from '../../graph/graph.ts';

// Reads the inputs of `Agent` and `Judge` blocks, when the file is checked and when the block runs.

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
export const onChange: Option<OnChange> = choiceOption(
  'on_change',
  'What becomes of a visit that began with another agent: continue, which goes on from its record, or refuse.',
  onChanges,
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
  const input = inputs[name];
  const schema: unknown = typeof input === 'string' ? JSON.parse(input) : input;
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
const nonEmptyText = { type: 'string', minLength: 1 } as const;

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
            properties: { model: nonEmptyText, instructions: nonEmptyText, messages_kept: count },
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

// Makes a block a tool for a model. The block's inputs are the tool's arguments, and it has the permissions of the process, no more.

/** JSON Schema of the arguments. A shell command is a text here. */
function argumentsOf({ inputs }: NodeType): JsonSchema {
  const fields = Object.entries(inputs);
  return {
    type: 'object',
    additionalProperties: false,
    required: fields.filter(([, { isRequired }]) => isRequired === true).map(([name]) => name),
    properties: Object.fromEntries(
      fields.map(([name, { schema, description, kind }]) => [
        name,
        { ...(kind === 'command' ? { type: 'string' } : schema), description },
      ]),
    ),
  };
}

/** The effect class that a block has when its inputs are not known. */
function effectOfBlock({ effect }: NodeType): EffectClass {
  return typeof effect === 'function' ? effect({}) : effect;
}

/** Makes the tool. Each call is one step, of the effect class that the block has when its inputs are not known. */
export function blockTool(type: NodeType, ctx: TypedNodeContext): FunctionTool {
  const { idempotent = false } = type;
  return {
    description: type.description,
    input: argumentsOf(type),
    effect: effectOfBlock(type),
    idempotent: typeof idempotent === 'function' ? idempotent({}) : idempotent,
    run: (args, { idempotencyKey, attempt, signal }) => {
      const inputs = withCommands(type, args as Inputs);
      refuse(type, inputs, ctx);
      const own = { inputs: inputs, fileOutputs: [], idempotencyKey, attempt, signal };
      return type.run(contextWith(ctx, own));
    },
  };
}

function withCommands({ inputs }: NodeType, args: Inputs): Inputs {
  const entries = Object.entries(args).map(([name, value]): [string, unknown] =>
    inputs[name]?.kind === 'command' && typeof value === 'string'
      ? [name, { script: value, env: {} } satisfies CommandText]
      : [name, value],
  );
  return Object.fromEntries(entries);
}

/**
 * Refuses bad or forbidden inputs before anything is done; the call's result says why. @throws NodeFailure INPUT_INVALID, PERMISSION_DENIED
 */
function refuse(type: NodeType, inputs: Inputs, { isGranted }: TypedNodeContext): void {
  const [fault] = type.check?.(inputs) ?? [];
  if (fault !== undefined)
    throw new NodeFailure(`${fault.input}: ${fault.message}`, { code: 'INPUT_INVALID', applied: 'no' });
  const withheld = type.needs?.(inputs).find((need) => isGranted?.(need) !== true);
  if (withheld !== undefined)
    throw new NodeFailure(`this is not granted here: ${JSON.stringify(withheld)}`, {
      code: 'PERMISSION_DENIED',
      applied: 'no',
    });
}

/** The block's context with the key and the signal of one call. */
function contextWith(ctx: TypedNodeContext, own: Partial<TypedNodeContext>): TypedNodeContext {
  return new Proxy(ctx, {
    get(target, key) {
      if (Object.hasOwn(own, key)) return own[key as keyof NodeContext];
      const value: unknown = Reflect.get(target, key, target);
      return typeof value === 'function' ? (value as () => unknown).bind(target) : value;
    },
  });
}

/** What models accept as a name of a workflow. */
export const workflowToolName = (workflow: string): string => workflow.replaceAll(/[^A-Za-z0-9_-]/gu, '_');

export function plannedTools(
  blocks: ReadonlyMap<string, NodeType>,
  inputs: Inputs,
  workflow: (name: string) => CallableWorkflow | undefined,
  pending: readonly string[] = [],
): readonly PlannedTool[] {
  const allow = listOf(inputs['allow']);
  const planned = (name: string, { act, unasked, allowed }: Strength, effect = act): PlannedTool => {
    const asks = isAct(act) && !(isAct(unasked) && allow.includes(name));
    return { name, effect, asks, ...(!asks && isAct(allowed) && { isAllowedInside: true }) };
  };
  const strengthOf = (name: string): Strength => {
    const known = workflow(name);
    return known === undefined ? strengthOfWork({ effect: 'external' }) : strengthOfGraph(known.graph as Graph);
  };
  return [
    ...listOf(inputs['workflows']).map((name) => planned(workflowToolName(name), strengthOf(name))),
    ...listOf(inputs['blocks']).flatMap((name) => {
      const type = blocks.get(name);
      return type === undefined
        ? []
        : [planned(name, strengthOfWork({ effect: effectOfBlock(type) }), effectOfBlock(type))];
    }),
    ...ownTools(inputs, inputs['files'] !== undefined || pending.includes('files')).map(([name, tool]) =>
      planned(name, strengthOfTool(tool)),
    ),
    ...(inputs['servers'] === undefined ? [] : serverTools(inputs)),
    ...(pending.includes('servers') ? [{ name: '*__*', effect: 'external', asks: false } as const] : []),
    ...(inputs['ask_person'] === false ? [] : [{ name: 'ask_person', effect: 'human', asks: true } as const]),
  ];
}

/** The tools for files and programs. */
function ownTools(inputs: Inputs, hasFiles: boolean): readonly (readonly [name: string, tool: AgentTool])[] {
  const store = localFiles({ root: '.', isReadOnly: isReadOnly.read(inputs) });
  const files = hasFiles ? fileTools(store) : {};
  return Object.entries({ ...files, ...(usesShell.read(inputs) && { shell: shellTool() }) });
}

function serverTools(inputs: Inputs): readonly PlannedTool[] {
  return serversOf(inputs).map(({ config: { server, allow } }) => ({
    name: `${server}__*`,
    effect: 'external',
    asks: allow === undefined || (allow !== true && allow.length === 0),
  }));
}

// Whether an input of a block is a JSON Schema against which answers can be checked.

/** @throws Error it is none, in words */
export function checkSchema(inputs: Inputs, name: string): void {
  const schema = schemaOf(inputs, name);
  const defect = schema === undefined ? undefined : schemaDefect(schema);
  if (defect !== undefined) throw new Error(defect);
}
