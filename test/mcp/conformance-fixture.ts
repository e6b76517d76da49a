/** The tools, resources and prompts that scenarios of the conformance suite ask for, to be served by our transports. */
import * as sdk from '@modelcontextprotocol/server';
import { z } from 'zod';

const png = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg==';
const wav = 'UklGRiYAAABXQVZFZm10IBAAAAABAAEAQB8AAAB9AAACABAAZGF0YQIAAAA=';

type Content = sdk.CallToolResult['content'];

const text = (value: string): Content[number] => ({ type: 'text', text: value });
const image: Content[number] = { type: 'image', data: png, mimeType: 'image/png' };

const contents: Readonly<Record<string, Content>> = {
  test_simple_text: [text('This is a simple text response for testing.')],
  test_image_content: [image],
  test_audio_content: [{ type: 'audio', data: wav, mimeType: 'audio/wav' }],
  test_embedded_resource: [
    {
      type: 'resource',
      resource: {
        uri: 'test://embedded-resource',
        mimeType: 'text/plain',
        text: 'This is an embedded resource content.',
      },
    },
  ],
  test_multiple_content_types: [
    text('Multiple content types test:'),
    image,
    {
      type: 'resource',
      resource: {
        uri: 'test://mixed-content-resource',
        mimeType: 'application/json',
        text: '{"test":"data","value":123}',
      },
    },
  ],
};

const choices = ['option1', 'option2', 'option3'];
const titled = [1, 2, 3].map((index) => ({ const: `value${index}`, title: `Option ${index}` }));

/** Forms by tool: those of SEP-1034 (defaults) and SEP-1330 (choices). */
const forms: Readonly<Record<string, Readonly<Record<string, object>>>> = {
  test_elicitation_sep1034_defaults: {
    name: { type: 'string', default: 'John Doe' },
    age: { type: 'integer', default: 30 },
    score: { type: 'number', default: 95.5 },
    status: { type: 'string', enum: ['active', 'inactive', 'pending'], default: 'active' },
    verified: { type: 'boolean', default: true },
  },
  test_elicitation_sep1330_enums: {
    untitledSingle: { type: 'string', enum: choices },
    titledSingle: { type: 'string', oneOf: titled },
    legacyEnum: { type: 'string', enum: ['opt1', 'opt2', 'opt3'], enumNames: ['One', 'Two', 'Three'] },
    untitledMulti: { type: 'array', items: { type: 'string', enum: choices } },
    titledMulti: { type: 'array', items: { anyOf: titled } },
  },
};

async function elicit(
  ctx: sdk.ServerContext,
  message: string,
  properties: Readonly<Record<string, object>>,
  required: readonly string[],
): Promise<sdk.CallToolResult> {
  const requestedSchema = { type: 'object' as const, properties, required };
  const { action, content } = await ctx.mcpReq.send({
    method: 'elicitation/create',
    params: { mode: 'form', message, requestedSchema },
  });
  return { content: [text(`Elicitation completed: action=${action}, content=${JSON.stringify(content)}`)] };
}

function addTools(server: sdk.McpServer): void {
  for (const [name, content] of Object.entries(contents))
    server.registerTool(name, { description: name }, () => ({ content }));
  server.registerTool('test_error_handling', { description: 'Fails.' }, () => {
    throw new Error('This tool intentionally returns an error for testing');
  });
  server.registerTool('test_tool_with_progress', { description: 'Tells how far it is.' }, async ({ mcpReq }) => {
    const progressToken = mcpReq._meta?.progressToken;
    for (const progress of [0, 50, 100])
      if (progressToken !== undefined)
        await mcpReq.notify({ method: 'notifications/progress', params: { progressToken, progress, total: 100 } });
    return { content: [text('done')] };
  });
  const asking = { description: 'Asks.', inputSchema: z.object({ message: z.string() }) };
  server.registerTool('test_elicitation', asking, ({ message }, ctx) => {
    const field = (description: string): object => ({ type: 'string', description });
    const properties = { username: field("User's response"), email: field("User's email address") };
    return elicit(ctx, message, properties, ['username', 'email']);
  });
  for (const [name, properties] of Object.entries(forms))
    server.registerTool(name, { description: 'Asks.' }, (ctx) => elicit(ctx, 'Please fill in', properties, []));
  const inputSchema = sdk.fromJsonSchema({
    $schema: 'https://json-schema.org/draft/2020-12/schema',
    type: 'object',
    $defs: {
      address: { type: 'object', properties: { street: { type: 'string' }, city: { type: 'string' } } },
    },
    properties: { name: { type: 'string' }, address: { $ref: '#/$defs/address' } },
    additionalProperties: false,
  });
  const described = { description: 'Tool with JSON Schema 2020-12 features', inputSchema };
  server.registerTool('json_schema_2020_12_tool', described, () => ({ content: [text('done')] }));
}

function addResources(server: sdk.McpServer): void {
  const textual = { mimeType: 'text/plain', text: 'This is the content of the static text resource.' };
  server.registerResource('static-text', 'test://static-text', { mimeType: 'text/plain' }, ({ href: uri }) => ({
    contents: [{ uri, ...textual }],
  }));
  server.registerResource('static-binary', 'test://static-binary', { mimeType: 'image/png' }, ({ href: uri }) => ({
    contents: [{ uri, mimeType: 'image/png', blob: png }],
  }));
  const template = new sdk.ResourceTemplate('test://template/{id}/data', { list: undefined });
  server.registerResource('template', template, { mimeType: 'application/json' }, ({ href: uri }, { id }) => ({
    contents: [
      {
        uri,
        mimeType: 'application/json',
        text: JSON.stringify({ id, templateTest: true, data: `Data for ID: ${String(id)}` }),
      },
    ],
  }));
}

function addPrompts(server: sdk.McpServer): void {
  const say = (value: Content[number]) => ({ role: 'user' as const, content: value });
  server.registerPrompt('test_simple_prompt', { description: 'Simple.' }, () => ({
    messages: [say(text('This is a simple prompt for testing.'))],
  }));
  const cities = sdk.completable(z.string(), (start) =>
    ['paris', 'park', 'party'].filter((name) => name.startsWith(start)),
  );
  const withArguments = { description: 'With arguments.', argsSchema: z.object({ arg1: cities, arg2: z.string() }) };
  server.registerPrompt('test_prompt_with_arguments', withArguments, ({ arg1, arg2 }) => ({
    messages: [say(text(`Prompt with arguments: arg1='${arg1}', arg2='${arg2}'`))],
  }));
  const embedding = { description: 'Embeds.', argsSchema: z.object({ resourceUri: z.string() }) };
  server.registerPrompt('test_prompt_with_embedded_resource', embedding, ({ resourceUri: uri }) => ({
    messages: [
      say({
        type: 'resource',
        resource: { uri, mimeType: 'text/plain', text: 'Embedded resource content for testing.' },
      }),
      say(text('Please process the embedded resource above.')),
    ],
  }));
  server.registerPrompt('test_prompt_with_image', { description: 'Shows.' }, () => ({
    messages: [say(image), say(text('Please analyze the image above.'))],
  }));
}

export function createFixtureServer(): sdk.McpServer {
  const server = new sdk.McpServer({ name: 'conformance-fixture', version: '1.0.0' });
  addTools(server);
  addResources(server);
  addPrompts(server);
  return server;
}
