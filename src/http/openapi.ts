/** The OpenAPI document, made from the operations: each route, what it takes, and what it gives. */
import { errorTable } from '../errors.ts';
import { fieldSchema } from '../operations/contract/field-schema.ts';
import type { Field } from '../operations/contract/operation.ts';
import { chatPaths } from './chat-document.ts';
import { keyParameter, takesKey } from './idempotency.ts';
import { operationRoutes, type JsonSchema, type OperationRoute } from './routes.ts';

const problem = {
  description: 'what is wrong, by its code, and what to do',
  content: { 'application/problem+json': { schema: { $ref: '#/components/schemas/Problem' } } },
};

/** Pairs stand in a query as `label=user:ann`, so their parameter is a list of texts. */
const querySchema = (field: Field): JsonSchema =>
  field.type === 'answers' || field.type === 'assignments'
    ? { type: 'array', items: { type: 'string', pattern: '^[^:=]+[:=]' }, description: field.description }
    : fieldSchema(field);

function describe(route: OperationRoute): JsonSchema {
  const { method, operation, fields, inPath } = route;
  const names = Object.entries(fields);
  const isInQuery = method === 'GET' || method === 'DELETE';
  const parameters = names
    .filter(([name]) => inPath.has(name) || isInQuery)
    .map(([name, { field }]) => ({
      name,
      in: inPath.has(name) ? 'path' : 'query',
      required: inPath.has(name) || field.isRequired === true,
      description: field.description,
      ...((field.shownName ?? name) !== name && { deprecated: true }),
      schema: inPath.has(name) ? { type: 'string' } : querySchema(field),
    }));
  const inBody = names.filter(([name]) => !inPath.has(name));
  const body = {
    type: 'object',
    additionalProperties: false,
    properties: Object.fromEntries(inBody.map(([name, { field }]) => [name, fieldSchema(field)])),
    required: inBody.filter(([, { field }]) => field.isRequired === true).map(([name]) => name),
  };
  return {
    operationId: operation.name,
    summary: operation.summary,
    description: [operation.details, `Scope: ${operation.scope}.`].filter(Boolean).join(' '),
    parameters: takesKey(operation.name) ? [...parameters, keyParameter] : parameters,
    ...(!isInQuery && { requestBody: { content: { 'application/json': { schema: body } } } }),
    responses: {
      [successStatus(route)]: {
        description: operation.output,
        content: { 'application/json': { schema: operation.outputSchema } },
      },
      '4XX': problem,
      '5XX': problem,
    },
  };
}

/** 201 where something with an address of its own was made. */
export function successStatus({ id }: Pick<OperationRoute, 'id'>): 200 | 201 {
  return id === 'run' || id === 'fork' ? 201 : 200;
}

const events: JsonSchema = {
  operationId: 'follow_run',
  summary: 'follow a run: each recorded event once, in order, until the run ends',
  description: 'Scope: read. Server-sent events: `checkpoint` with an id, `reset`, `problem`, and `end` at the end.',
  parameters: [
    { name: 'run', in: 'path', required: true, schema: { type: 'string' }, description: 'the run' },
    {
      name: 'after',
      in: 'query',
      required: false,
      schema: { type: 'string' },
      description: 'the id of the last event seen; the header Last-Event-ID says it too',
    },
    {
      name: 'until',
      in: 'query',
      required: false,
      schema: { enum: ['end', 'rest'] },
      description: 'rest: the stream ends already when the run pauses',
    },
    {
      name: 'live',
      in: 'query',
      required: false,
      schema: { type: 'boolean' },
      description:
        'pieces of what nodes are just making are sent too, as events `live`; the first event, `feed`, says whether there are any',
    },
  ],
  responses: {
    200: { description: 'the events', content: { 'text/event-stream': { schema: { type: 'string' } } } },
    204: { description: 'the run has ended, and all of it was seen' },
    '4XX': problem,
    '5XX': problem,
  },
};

const runsEvents: JsonSchema = {
  operationId: 'follow_runs',
  summary: 'follow many runs in one stream, those that are started meanwhile included',
  description:
    'Scope: read. Server-sent events, each with an id: `run` tells where a run stood when it came into the stream, then its `checkpoint` events follow; `reset`, `problem`.',
  parameters: [
    {
      name: 'label',
      in: 'query',
      required: false,
      description: 'only runs with this label: user:ann',
      schema: { type: 'array', items: { type: 'string', pattern: '^[^:=]+[:=]' } },
    },
    { name: 'graph', in: 'query', required: false, schema: { type: 'string' }, description: 'only runs of this graph' },
    {
      name: 'after',
      in: 'query',
      required: false,
      schema: { type: 'string' },
      description: 'the id of the last event seen, of a stream with the same filter',
    },
  ],
  responses: {
    200: { description: 'the events', content: { 'text/event-stream': { schema: { type: 'string' } } } },
    '4XX': problem,
    '5XX': problem,
  },
};

const json = (description: string, schema: JsonSchema): JsonSchema => ({
  description,
  content: { 'application/json': { schema } },
});

/** An object of these properties; `?` behind a name says that it may be absent. */
const shapeOf = (properties: Readonly<Record<string, JsonSchema>>): JsonSchema => ({
  type: 'object',
  properties: Object.fromEntries(Object.entries(properties).map(([name, schema]) => [name.replace('?', ''), schema])),
  required: Object.keys(properties).filter((name) => !name.endsWith('?')),
});
const string: JsonSchema = { type: 'string' };

const file: JsonSchema = {
  operationId: 'read_file',
  summary: 'fetch a value of the state as a file: a text as it is, anything else as JSON',
  description: 'Scope: read. `Range` asks for a part, `If-Range` only of the same file.',
  parameters: [
    { name: 'checkpoint', in: 'path', required: true, schema: string, description: 'the run, or a checkpoint of it' },
    { name: 'path', in: 'query', required: true, schema: string, description: 'the value: artifacts.report' },
    { name: 'range', in: 'header', required: false, schema: string, description: 'bytes=FIRST-LAST' },
  ],
  responses: Object.fromEntries([
    ...([200, 206] as const).map((status) => [
      status,
      {
        description: status === 200 ? 'the file' : 'the part of it',
        content: { 'text/plain': { schema: string }, 'application/json': { schema: {} } },
      },
    ]),
    ['4XX', problem],
    ['5XX', problem],
  ]),
};

const me: JsonSchema = {
  operationId: 'read_caller',
  summary: 'tell who calls, and what they may do',
  responses: {
    200: json(
      'who the token is of',
      shapeOf({
        principal: string,
        kind: { enum: ['person', 'program'] },
        scopes: { type: 'array', items: string },
        isReadOnly: { type: 'boolean' },
        version: string,
        'chat?': { ...shapeOf({ graph: string, node: string }), description: 'the agent that chats are with' },
      }),
    ),
    '4XX': problem,
    '5XX': problem,
  },
};

const graphs: JsonSchema = {
  operationId: 'list_graphs',
  summary: 'list the graphs in code that can be started by name',
  description: 'Scope: read.',
  responses: {
    200: json(
      'the graphs',
      shapeOf({
        graphs: {
          type: 'array',
          items: shapeOf({
            graphId: string,
            nodeCount: { type: 'integer' },
            'input?': { description: 'JSON Schema of what it takes' },
          }),
        },
      }),
    ),
    '4XX': problem,
    '5XX': problem,
  },
};

const session: JsonSchema = {
  operationId: 'open_session',
  summary: 'exchange a code that can be used once for a token',
  description: 'It needs no token.',
  security: [],
  requestBody: { content: { 'application/json': { schema: shapeOf({ code: string }) } } },
  responses: { 200: json('the token', shapeOf({ token: string })), '4XX': problem, '5XX': problem },
};

/** @param names - those of the configuration */
const delivery = (names: readonly string[]): JsonSchema => ({
  operationId: 'take_delivery',
  summary: 'take a delivery of another system, which starts a run or signals one',
  description:
    'It needs no token: the hook verifies the delivery by its signature. The same delivery a second time does nothing more. An answer of 2XX says that it is durable.',
  security: [],
  parameters: [
    { name: 'hook', in: 'path', required: true, schema: { enum: names }, description: 'the name of the hook' },
  ],
  requestBody: { required: true, description: 'as the other system sends it', content: { '*/*': { schema: {} } } },
  responses: {
    200: {
      description: 'the run, or what the other system asked to be told',
      content: {
        'application/json': { schema: shapeOf({ runId: string }) },
        'text/plain': { schema: string },
      },
    },
    204: { description: 'it is taken, and nothing follows from it' },
    '4XX': problem,
    '5XX': problem,
  },
});

const problemSchema: JsonSchema = {
  type: 'object',
  properties: {
    type: { type: 'string' },
    title: { type: 'string' },
    status: { type: 'integer' },
    code: { enum: Object.keys(errorTable) },
    hint: { type: 'string' },
    retry: { enum: ['no', 'later'] },
    errors: {
      type: 'array',
      description: 'what is wrong with the request, all of it, each with a JSON Pointer to its field',
      items: shapeOf({ pointer: string, detail: string }),
    },
  },
  required: ['type', 'title', 'status', 'code', 'retry'],
};

/** The document of these routes. @param url - where they are, such as `/v1`. @param served - what else is served there */
export function createOpenApi(
  url: string,
  version: string,
  routes: readonly OperationRoute[] = operationRoutes,
  { hasChat = false, hooks = [] }: { readonly hasChat?: boolean; readonly hooks?: readonly string[] } = {},
): JsonSchema {
  const paths: Record<string, Record<string, JsonSchema>> = {};
  for (const route of routes) {
    const path = `/${route.segments.join('/')}`;
    paths[path] = { ...paths[path], [route.method.toLowerCase()]: describe(route) };
  }
  paths['/runs/{run}/events'] = { get: events };
  paths['/events'] = { get: runsEvents };
  paths['/checkpoints/{checkpoint}/file'] = { get: file };
  paths['/me'] = { get: me };
  paths['/graphs'] = { get: graphs };
  paths['/session'] = { post: session };
  if (hooks.length > 0) paths['/hooks/{hook}'] = { post: delivery(hooks) };
  if (hasChat) Object.assign(paths, chatPaths({ '4XX': problem, '5XX': problem }));
  return {
    openapi: '3.1.1',
    info: { title: 'Cairn', version, license: { name: 'Apache-2.0', identifier: 'Apache-2.0' } },
    servers: [{ url }],
    security: [{ bearer: [] }],
    paths,
    components: {
      securitySchemes: { bearer: { type: 'http', scheme: 'bearer' } },
      schemas: { Problem: problemSchema },
    },
  };
}
