/** The `Agent` block: what a file may name as tools, what asks, and what is not granted. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { afterCrash, createBench, resumeToRest, runToRest } from '../../../test/engine-kit.ts';
import { faultsOf, journal, read, types, type More } from '../../../test/yaml-kit.ts';
import type { RunResult } from '../../engine/api.ts';
import type { Permissions } from '../../graph/permissions/permissions.ts';
import type { TextWorkflow } from '../../dialects/text-workflow.ts';
import { createScriptedModels, type Script, type ScriptedModels } from '../../models/scripted.ts';
import { createNodeTypes } from '../../nodes/blocks/index.ts';
import { agentBlock } from './agent-block.ts';

const working = [...createNodeTypes(), ...types];
const nodeTypes = [...working, agentBlock(working)];
const others = {
  double: `
name: double
description: Doubles a number.
inputs: { n: { type: int } }
blocks: [{ id: a, type: Note, inputs: { value: '\${inputs.n * 2}' } }]
outputs: { twice: '\${a.value}' }
`,
  act: 'name: act\ndescription: Acts.\nblocks: [{ id: a, type: Effect }]\n',
};
const textOf = (inputs: object): string =>
  `name: w\ndescription: d\nblocks:\n  - id: a\n    type: Agent\n    inputs: ${JSON.stringify({ prompt: 'Go.', ...inputs })}\noutputs: { said: '\${a.response}' }\n`;
const more = (given: More = {}): More => ({ nodeTypes, others, ...given });

interface Ran {
  readonly result: RunResult;
  readonly models: ScriptedModels;
  readonly goOn: (answer: unknown) => Promise<RunResult>;
}

async function run(script: Script, inputs: object, given: More = {}): Promise<Ran> {
  const models = createScriptedModels(script);
  const bench = createBench({ models });
  const compile = (): TextWorkflow => read(textOf(inputs), more(given));
  const result = await runToRest(bench.engine, compile().graph, {}, 'r');
  return {
    result,
    models,
    goOn: async (answer) => {
      const engine = afterCrash(bench);
      await engine.answer('r', result.waits[0]?.waitId ?? '', answer);
      return resumeToRest(engine, 'r', compile().graph);
    },
  };
}

const said = ({ state }: RunResult): unknown => (state.outputs['outputs'] as { readonly said: unknown }).said;
const told = ({ models }: Ran): unknown =>
  (models.requests[1]?.messages.at(-1)?.content as readonly { readonly output: unknown }[] | undefined)?.[0]?.output;

test('B80 an agent of a file runs workflows as tools, and its answer is a value of the schema', async () => {
  const one = await run([{ calls: [{ tool: 'double', input: { n: 4 } }] }, '{ "n": 8 }'], {
    model: 'm',
    instructions: 'Be brief.',
    workflows: ['double'],
    output_schema: { type: 'object', required: ['n'], properties: { n: { type: 'integer' } } },
  });
  expect([said(one.result), told(one)]).toEqual([{ n: 8 }, { twice: 8 }]);
  expect(one.models.requests[0]).toMatchObject({
    model: 'm',
    messages: [{ role: 'system', content: 'Be brief.' }, { content: 'Go.' }],
    tools: [
      { name: 'double', description: 'Doubles a number.', inputSchema: { required: ['n'] } },
      { name: 'ask_person' },
    ],
  });
});

test('B81 a workflow and a block that act ask first; approved in another process they run once, and the model is not asked again', async () => {
  journal.done.length = 0;
  for (const tools of [{ workflows: ['act'] }, { blocks: ['Effect'] }]) {
    const name = tools.workflows === undefined ? 'Effect' : 'act';
    const input = name === 'act' ? {} : { value: 'x' };
    const one = await run([{ calls: [{ tool: name, input }] }, 'Done.'], tools);
    expect([one.result.waits.map(({ prompt }) => prompt?.split('\n')[0]), journal.done.length]).toEqual([
      [expect.stringContaining(name)],
      0,
    ]);
    const done = await one.goOn('approve');
    expect([said(done), journal.done.length, one.models.requests.length]).toEqual([{ content: 'Done.' }, 1, 2]);
    journal.done.length = 0;
  }
  const allowed = await run([{ calls: [{ tool: 'act' }] }, 'Done.'], { workflows: ['act'], allow: ['act'] });
  expect([allowed.result.status, journal.done.length]).toEqual(['completed', 1]);
});

test('B82 an agent of a text is held to the grants: the model, programs, hosts, and each block that it may run', () => {
  const servers = [{ server: 's', command: 'x' }];
  const refusal = (inputs: object, permissions: Permissions): unknown => {
    try {
      read(textOf({ model: 'm', ...inputs }), more({ origin: 'inline', permissions }));
      return undefined;
    } catch (error) {
      return (error as { readonly data?: { readonly reason?: unknown } }).data?.reason;
    }
  };
  expect(refusal({}, {})).toMatch(/the language model m \(--allow model=m\)/u);
  expect(refusal({}, { model: ['m'] })).toBeUndefined();
  expect(refusal({ servers }, { model: ['m'] })).toMatch(/--allow shell/u);
  expect(refusal({ servers }, { model: ['m'], shell: true })).toBeUndefined();
  expect(refusal({ servers: [{ server: 's', url: 'https://a.org/mcp' }] }, { model: ['m'] })).toMatch(/net=a\.org/u);
  expect(refusal({ blocks: ['Shell'] }, { model: ['m'] })).toMatch(/--allow shell/u);
  expect(refusal({ blocks: ['ReadFiles'] }, { model: ['m'] })).toMatch(/--allow fs/u);
  expect(refusal({ blocks: ['ReadFiles'] }, { model: ['m'], fs: ['/x'] })).toBeUndefined();
});

test('B82 a model gets at no file outside the grants by a block, and is told so', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'cairn-agent-'));
  try {
    writeFileSync(join(folder, 'a.txt'), 'inside');
    const grants = { origin: 'inline', permissions: { model: true, fs: [folder] } } as const;
    const reading = async (path: string): Promise<unknown> =>
      told(
        await run([{ calls: [{ tool: 'ReadFiles', input: { path } }] }, 'Done.'], { blocks: ['ReadFiles'] }, grants),
      );
    expect(await reading(join(folder, 'a.txt'))).toMatchObject({ content: 'inside' });
    for (const path of ['/etc/passwd', join(folder, '../../etc/passwd')])
      expect(await reading(path)).toMatch(/^ReadFiles failed: .*not granted here/u);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});

test('B83 what an agent cannot use is a fault of the file, with what there is', () => {
  expect(faultsOf(textOf({ workflows: ['doubel'] }), more())).toEqual([
    expect.stringMatching(/there is no workflow doubel \| did you mean double\?/u),
  ]);
  expect(faultsOf(textOf({ blocks: ['Shel'] }), more())).toEqual([expect.stringMatching(/there is no block Shel \|/u)]);
  expect(faultsOf(textOf({ blocks: ['Ask'] }), more())).toEqual([expect.stringMatching(/Ask asks, and is no tool/u)]);
  expect(faultsOf(textOf({ servers: [{ server: 's' }] }), more())).toEqual([
    expect.stringMatching(/s needs a command, or a url/u),
  ]);
  expect(faultsOf(textOf({ max_loops: 0 }), more())).toHaveLength(1);
});
