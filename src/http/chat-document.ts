/** The routes of chats in the OpenAPI document. */
import type { JsonSchema } from './routes.ts';

const string: JsonSchema = { type: 'string' };
const message: JsonSchema = {
  type: 'object',
  description: 'a message as the AI SDK has it: UIMessage',
  properties: {
    id: string,
    role: { enum: ['user', 'assistant'] },
    parts: { type: 'array', items: { type: 'object' } },
  },
  required: ['role', 'parts'],
};
const messages: JsonSchema = { type: 'array', items: message };
const scope = 'Scope: chat.';
const stream = {
  description: 'chunks of the message as the AI SDK has them: UIMessageChunk',
  content: { 'text/event-stream': { schema: string } },
};

/** @param failures - how each of them fails */
export function chatPaths(failures: JsonSchema): Readonly<Record<string, Readonly<Record<string, JsonSchema>>>> {
  const json = (description: string, properties: Readonly<Record<string, JsonSchema>>): JsonSchema => ({
    description,
    content: { 'application/json': { schema: { type: 'object', properties, required: Object.keys(properties) } } },
  });
  const id = { name: 'chat', in: 'path', required: true, schema: string, description: 'the id of the chat' };
  const say = (operationId: string, isNamed: boolean): JsonSchema => ({
    operationId,
    summary: 'say something in a chat, or answer what it asks; the first message begins it',
    description: scope,
    ...(isNamed && { parameters: [id] }),
    requestBody: {
      content: {
        'application/json': {
          schema: {
            type: 'object',
            properties: {
              ...(!isNamed && { id: { ...string, minLength: 1, maxLength: 200, description: 'the id of the chat' } }),
              messages: { ...messages, description: 'the last one is what is said, or the message with its answers' },
              trigger: { enum: ['submit-message', 'regenerate-message'] },
              answers: { type: 'object', additionalProperties: true, description: 'answers by the ids of questions' },
            },
            required: isNamed ? ['messages'] : ['id', 'messages'],
          },
        },
      },
    },
    responses: { 200: stream, ...failures },
  });
  return {
    '/chat': { post: say('begin_chat', false) },
    '/chat/{chat}': {
      get: {
        operationId: 'read_chat',
        summary: 'read the messages of a chat',
        description: scope,
        parameters: [id],
        responses: { 200: json('the messages', { messages, isUnderWay: { type: 'boolean' } }), ...failures },
      },
      post: say('say_in_chat', true),
    },
    '/chat/{chat}/stream': {
      get: {
        operationId: 'follow_chat',
        summary: 'follow the message under way',
        description: scope,
        parameters: [id],
        responses: { 200: stream, 204: { description: 'none is under way' }, ...failures },
      },
    },
    '/chat/{chat}/stop': {
      post: {
        operationId: 'stop_chat',
        summary: 'stop the message under way',
        description: scope,
        parameters: [id],
        responses: { 200: json('whether one was under way', { isStopped: { type: 'boolean' } }), ...failures },
      },
    },
  };
}
