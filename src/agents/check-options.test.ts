/** Values of options that have no types: each wrong one is refused where it is written. */
import { tool as sdkTool } from 'ai';
import { expect, test } from 'vitest';
import { z } from 'zod';
import { createBench, edges, graphOf, runToRest } from '../../test/engine-kit.ts';
import { durable } from '../ai-sdk/index.ts';
import { createScriptedModels } from '../models/scripted.ts';
import { createFakeContext } from '../testing/index.ts';
import { agent } from './agent.ts';
import { judgeNode } from './answers/judge-node.ts';
import { llmNode } from './answers/llm-node.ts';
import { mcpTools } from './mcp/mcp-tools.ts';
import { tool } from './tools/tool-box.ts';

const pay = tool({ description: 'Pays.', input: z.object({}), run: () => 'paid' });

test.each<[object, RegExp]>([
  [{ tools: 5 }, /tools is 5: give an object/u],
  [{ tools: null }, /tools is null/u],
  [{ tools: { pay: null } }, /tool pay is no tool/u],
  [{ tools: { pay: () => 1 } }, /tool pay is no tool/u],
  [{ servers: {} }, /servers is \{\}: give a list/u],
  [{ servers: [null] }, /servers is \[null\]/u],
  [{ files: 'src' }, /files is "src": give what localFiles or memoryFiles makes/u],
  [{ allow: 'pay' }, /allow is "pay": give a list of names/u],
  [{ allow: { pay: true } }, /allow is/u],
  [{ mode: 'xlm' }, /mode is "xlm": use one of: native/u],
  [{ maxLoops: 0 }, /maxLoops is 0/u],
  [{ callsMax: 'x' }, /callsMax is "x"/u],
  [{ description: 5 }, /description is 5: give text/u],
  [{ instructions: null }, /instructions is null: give a text/u],
  [{ prompt: 5 }, /prompt is 5: give a text, messages/u],
  [{ history: 10 }, /history is 10/u],
  [{ history: { messages: 10 } }, /history has no messages; it has messagesMax/u],
  [{ history: { messagesMax: 5, summary: { keep: 2 } } }, /history has no keep/u],
  [{ history: { tokensMax: 5, countTokens: 5 } }, /countTokens must be a function/u],
  [{ history: { tokensMax: 5, summary: 'yes' } }, /summary must be true, false or an object/u],
  [{ history: { tokensMax: 5, summary: null } }, /summary must be true, false or an object/u],
  [{ settings: 5 }, /settings is 5/u],
  [{ settings: { maxTokens: 5 } }, /unknown field "settings\.maxTokens": remove it, or use one of: temperature/u],
  [{ settings: { model: 'other' } }, /unknown field "settings\.model"/u],
  [{ settings: { tokensMax: -1 } }, /settings\.tokensMax is -1/u],
  [{ settings: { temperature: 'hot' } }, /settings\.temperature is "hot"/u],
  [{ settings: { reasoning: 'much' } }, /settings\.reasoning is "much": use none/u],
  [{ settings: { toolChoice: 'must' } }, /settings\.toolChoice is "must": use 'auto'/u],
  [{ settings: { toolChoice: 'required' }, mode: 'xml' }, /toolChoice is for tool calls of the provider's own/u],
  [{ settings: { provider: { openai: 5 } } }, /settings\.provider is/u],
  [{ calls: 5 }, /calls is 5/u],
  [{ calls: { timeout: 5 } }, /unknown field "calls\.timeout"/u],
  [{ calls: { timeoutMs: 'x' } }, /calls\.timeoutMs is "x"/u],
  [{ calls: { retry: 5 } }, /calls\.retry is 5/u],
  [{ calls: { retry: { attempts: 'x' } } }, /retry\.attempts is "x"/u],
])('G9 agent({ model, …%j }) is refused with what to give', (options, reason) => {
  expect(() => agent({ model: 'm', tools: { pay }, ...options })).toThrow(reason);
});

test('G9 all wrong values of an agent are told at once', () => {
  const wrong = () => agent({ model: 'm', allow: 'pay', settings: { maxTokens: 5 }, maxLoops: 0 } as never);
  for (const part of [/allow is/u, /settings\.maxTokens/u, /maxLoops is 0/u]) expect(wrong).toThrow(part);
});

test.each<[object, RegExp]>([
  [{ approval: true }, /approval is true: use 'always', 'never' or a function/u],
  [{ approval: 'allways' }, /approval is "allways"/u],
  [{ effect: 'Read' }, /effect is "Read": use one of: pure, read/u],
  [{ callsMax: 'x' }, /callsMax is "x"/u],
  [{ cacheable: 'yes' }, /cacheable is "yes"/u],
  [{ onFailure: 'throw' }, /onFailure is "throw": use one of: tell, fail/u],
  [{ retry: 3 }, /retry is 3/u],
  [{ timeoutMs: 0 }, /timeoutMs is 0/u],
  [{ reconcile: {} }, /reconcile is \{\}/u],
])('G9 a tool with %j is refused, also as a changed copy of another', (options, reason) => {
  expect(() => tool({ ...pay, ...options } as never)).toThrow(reason);
  expect(() => agent({ model: 'm', tools: { pay: { ...pay, ...options } } })).toThrow(reason);
});

test.each([undefined, null, 0, ''])('A6 an approval that answers %j, and not false, asks', async (said) => {
  const calls: string[] = [];
  const careful = tool({
    description: 'Pays.',
    input: z.object({}),
    approval: () => said as never,
    run: () => calls.push('paid'),
  });
  const models = createScriptedModels([{ calls: [{ tool: 'careful', input: {} }] }, 'Done.']);
  const node = agent({ model: 'm', prompt: 'Pay.', tools: { careful } });
  const { engine } = createBench({ models });
  const { status } = await runToRest(engine, graphOf('g', [{ id: 'a', ...node }], edges('> a', 'a >')));
  expect([status, calls]).toEqual(['paused', []]);
});

test.each<[object, RegExp]>([
  [{ allow: 'read_file' }, /allow must be a list/u],
  [{ only: 'read_file' }, /only must be a list/u],
  [{ trustsAnnotations: 'no' }, /trustsAnnotations must be true or false/u],
])('G9 mcpTools with %j is refused', (options, reason) => {
  expect(() => mcpTools({ server: 's', command: 'c', ...options })).toThrow(reason);
});

test.each<[object, RegExp]>([
  [{ settings: { maxTokens: 5 } }, /unknown field "settings\.maxTokens"/u],
  [{ calls: { timeoutMs: 0 } }, /calls\.timeoutMs is 0/u],
  [{ prompt: 5 }, /prompt is 5/u],
])('G9 llmNode and judgeNode with %j are refused', (options, reason) => {
  expect(() => llmNode({ model: 'm', ...options })).toThrow(reason);
  expect(() => judgeNode({ model: 'm', rubric: 'Is it kind?', ...options })).toThrow(reason);
});

test.each<[unknown, RegExp]>([
  [() => 5, /prompt gave number, not a text or messages/u],
  [async () => 'later', /prompt gave a promise, where functions of the configuration answer at once/u],
  [[{ role: 'nobody', content: 'x' }], /prompt gave a message 1 that has none of the roles system, user/u],
  [[{ role: 'user', content: 'x' }, { role: 'user' }], /a message 2 that has no content/u],
  [[{ role: 'user', content: [{ type: 'image', image: 'x' }] }], /has a part image without data/u],
  [
    [{ role: 'assistant', content: [{ type: 'tool-call', toolCallId: '1', toolName: 'pay', input: {} }] }],
    /has a part tool-call without id/u,
  ],
  [[{ role: 'tool', content: 'x' }], /has no list of results/u],
])('A1 a prompt %j is told in words, and nothing is asked', async (prompt, reason) => {
  const models = createScriptedModels(['Done.']);
  const node = agent({ model: 'm', prompt: prompt as never });
  const { engine } = createBench({ models });
  const failed = await runToRest(engine, graphOf('g', [{ id: 'a', ...node }], edges('> a', 'a >')));
  expect([failed.status, models.requests.length]).toEqual(['failed', 0]);
  expect(failed.error?.cause).toMatchObject({ code: 'CONFIG_INVALID' });
  expect(failed.error?.message).toMatch(reason);
});

test.each<[object, RegExp]>([
  [{ approval: true }, /the tool pay: approval is true: use 'always'/u],
  [{ effect: 'Read' }, /the tool pay: effect is "Read"/u],
])('G9 a tool of durable with %j is refused', (options, reason) => {
  const paying = sdkTool({ inputSchema: z.object({}), execute: () => 'paid' });
  const made = durable(createFakeContext(), { name: 'd' });
  expect(() => made.tools({ pay: paying }, { pay: options })).toThrow(reason);
});
