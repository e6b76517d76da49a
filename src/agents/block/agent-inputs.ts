/** Reads the inputs of an `Agent` block, when the file is checked and when the block runs. */
import type { Inputs, JsonSchema } from '../../graph/contracts/node-type.ts';
import { literal, numberOption, type Option } from '../../nodes/blocks/fields.ts';
import { isPlainObject } from '../../state/values/plain.ts';
import { mcpTools, type McpConfig, type McpTools } from '../mcp/mcp-tools.ts';

export const maxLoops: Option<number> = numberOption(
  'max_loops',
  'Calls of the model, at most.',
  { default: 15, min: 1, max: 1_000 },
  literal,
);
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

export function schemaOf({ output_schema: given }: Inputs): JsonSchema | undefined {
  const schema: unknown = typeof given === 'string' ? JSON.parse(given) : given;
  if (schema === undefined || isPlainObject(schema)) return schema;
  throw new Error('output_schema is no JSON Schema');
}
