/** Describes a tool of the SDK in a question to a person. The tool's schema may have any form that the SDK accepts. */
import type { Tool } from 'ai';
import type { AskedTool } from '../agents/tools/approval.ts';
import type { JsonSchema } from '../graph/contracts/node-type.ts';
import { isStandardSchema, jsonSchemaOf, type AnySchema } from '../schema/standard-schema.ts';

type Validated =
  { readonly success: true; readonly value: unknown } | { readonly success: false; readonly error: Error };

/** The result of the SDK's `jsonSchema` and `zodSchema`. */
interface SdkSchema {
  readonly validate?: (value: unknown) => PromiseLike<Validated> | Validated;
  readonly jsonSchema: JsonSchema | PromiseLike<JsonSchema>;
}

export async function askedTool(name: string, { inputSchema: given }: Tool): Promise<AskedTool> {
  const schema = (typeof given === 'function' && !isStandardSchema(given) ? given() : given) as AnySchema | SdkSchema;
  if (isStandardSchema(schema))
    return { name, definition: { input: schema }, inputSchema: jsonSchemaOf(schema, 'input', `tool ${name}: input`) };
  const { validate, jsonSchema } = schema as SdkSchema;
  const inputSchema = await jsonSchema;
  if (validate === undefined) return { name, definition: { input: inputSchema }, inputSchema };
  const check = async (value: unknown): Promise<object> => {
    const checked = await validate(value);
    return checked.success ? { value: checked.value } : { issues: [{ message: checked.error.message }] };
  };
  const input = { '~standard': { version: 1, vendor: 'ai', validate: check } } as AnySchema;
  return { name, definition: { input }, inputSchema };
}
