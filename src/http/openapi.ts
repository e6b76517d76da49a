/** The OpenAPI document, made from the operations: each route, what it takes, and what it gives. */
import { errorTable } from '../errors.ts';
import type { Field } from '../operations/declare/operation.ts';
import { operationRoutes, type JsonSchema, type OperationRoute } from './routes.ts';

const shapes: Readonly<Record<Field['type'], JsonSchema>> = {
  text: { type: 'string' },
  integer: { type: 'integer', minimum: 0 },
  flag: { type: 'boolean', default: false },
  value: { description: 'any value' },
  texts: { type: 'array', items: { type: 'string' } },
  words: { type: 'array', items: { type: 'string' } },
  assignments: { type: 'object', additionalProperties: true },
  answer: { description: 'any value' },
  answers: { type: 'object', additionalProperties: true },
};

function schemaOf({ type, description, choices }: Field): JsonSchema {
  if (choices === undefined) return { ...shapes[type], description };
  return type === 'texts' ? { type: 'array', items: { enum: choices }, description } : { enum: choices, description };
}

const problem = {
  description: 'what is wrong, by its code, and what to do',
  content: { 'application/problem+json': { schema: { $ref: '#/components/schemas/Problem' } } },
};

/** Pairs stand in a query as `label=user:ann`, so their parameter is a list of texts. */
const querySchema = (field: Field): JsonSchema =>
  field.type === 'answers' || field.type === 'assignments'
    ? { type: 'array', items: { type: 'string', pattern: '^[^:=]+[:=]' }, description: field.description }
    : schemaOf(field);

function describe(route: OperationRoute): JsonSchema {
  const { id, method, operation, fields, inPath } = route;
  const names = Object.entries(fields);
  const isInQuery = method === 'GET' || method === 'DELETE';
  const parameters = names
    .filter(([name]) => inPath.has(name) || isInQuery)
    .map(([name, { field }]) => ({
      name,
      in: inPath.has(name) ? 'path' : 'query',
      required: inPath.has(name) || field.isRequired === true,
      description: field.description,
      schema: inPath.has(name) ? { type: 'string' } : querySchema(field),
    }));
  const inBody = names.filter(([name]) => !inPath.has(name));
  const body = {
    type: 'object',
    additionalProperties: false,
    properties: Object.fromEntries(inBody.map(([name, { field }]) => [name, schemaOf(field)])),
    required: inBody.filter(([, { field }]) => field.isRequired === true).map(([name]) => name),
  };
  return {
    operationId: id,
    summary: operation.summary,
    description: `Scope: ${operation.scope}.`,
    parameters,
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
  operationId: 'events',
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
  ],
  responses: {
    200: { description: 'the events', content: { 'text/event-stream': { schema: { type: 'string' } } } },
    204: { description: 'the run has ended, and all of it was seen' },
    '4XX': problem,
    '5XX': problem,
  },
};

const runsEvents: JsonSchema = {
  operationId: 'runsEvents',
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

const problemSchema: JsonSchema = {
  type: 'object',
  properties: {
    type: { type: 'string' },
    title: { type: 'string' },
    status: { type: 'integer' },
    code: { enum: Object.keys(errorTable) },
    hint: { type: 'string' },
    retry: { enum: ['no', 'later'] },
  },
  required: ['type', 'title', 'status'],
};

/** The document of these routes. @param url - where they are, such as `/v1` */
export function createOpenApi(
  url: string,
  version: string,
  routes: readonly OperationRoute[] = operationRoutes,
): JsonSchema {
  const paths: Record<string, Record<string, JsonSchema>> = {};
  for (const route of routes) {
    const path = `/${route.segments.join('/')}`;
    paths[path] = { ...paths[path], [route.method.toLowerCase()]: describe(route) };
  }
  paths['/runs/{run}/events'] = { get: events };
  paths['/events'] = { get: runsEvents };
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
