/** Conversion over MCP: a text in, a text out (docs/spec/convert.md). */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createWorkspace, serveHere, type Connection } from './mcp-kit.ts';

const workspace = createWorkspace();
let tools: Connection;
beforeAll(async () => {
  tools = await (await serveHere(workspace)).connect();
});
afterAll(() => workspace.remove());

test('CV1 CV3 M2 convert_workflow writes a text in the other dialect, says what does not carry over, and needs no grant', async () => {
  const yaml =
    'name: x\nblocks:\n  - { id: a, type: Shell, inputs: { command: make } }\n  - { id: b, type: EchoBlock, depends_on: [a], inputs: { message: hi } }\n';
  const converted = await tools.call('convert_workflow', { text: yaml, to: 'dot' });
  expect(converted).toMatchObject({
    text: expect.stringContaining('tool_command=make') as string,
    notes: [{ code: 'WORK', severity: 'lost', place: 'workflow:4:5' }],
  });
  const back = await tools.call('convert_workflow', { text: converted['text'], to: 'yaml' });
  expect(back['text']).toContain('command: make');
  const same = await tools.call('convert_workflow', { text: yaml, to: 'yaml' });
  expect(same).toMatchObject({ isError: true, code: 'USAGE_INVALID' });
});
