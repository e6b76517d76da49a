/** Registers the tools with a server of the SDK, and passes calls on to them. */
import type {
  CallToolResult,
  ClientCapabilities,
  fromJsonSchema,
  InputRequiredResult,
} from '@modelcontextprotocol/server';
import { nearest } from '../../operations/contract/nearest.ts';
import { takeUp } from '../tools/resume-workflow.ts';
import type { McpServer, Sdk, ServerContext, ServerHouse } from './server-house.ts';
import { type Form, createLiveInterview, createRepeatedInterview, type Interview } from '../ask/ask-client.ts';
import { failureOf, type AnyTool, type ToolAnswer, type ToolCall, type ToolQuestions } from '../tools/tool.ts';
import { toolList } from '../tools/tool-list.ts';

/** A person has one day to fill in a form. */
const formTimeoutMs = 24 * 60 * 60_000;

type Era = 'legacy' | 'modern';
type ElicitParams = Parameters<Sdk['inputRequired']['elicit']>[0];

function canShowForms(sdk: Sdk, server: McpServer, { mcpReq }: ServerContext): boolean {
  const envelope = mcpReq.envelope as Readonly<Record<string, ClientCapabilities | undefined>> | undefined;
  const forms = (envelope?.[sdk.CLIENT_CAPABILITIES_META_KEY] ?? server.server.getClientCapabilities())?.elicitation;
  // Earlier versions of the protocol had only forms, so a client that names no kind supports forms.
  return forms !== undefined && (forms.form !== undefined || forms.url === undefined);
}

function interviewOf(server: McpServer, house: ServerHouse, era: Era, ctx: ServerContext): Interview | undefined {
  const { sdk } = house;
  const { mcpReq } = ctx;
  if (!house.canAskClient || !canShowForms(sdk, server, ctx)) return undefined;
  const paramsOf = (form: Form): ElicitParams => form as unknown as ElicitParams;
  if (era === 'legacy')
    return createLiveInterview((form) =>
      mcpReq.send(
        { method: 'elicitation/create', params: { mode: 'form', ...form } },
        { timeout: formTimeoutMs, signal: mcpReq.signal },
      ),
    );
  return createRepeatedInterview(
    { responses: mcpReq.inputResponses, state: mcpReq.requestState() },
    (forms, requestState) => {
      const inputRequests = Object.fromEntries(
        [...forms].map(([waitId, form]) => [waitId, sdk.inputRequired.elicit(paramsOf(form))]),
      );
      return sdk.inputRequired({ inputRequests, requestState });
    },
  );
}

function reporterOf({ mcpReq }: ServerContext): ToolCall['report'] {
  const progressToken = mcpReq._meta?.progressToken;
  if (progressToken === undefined) return undefined;
  return (progress, total, message) => {
    const params = { progressToken, progress, total, message };
    mcpReq.notify({ method: 'notifications/progress', params }).catch(() => undefined);
  };
}

function toResult(answer: ToolAnswer | ToolQuestions): CallToolResult | InputRequiredResult {
  if ('inputRequired' in answer) return answer.inputRequired as InputRequiredResult;
  const { content, isError = false } = answer;
  const result = {
    structuredContent: { ...content },
    content: [{ type: 'text' as const, text: JSON.stringify(content) }],
  };
  return isError ? { ...result, isError } : result;
}

async function callTool(tool: AnyTool, call: ToolCall, input: object): Promise<ToolAnswer | ToolQuestions> {
  try {
    const earlier = call.interview?.earlier;
    return await (earlier === undefined ? tool.run(call, input) : takeUp(call, earlier));
  } catch (error) {
    return failureOf(error);
  }
}

type InputSchema = ReturnType<typeof fromJsonSchema<object>>;

/** The schema with better messages for unknown arguments: it lists the known ones, which a model needs. */
function namingUnknown(known: readonly string[], schema: InputSchema): InputSchema {
  const standard = schema['~standard'];
  const messageOf = (name: string): string => {
    const guess = nearest(name, known);
    return `there is no argument ${JSON.stringify(name)}${guess === undefined ? '' : `, perhaps ${guess} is meant`}`;
  };
  return {
    '~standard': {
      ...standard,
      validate(value, options) {
        const unknown = Object.keys(value ?? {}).filter((name) => !known.includes(name));
        if (unknown.length === 0) return standard.validate(value, options);
        const there = known.length === 0 ? 'there are none' : `there are: ${known.join(', ')}`;
        return { issues: [{ message: `${unknown.map(messageOf).join('; ')} (${there})` }] };
      },
    },
  };
}

interface ToolSchemas {
  readonly inputSchema: InputSchema;
  readonly outputSchema: InputSchema;
}

/**
 * A schema that is compiled when something is first held against it. The SDK would compile it at once, which for all tools is half of what
 * `cairn mcp` takes until it is ready.
 */
export function compiledWhenUsed(
  sdk: Pick<Sdk, 'fromJsonSchema'>,
  schema: Parameters<Sdk['fromJsonSchema']>[0],
): InputSchema {
  let compiled: InputSchema | undefined;
  return {
    '~standard': {
      version: 1,
      vendor: 'cairn',
      jsonSchema: { input: () => schema, output: () => schema },
      validate: (value, options) =>
        (compiled ??= sdk.fromJsonSchema<object>(schema))['~standard'].validate(value, options),
    },
  };
}

/** Kept for the process: over HTTP there is a server for each request. */
const schemasOfTools = new WeakMap<AnyTool, ToolSchemas>();

function schemasOf(sdk: Sdk, tool: AnyTool): ToolSchemas {
  const known = schemasOfTools.get(tool);
  if (known !== undefined) return known;
  const { input, required, output } = tool;
  const schema = { type: 'object', properties: { ...input }, required: [...required], additionalProperties: false };
  const schemas: ToolSchemas = {
    inputSchema: namingUnknown(Object.keys(input), compiledWhenUsed(sdk, schema)),
    outputSchema: compiledWhenUsed(sdk, output),
  };
  schemasOfTools.set(tool, schemas);
  return schemas;
}

export function registerTools(server: McpServer, house: ServerHouse, era: Era): void {
  const { sdk, context, log, announceResources } = house;
  for (const tool of toolList) {
    const { name, title, description, hints } = tool;
    const { inputSchema, outputSchema } = schemasOf(sdk, tool);
    const annotations = {
      title,
      readOnlyHint: hints.isReadOnly,
      destructiveHint: hints.isDestructive,
      idempotentHint: hints.isIdempotent,
      openWorldHint: hints.isOpenWorld,
    };
    server.registerTool(name, { title, description, inputSchema, outputSchema, annotations }, async (args, ctx) => {
      const interview = interviewOf(server, house, era, ctx);
      const { signal } = ctx.mcpReq;
      const own = { ...context, reading: { signal } };
      const call: ToolCall = { context: own, signal, report: reporterOf(ctx), interview, log, announceResources };
      return toResult(await callTool(tool, call, args));
    });
  }
}
