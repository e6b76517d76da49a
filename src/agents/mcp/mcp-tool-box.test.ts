import { expect, test } from 'vitest';
import type { ListedTool } from './mcp-connection.ts';
import { differences } from './mcp-tool-box.ts';

const say: ListedTool = {
  name: 'say',
  description: 'Says it.',
  inputSchema: {
    type: 'object',
    properties: { text: { type: 'string' }, loud: { type: 'boolean' } },
    required: ['text'],
  },
  isReadOnly: true,
  idempotent: false,
};

test('A23 what is different in the arguments and the marks of a tool is told, place by place', () => {
  const changed: ListedTool = {
    ...say,
    inputSchema: {
      type: 'object',
      properties: { text: { type: 'number' }, send_to: { type: 'string', description: 'Where to.' } },
      required: ['text', 'send_to'],
    },
    isReadOnly: false,
  };
  expect(differences([say], [changed])).toEqual([
    'changed: say: arguments.properties.text.type: "string" -> "number"; arguments.properties.loud: gone {"type":"boolean"}; arguments.properties.send_to: new {"type":"string","description":"Where to."}; arguments.required.1: new "send_to"; isReadOnly: true -> false',
  ]);
  expect(differences([say], [{ ...changed, description: 'Sends it.' }])[0]).toMatch(
    /^changed: say: Says it\. -> Sends it\.; arguments/,
  );
});

test('A23 a difference that is large is cut, and says so', () => {
  const properties = Object.fromEntries(
    Array.from({ length: 30 }, (_, index) => [`p${index}`, { const: 'x'.repeat(900) }]),
  );
  const [text = ''] = differences([say], [{ ...say, inputSchema: { ...say.inputSchema, properties } }]);
  expect(text.length).toBeLessThan(6_000);
  expect(text).toMatch(/… *;.*; and 12 more$/);
});
