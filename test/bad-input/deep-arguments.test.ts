/** Calls of tools whose arguments are nested deeper than a value may be: faulty calls, which the model is told about, at each door. */
import { generateText, isStepCount, jsonSchema, streamText, tool as sdkTool } from 'ai';
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import * as sdk from '@modelcontextprotocol/server';
import { expect, test } from 'vitest';
import { mcpTools } from '../../src/agents/mcp/mcp-tools.ts';
import { tool } from '../../src/agents/tools/tool-box.ts';
import { durable } from '../../src/ai-sdk/index.ts';
import { serveHttp } from '../../src/mcp/serve/serve-http.ts';
import { createToolServer, logOf } from '../support/tool-server.ts';
import { agentKit } from '../agents/agent-kit.ts';
import { scriptedSdkModel } from '../agents/scripted-sdk-model.ts';
import { createBench, edges, graphOf, node, runToRest } from '../engine-kit.ts';
import { createWorkspace, serveHere } from '../mcp/mcp-kit.ts';

const nestedText = (depth: number): string => `${'{"a":'.repeat(depth)}1${'}'.repeat(depth)}`;
const nested = (depth: number): unknown => JSON.parse(nestedText(depth));
const depths = [450, 2_000, 8_000];
const anything = { type: 'object' };

test.each(depths)('A5 a call of an agent with arguments nested %i deep is told to the model', async (depth) => {
  const made: unknown[] = [];
  const take = tool({
    description: 'Takes anything.',
    input: anything,
    effect: 'external',
    approval: 'never',
    run: (args) => made.push(args),
  });
  const { bench, models, graph } = agentKit([{ calls: [{ tool: 'take', input: nested(depth) }] }, 'Well.'], {
    tools: { take },
  });
  const { status, state, error } = await runToRest(bench.engine, graph);
  expect([status, error]).toEqual(['completed', undefined]);
  expect(state.outputs).toEqual({ a: 'Well.' });
  expect(made).toEqual([]);
  expect(JSON.stringify(models.requests[1]?.messages.at(-1))).toMatch(
    /cannot be used|nested deeper than|cannot be read/,
  );
});

test.each(depths)(
  'A22 a call of a tool of an MCP server with arguments nested %i deep is told to the model',
  async (depth) => {
    const folder = mkdtempSync(join(tmpdir(), 'cairn-deep-'));
    const file = join(folder, 'tools.json');
    writeFileSync(file, JSON.stringify([{ name: 'say', description: 'Says it.' }]));
    const server = await serveHttp(
      sdk,
      () => createToolServer(file),
      { port: 0 },
      () => undefined,
    );
    try {
      const { bench, models, graph } = agentKit([{ calls: [{ tool: 'files__say', input: nested(depth) }] }, 'Well.'], {
        servers: [mcpTools({ server: 'files', url: server.url ?? '', allow: ['say'] })],
      });
      const { status, state, error } = await runToRest(bench.engine, graph);
      expect([status, error, state.outputs]).toEqual(['completed', undefined, { a: 'Well.' }]);
      expect(existsSync(logOf(file))).toBe(false);
      expect(JSON.stringify(models.requests[1]?.messages.at(-1))).toMatch(/nested deeper than/);
    } finally {
      await server.close();
      rmSync(folder, { recursive: true, force: true });
    }
  },
);

test.each(depths.flatMap((depth) => [[depth, 'generate'] as const, [depth, 'stream'] as const]))(
  'U2 a call of durable() with arguments nested %i deep is told to the model: %s',
  async (depth, way) => {
    const model = scriptedSdkModel([{ calls: [['take', nestedText(depth)]] }, 'Well.']);
    const made: unknown[] = [];
    const graph = graphOf(
      'g',
      [
        node('a', 'read', async (ctx) => {
          const d = durable(ctx, { name: 'support' });
          const tools = d.tools({
            take: sdkTool({ inputSchema: jsonSchema(anything as never), execute: (args: unknown) => made.push(args) }),
          });
          const asked = { model: d.model(model), tools, stopWhen: isStepCount(3), prompt: 'Go.', ...d.settings };
          return way === 'generate' ? (await generateText(asked)).text : streamText(asked).text;
        }),
      ],
      edges('> a', 'a >'),
    );
    const { status, state, error } = await runToRest(createBench().engine, graph);
    expect([status, error]).toEqual(['completed', undefined]);
    expect(state.outputs['a']).toBe('Well.');
    expect(made).toEqual([]);
    expect(JSON.stringify(model.requests.at(-1)?.prompt.at(-1))).toMatch(/nested deeper than/);
  },
);

test.each([2_000, 8_000])(
  'M a call over MCP with arguments nested %i deep is refused by name, and the server goes on',
  async (depth) => {
    const workspace = createWorkspace({
      echo: 'name: echo\ninputs: { x: { type: json, default: 1 } }\nblocks:\n  - { id: e, type: EchoBlock, inputs: { message: hi } }\n',
    });
    try {
      const server = await serveHere(workspace);
      const { call } = await server.connect();
      // Clients of ours could not even write it.
      const argsOf = (args: object): string => JSON.stringify(args).replaceAll('"DEEP"', nestedText(depth));
      for (const [name, args] of Object.entries({
        execute_workflow: { workflow: 'echo', inputs: { x: 'DEEP' } },
        send_signal: { run_id: 'r', name: 'go', value: 'DEEP' },
        fork_checkpoint: { checkpoint_id: 'r', set: { 'scratch.x': 'DEEP' } },
        cancel_run: { run_id: 'r', reason: 'DEEP' },
        list_runs: { limit: 'DEEP' },
      })) {
        const reply = await fetch(server.url, {
          method: 'POST',
          headers: { 'content-type': 'application/json', accept: 'application/json, text/event-stream' },
          body: `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"${name}","arguments":${argsOf(args)}}}`,
        });
        const said = await reply.text();
        expect([name, reply.status < 500, said]).toEqual([
          name,
          true,
          expect.stringMatching(/INPUT_INVALID|VALUE_UNSTORABLE|invalid|not/iu),
        ]);
        expect([name, said]).toEqual([name, expect.not.stringMatching(/INTERNAL|call stack/u)]);
      }
      expect(await call('execute_workflow', { workflow: 'echo' })).toMatchObject({ status: 'success' });
    } finally {
      await workspace.remove();
    }
  },
);
