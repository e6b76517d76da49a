/** The `Agent` block: what a file may name as tools, what asks, and what is not granted. */
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { digraph } from '../../../test/dot-kit.ts';
import { afterCrash, createBench, resumeToRest, runToRest } from '../../../test/engine-kit.ts';
import { faultsOf, journal, read, types, type More } from '../../../test/yaml-kit.ts';
import { systemClock } from '../../app/process/system-clock.ts';
import { NodeFailure } from '../../graph/contracts/node-contract.ts';
import type { RunResult } from '../../engine/api.ts';
import type { Permissions } from '../../graph/permissions/permissions.ts';
import type { TextWorkflow } from '../../dialects/text-workflow.ts';
import { checkCalledDot } from '../../dialects/dot/read-dot.ts';
import type { ReadOptions } from '../../dialects/yaml/index.ts';
import { createScriptedModels, type Script, type ScriptedModels } from '../../models/scripted.ts';
import { createNodeTypes } from '../../nodes/blocks/index.ts';
import { shellBlock } from '../../nodes/blocks/shell.ts';
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

/** @param options - of the engine */
async function run(
  script: Script,
  inputs: object,
  given: More = {},
  options: Parameters<typeof createBench>[0] = {},
): Promise<Ran> {
  const models = createScriptedModels(script);
  const bench = createBench({ models, ...options });
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

/** An agent in a file of its own, as a tool of another. */
const helper = (inputs: object, more = ''): string =>
  `name: helper\nblocks: [{ id: a, type: Agent, ${more} inputs: ${JSON.stringify({ prompt: 'Go.', ask_person: false, ...inputs })} }]\n`;
const outerOf = (name: string): string =>
  `name: outer\nblocks: [{ id: a, type: Workflow, inputs: { workflow: ${name} } }]\n`;

test.each<[string, Readonly<Record<string, string>>, string?]>([
  ['a block', { helper: helper({ blocks: ['Effect'], allow: ['Effect'] }) }],
  ['a workflow', { helper: helper({ workflows: ['act'], allow: ['act'] }) }],
  ['a program', { helper: helper({ shell: true, allow: ['shell'] }) }],
  ['a server', { helper: helper({ servers: [{ server: 's', command: 'x', allow: true }] }) }],
  ['each item', { helper: helper({ blocks: ['Effect'], allow: ['Effect'] }, 'for_each: [1],') }],
  ['two deep', { helper: helper({ blocks: ['Effect'], allow: ['Effect'] }), outer: outerOf('helper') }, 'outer'],
  [
    'an agent of an agent',
    {
      helper: helper({ workflows: ['inner'], allow: ['inner'] }),
      inner: helper({ blocks: ['Effect'], allow: ['Effect'] }).replace('helper', 'inner'),
    },
  ],
  [
    'itself',
    {
      helper: `name: helper\nblocks: [{ id: a, type: Effect }, { id: b, type: Workflow, inputs: { workflow: helper }, condition: "false" }]`,
    },
  ],
])(
  'A6 B81 an agent of a workflow that acts without asking is asked about, and planned as what it does: %s',
  async (what, texts, name = 'helper') => {
    journal.done.length = 0;
    const given = { others: { ...others, ...texts } };
    const { result, goOn } = await run([{ calls: [{ tool: name, input: {} }] }, 'Done.'], { workflows: [name] }, given);
    expect([result.waits.map(({ prompt }) => prompt?.split('\n')[0]), journal.done]).toEqual([
      [`May the agent call ${name}?`],
      [],
    ]);
    // The question says it too; what acts by its own class is no agent's allowance.
    const { allowedInside = 'nothing' } = (result.waits[0]?.metadata ?? {}) as { readonly allowedInside?: string };
    expect(allowedInside).toMatch(what === 'itself' ? 'nothing' : /^(?:write|external)$/u);
    const [planned] = read(textOf({ workflows: [name] }), more(given)).blocks[0]?.tools ?? [];
    expect(planned).toEqual({ name, effect: expect.stringMatching(/write|external/), asks: true });
    expect((await goOn('refuse')).status).toBe('completed');
    const [allowed] = read(textOf({ workflows: [name], allow: [name] }), more(given)).blocks[0]?.tools ?? [];
    expect(allowed).toMatchObject({ ...planned, asks: false });
  },
);

test('A6 B81 what an agent within asks about itself is asked about there, with its arguments', async () => {
  journal.done.length = 0;
  const given = { others: { ...others, helper: helper({ blocks: ['Effect'] }) } };
  const script = [
    { calls: [{ tool: 'helper', input: {} }] },
    { calls: [{ tool: 'Effect', input: { value: 1 } }] },
    'A.',
    'B.',
  ];
  const { result, goOn } = await run(script, { workflows: ['helper'] }, given);
  expect(result.waits.map(({ prompt }) => prompt)).toEqual([expect.stringContaining('May the agent call Effect?\n')]);
  expect(read(textOf({ workflows: ['helper'], allow: ['helper'] }), more(given)).blocks[0]?.tools?.[0]).toEqual({
    name: 'helper',
    effect: 'write',
    asks: true,
  });
  expect([(await goOn('approve')).status, journal.done.length]).toEqual(['completed', 1]);
});

test('B81 a workflow acts also where it does so for each item, by a computed name, or as a pipeline, and then asks first', async () => {
  const acting: Readonly<Record<string, string>> = {
    ...others,
    each: 'name: each\nblocks: [{ id: a, type: Effect, for_each: [1] }]\n',
    computed:
      'name: computed\ninputs: { x: { default: act } }\nblocks: [{ id: a, type: Workflow, inputs: { workflow: "${x}" } }]\n',
    pipe: digraph('start -> a -> exit\na [shape=parallelogram, tool_command="true"]'),
    outer: 'name: outer\nblocks: [{ id: a, type: Workflow, inputs: { workflow: pipe } }]\n',
    harmless: digraph('start -> a -> exit\na [shape=diamond]'),
  };
  const readOther: ReadOptions['readOther'] = ({ text, source }) =>
    text.startsWith('digraph') ? checkCalledDot(text, { nodeTypes: [shellBlock], source }) : undefined;
  const asked = async (name: string): Promise<readonly [string, number]> => {
    const script = [{ calls: [{ tool: name, input: {} }] }, 'Done.'];
    const { result } = await run(script, { workflows: [name] }, { others: acting, readOther });
    return [result.status, result.waits.length];
  };
  for (const name of ['each', 'computed', 'pipe', 'outer'])
    expect([name, await asked(name)]).toEqual([name, ['paused', 1]]);
  expect(await asked('harmless')).toEqual(['completed', 0]);
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
  expect(refusal({ fallbacks: ['n'] }, { model: ['m'] })).toMatch(/--allow model=n/u);
  expect(refusal({ history: { messages_max: 9, summary: { model: 'n' } } }, { model: ['m'] })).toMatch(/model=n/u);
  expect(refusal({ shell: true }, { model: ['m'] })).toMatch(/--allow shell/u);
  expect(refusal({ files: '/y' }, { model: ['m'], fs: ['/x'] })).toMatch(/--allow fs=\/y/u);
  expect(refusal({ files: '/x/y' }, { model: ['m'], fs: ['/x'] })).toBeUndefined();
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

test('B80 mode, settings, history and fallbacks of the block are those of the agent', async () => {
  const down = new NodeFailure('down', { code: 'MODEL_REFUSED', applied: 'no' });
  const one = await run(
    [down, '{ "calls": [{ "tool": "double", "arguments": { "n": 4 } }] }', 'It is four.', '{ "answer": "8" }'],
    {
      model: 'a',
      fallbacks: ['b'],
      mode: 'json',
      temperature: 0,
      max_tokens: 50,
      history: { messages_max: 1, summary: { model: 'c', messages_kept: 1 } },
      workflows: ['double'],
    },
  );
  expect(said(one.result)).toEqual({ content: '8' });
  expect(one.models.requests.map(({ model }) => model)).toEqual(['a', 'b', 'c', 'a']);
  expect(one.models.requests[1]).toMatchObject({ temperature: 0, tokensMax: 50, schema: expect.anything() });
  expect(one.models.requests[1]?.tools).toBeUndefined();
});

test('B80 a budget of the block bounds tokens and seconds of its agent', async () => {
  const text = (amount: number): string =>
    textOf({ workflows: ['double'] }).replace(
      '    inputs:',
      `    budget: { tokens: ${amount} }\n    on_budget: fail\n    inputs:`,
    );
  const spend = async (amount: number): Promise<unknown> => {
    const usage = { inputTokens: 50, outputTokens: 50 };
    const models = createScriptedModels([{ calls: [{ tool: 'double', input: { n: 1 } }], usage }, 'Done.']);
    const { graph } = read(text(amount), more());
    const { status, error } = await runToRest(createBench({ models }).engine, graph, {}, 'r');
    return [status, (error?.cause as { readonly code?: unknown } | undefined)?.code];
  };
  expect(await spend(1_000)).toEqual(['completed', undefined]);
  expect(await spend(99)).toEqual(['failed', 'BUDGET_EXCEEDED']);
});

test('B84 files of a folder: the model reads them, and writing asks unless it is allowed; a shell runs there', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'cairn-agent-'));
  try {
    writeFileSync(join(folder, 'a.txt'), 'inside');
    const calls: Script = [
      {
        calls: [
          { tool: 'read_file', input: { path: 'a.txt' } },
          { tool: 'shell', input: { command: ['cat', 'a.txt'] } },
          { tool: 'write_file', input: { path: 'b.txt', content: 'new' } },
        ],
      },
      'Done.',
    ];
    // A program takes time of this machine.
    const one = await run(
      calls,
      { model: 'm', files: folder, shell: true, allow: ['shell'] },
      {},
      { clock: systemClock },
    );
    expect(one.result.waits.map(({ metadata }) => (metadata as { readonly tool: string }).tool)).toEqual([
      'write_file',
    ]);
    expect(existsSync(join(folder, 'b.txt'))).toBe(false);
    const done = await one.goOn('approve');
    expect(done.status).toBe('completed');
    expect(readFileSync(join(folder, 'b.txt'), 'utf8')).toBe('new');
    expect(one.models.requests[1]?.messages.at(-1)?.content).toMatchObject([
      { output: 'inside' },
      { output: expect.objectContaining({ stdout: 'inside' }) },
      {},
    ]);
    const reading = await run(['Done.'], { model: 'm', files: folder, files_read_only: true });
    expect(reading.models.requests[0]?.tools?.map(({ name }) => name)).toEqual([
      'list_files',
      'search_files',
      'read_file',
      'ask_person',
    ]);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});

test('B84 a folder that is not there is made where the agent may write in it, and not where it only reads', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'cairn-agent-'));
  try {
    const [own, other] = [join(folder, 'new', 'deep'), join(folder, 'other')];
    const write: Script = [{ calls: [{ tool: 'write_file', input: { path: 'b.txt', content: 'new' } }] }, 'Done.'];
    const one = await run(write, { model: 'm', files: own, allow: ['write_file'] });
    expect([one.result.status, readFileSync(join(own, 'b.txt'), 'utf8')]).toEqual(['completed', 'new']);
    const two = await run(['Done.'], { model: 'm', files: other, files_read_only: true });
    expect([two.result.status, existsSync(other)]).toEqual(['completed', false]);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});

test('B85 a plan names what the model may call, of which class each is, and before which a person is asked', () => {
  const { blocks } = read(
    textOf({
      workflows: ['double', 'act'],
      blocks: ['Note', 'Effect'],
      files: 'docs',
      shell: true,
      servers: [{ server: 's', command: 'x' }],
      allow: ['Effect'],
    }),
    more(),
  );
  const shown = blocks[0]?.tools?.map(({ name, effect, asks }) => `${name} ${effect}${asks ? ' asks' : ''}`);
  expect(shown).toEqual([
    'double pure',
    'act write asks',
    'Note pure',
    'Effect write',
    'list_files read',
    'search_files read',
    'read_file read',
    'write_file write asks',
    'edit_file write asks',
    'shell external asks',
    's__* external asks',
    'ask_person human asks',
  ]);
});

test('B83 what an agent cannot use is a fault of the file, with what there is', () => {
  expect(faultsOf(textOf({ workflows: ['doubel'] }), more())).toEqual([
    expect.stringMatching(/there is no workflow doubel \| did you mean double\?/u),
  ]);
  expect(faultsOf(textOf({ blocks: ['Shel'] }), more())).toEqual([expect.stringMatching(/there is no block Shel \|/u)]);
  expect(faultsOf(textOf({ blocks: ['Ask'] }), more())).toEqual([
    expect.stringMatching(/Ask asks or has steps of its own, and is no tool/u),
  ]);
  expect(faultsOf(textOf({ servers: [{ server: 's' }] }), more())).toEqual([
    expect.stringMatching(/s needs a command, or a url/u),
  ]);
  expect(faultsOf(textOf({ max_loops: 0 }), more())).toHaveLength(1);
  expect(faultsOf(textOf({ mode: 'yell' }), more())).toEqual([expect.stringMatching(/mode/u)]);
  expect(faultsOf(textOf({ history: { summary: true } }), more())).toEqual([
    expect.stringMatching(/summary needs messagesMax or tokensMax/u),
  ]);
  expect(faultsOf(textOf({ allow: ['shell', 'Effect'], blocks: ['Effect'] }), more())).toEqual([
    expect.stringMatching(/allow names shell, which is none of its tools \| there are: Effect, ask_person/u),
  ]);
});
