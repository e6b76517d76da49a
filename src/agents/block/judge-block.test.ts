/** The `Judge` block: what passes, what may be asked, and what a file may not say. */
import { expect, test } from 'vitest';
import { createBench, runToRest } from '../../../test/engine-kit.ts';
import { faultsOf, read, types, type More } from '../../../test/yaml-kit.ts';
import type { RunResult } from '../../engine/api.ts';
import { textOf as messageText, type ModelMessage } from '../../graph/contracts/model-messages.ts';
import { createScriptedModels, type Script } from '../../models/scripted.ts';
import { judgeBlock } from './judge-block.ts';

const more: More = { nodeTypes: [...types, judgeBlock] };
const given = { model: 'm', prompt: 'You fool.', rubric: 'Is it kind?' };
const textOf = (inputs: object, block = ''): string => `name: w
description: d
blocks:
  - { id: judge, type: Judge, ${block}inputs: ${JSON.stringify({ ...given, ...inputs })} }
  - { id: send, type: Note, depends_on: [judge], condition: '\${blocks.judge.outputs.passed}', inputs: { value: sent } }
outputs: { verdict: '\${blocks.judge.outputs}' }
`;

const textOfMessage = (message: ModelMessage | undefined): string => messageText(message?.content as string);

async function run(script: Script, text: string): Promise<{ readonly result: RunResult; readonly asked: number }> {
  const models = createScriptedModels(script);
  const { graph } = read(text, more);
  return { result: await runToRest(createBench({ models }).engine, graph, {}, 'r'), asked: models.requests.length };
}

test.each([
  [0.7, true],
  [0.69, false],
])(
  'B90 a score of %d held against a threshold of 0.7: passed is %s, and the run goes on by it',
  async (score, passed) => {
    const { result } = await run([JSON.stringify({ score, reason: 'so' })], textOf({ threshold: 0.7 }));
    expect(result.state.outputs).toMatchObject({ judge: { passed, score, verdict: { score, reason: 'so' } } });
    expect('send' in result.state.outputs).toBe(passed);
  },
);

test('B90 a verdict of a schema of its own; one that never fits fails the block, so nothing passes for want of one', async () => {
  const verdict_schema = { type: 'object', required: ['score'], properties: { score: { type: 'boolean' } } };
  const { result } = await run(['{"score":true}'], textOf({ verdict_schema }));
  expect(result.state.outputs['judge']).toEqual({ passed: true, score: 1, verdict: { score: true } });
  const lost = await run(() => 'Nice!', textOf({}));
  expect([lost.result.status, lost.asked]).toEqual(['failed', 3]);
  expect(lost.result.error?.cause).toMatchObject({ code: 'OUTPUT_INVALID' });
});

test('B90 it judges each of several, each call bought once', async () => {
  const { result, asked } = await run(
    ({ messages }) => `{"score":${textOfMessage(messages.at(-1))},"reason":"so"}`,
    `name: w
description: d
blocks:
  - { id: judge, type: Judge, for_each: [0.2, 0.8], inputs: { model: m, rubric: Kind?, prompt: '\${each.value}' } }
outputs: { all: '\${blocks.judge.outputs.iterations}' }
`,
  );
  expect(result.error).toBeUndefined();
  expect((result.state.outputs['outputs'] as { readonly all: unknown }).all).toMatchObject([
    { outputs: { passed: false, score: 0.2 } },
    { outputs: { passed: true, score: 0.8 } },
  ]);
  expect(asked).toBe(2);
});

test('B91 a judge asks for its model, and what cannot be judged by is a fault of the file', () => {
  const refused = (permissions: More['permissions']): unknown => {
    try {
      return read(textOf({}), { ...more, origin: 'inline', ...(permissions !== undefined && { permissions }) }).name;
    } catch (error) {
      return (error as { readonly data?: { readonly reason?: unknown } }).data?.reason;
    }
  };
  expect(refused({})).toMatch(/--allow model=m/u);
  expect(refused({ model: ['m'] })).toBe('w');
  expect(faultsOf(textOf({ verdict_schema: { type: 'object' } }), more)).toEqual([
    expect.stringMatching(/no field score/u),
  ]);
  expect(faultsOf(textOf({ threshold: 'high' }), more)).toEqual([expect.stringMatching(/threshold/u)]);
  expect(faultsOf(textOf({}, 'effect: read, '), more)).toEqual([expect.stringMatching(/effect of Judge/u)]);
});
