/** What may happen around a pause: the scenarios of the fifth phase. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import type { CairnError } from '../../src/errors.ts';
import { openSqliteStore } from '../../src/stores/sqlite/index.ts';
import { outputsOf, promptsOf, yamlBench, type YamlBench } from '../yaml-bench.ts';

const folder = mkdtempSync(join(tmpdir(), 'cairn-pauses-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const approval = `
name: approval
inputs: { target: { type: str, default: here } }
blocks:
  - { id: ask, type: ConfirmOperation, inputs: { message: "Deploy \${target}?", operation: deploy } }
  - { id: deploy, type: EchoBlock, depends_on: [ask], condition: "\${ask.confirmed} == true", inputs: { message: "to \${target}" } }
  - { id: report, type: EchoBlock, depends_on: [deploy], inputs: { message: "\${deploy.echoed}" } }
  - id: always
    type: EchoBlock
    depends_on: [{ block: deploy, required: false }]
    inputs: { message: "deployed: \${blocks.deploy.succeeded}" }
outputs: { said: "\${report.echoed}", always: "\${always.echoed}", text: "deployed \${deploy.echoed}" }
`;

describe('test_pause_resume_scenarios', () => {
  test('W4 test_wave_level_pause: what runs beside a question is recorded, and what follows from it goes on', async () => {
    const paused = await yamlBench().start(`
name: wave
blocks:
  - { id: ask, type: GetInput, inputs: { prompt: "Name?" } }
  - { id: beside, type: EchoBlock, inputs: { message: one } }
  - { id: after, type: EchoBlock, depends_on: [beside], inputs: { message: "\${beside.echoed}" } }
`);
    expect(paused.status).toBe('paused');
    expect(Object.keys(paused.state.outputs).toSorted()).toEqual(['after', 'beside']);
  });

  test('G8 test_block_failure_after_resume: the failure is reported, what was done is kept, and the run can be resumed', async () => {
    const flag = join(folder, 'flag');
    const bench = yamlBench();
    const text = `
name: fails-later
blocks:
  - { id: ask, type: GetInput, inputs: { prompt: "Name?" } }
  - { id: work, type: Shell, depends_on: [ask], effect: read, inputs: { command: "test -e ${flag} && echo \${ask.input_value}" } }
outputs: { name: "\${trim(work.stdout)}" }
`;
    const { runId } = await bench.start(text);
    const failed = await bench.answer(runId, 'Ada');
    expect(failed).toMatchObject({ status: 'failed', failed: ['work'], error: { code: 'NODE_FAILED' } });
    expect(failed.state.outputs['ask']).toEqual({ input_value: 'Ada' });
    writeFileSync(flag, '');
    expect(outputsOf(await bench.afterDeath().resume(runId))).toEqual({ name: 'Ada' });
  });

  test('G3 test_conditional_skip_after_resume: skips are transitive, and a skipped field is absent, not zero', async () => {
    const bench = yamlBench();
    const { runId } = await bench.start(approval);
    const done = await bench.answer(runId, 'no');
    expect(done).toMatchObject({ status: 'completed', skipped: ['deploy', 'report'] });
    expect(outputsOf(done)).toEqual({ said: null, always: 'Echo: deployed: false', text: null });
  });

  test('E6 test_nested_pause_timeout: a timeout is that of the work, and a question of a child waits as long as it likes', async () => {
    const bench = yamlBench();
    const child = `
name: child
blocks: [{ id: ask, type: GetInput, inputs: { prompt: "Who?" } }]
outputs: { who: "\${ask.input_value}" }
`;
    const text = `
name: parent
blocks:
  - { id: call, type: Workflow, timeout: 1, continue_on_error: true, inputs: { workflow: child } }
  - id: after
    type: EchoBlock
    depends_on: [{ block: call, required: false }]
    inputs: { message: "answered: \${blocks.call.succeeded}" }
outputs: { said: "\${after.echoed}" }
`;
    const paused = await bench.start(text, {}, { others: { child } });
    expect(promptsOf(paused)).toEqual(["[Child workflow 'child'] Who?"]);
    expect(outputsOf(await bench.answer(paused.runId, 'Ada'))).toEqual({ said: 'Echo: answered: true' });
  });

  test('G8 a child that fails after its answer fails its block, with the reason', async () => {
    const bench = yamlBench();
    const child = `
name: child
blocks:
  - { id: ask, type: GetInput, inputs: { prompt: "Who?" } }
  - { id: work, type: Shell, depends_on: [ask], inputs: { command: "echo \${ask.input_value} >&2; exit 3" } }
`;
    const text = 'name: parent\nblocks: [{ id: call, type: Workflow, inputs: { workflow: child } }]\n';
    const { runId } = await bench.start(text, {}, { others: { child } });
    const failed = await bench.answer(runId, 'Ada');
    expect(failed).toMatchObject({ status: 'failed' });
    expect(failed.failed.join()).toContain('call');
    expect(String(failed.error?.message)).toMatch(/Ada|exited with 3/);
  });
});

const loop = (mode: string): string => `
name: loop
blocks:
  - id: parts
    type: Workflow
    for_each: [a, b, c]
    for_each_mode: ${mode}
    inputs: { workflow: part, inputs: { part: "\${each.value}" } }
outputs: { said: "\${parts.iterations.map(i, i.outputs.outputs.said)}" }
`;
const part = `
name: part
inputs: { part: { type: str } }
blocks:
  - { id: ask, type: GetInput, inputs: { prompt: "About \${part}?" } }
  - { id: again, type: GetInput, depends_on: [ask], inputs: { prompt: "Again \${part}?" } }
outputs: { said: "\${ask.input_value}\${again.input_value}" }
`;

async function answerAll(bench: YamlBench, runId: string): Promise<readonly string[]> {
  const asked: string[] = [];
  for (let result = await bench.engine.inspect(runId); result.waits.length > 0;) {
    const wait = result.waits.at(-1);
    asked.push(`${result.waits.length} open`);
    await bench.engine.answer(runId, wait?.waitId ?? '', `<${wait?.prompt?.replace(/.*\] /, '') ?? ''}>`);
    result = await bench.afterDeath().resume(runId);
  }
  return asked;
}

test.each([
  ['parallel', '3 open'],
  ['sequential', '1 open'],
])('W6 questions of children in a %s loop: %s at first, answered in any order', async (mode, first) => {
  const bench = yamlBench();
  const { runId } = await bench.start(loop(mode), {}, { others: { part } });
  expect((await answerAll(bench, runId))[0]).toBe(first);
  const said = ['a', 'b', 'c'].map((name) => `<About ${name}?><Again ${name}?>`);
  expect(outputsOf(await bench.engine.inspect(runId))).toEqual({ said });
});

describe('test_checkpoint_edge_cases', () => {
  test('H3 a run resumes from the definition stored with it, inline, edited or deleted', async () => {
    const bench = yamlBench();
    const { runId } = await bench.start(approval.replace('name: approval', 'name: never-in-a-file'));
    expect(outputsOf(await bench.afterDeath().answer(runId, 'yes'))).toMatchObject({ said: 'Echo: Echo: to here' });
  });

  test('H3 a changed definition is compared: what the run stands on may not be gone', async () => {
    const bench = yamlBench();
    const { runId } = await bench.start(approval);
    const gone = bench.read('name: approval\nblocks: [{ id: other, type: EchoBlock, inputs: { message: x } }]').graph;
    await expect(bench.engine.resume(runId, { graph: gone })).rejects.toMatchObject({ code: 'RUN_GRAPH_CHANGED' });
    const added = bench.read(
      approval.replace(
        'outputs:',
        '  - { id: more, type: EchoBlock, depends_on: [report], inputs: { message: more } }\noutputs:',
      ),
    ).graph;
    const { status } = await (await bench.engine.resume(runId, { graph: added })).result();
    expect(status).toBe('paused');
    const done = await bench.afterDeath().answer(runId, 'yes');
    expect(done.state.outputs['more']).toMatchObject({ echoed: 'Echo: more' });
  });

  test('P4 test_concurrent_checkpoint_access: of two that resume one run, one advances it', async () => {
    const path = join(folder, 'shared.db');
    const open = (): YamlBench => yamlBench([], { store: openSqliteStore({ path }) });
    const first = open();
    const { runId } = await first.start(approval);
    await first.engine.answer(runId, (await first.engine.waits(runId))[0]?.waitId ?? '', 'yes');
    const second = yamlBench([], {
      store: first.store,
      blobs: first.options.blobs,
      ids: { ...first.options.ids, workerId: 'other' },
    });
    const results = await Promise.allSettled([first.resume(runId), second.resume(runId)]);
    const done = results.filter((result) => result.status === 'fulfilled');
    expect(done.length).toBeGreaterThan(0);
    const codes = results.map((result) => (result.status === 'rejected' ? (result.reason as CairnError).code : 'done'));
    expect(new Set([...codes, 'done', 'CLAIM_TAKEN'])).toEqual(new Set(['done', 'CLAIM_TAKEN']));
    const { state } = await first.engine.inspect(runId);
    expect(state.outputs['outputs']).toMatchObject({ said: 'Echo: Echo: to here' });
    await first.store.close();
  });

  test('N6 a secret of a paused run is neither stored nor lost', async () => {
    const path = join(folder, 'secret.db');
    const secrets = {
      read: (name: string) => (name === 'TOKEN' ? 'planted-7f3a9c' : undefined),
    };
    const bench = yamlBench([], { store: openSqliteStore({ path }), secrets });
    const text = `
name: with-secret
secrets: [TOKEN]
blocks:
  - { id: ask, type: GetInput, inputs: { prompt: "Go?" } }
  - id: use
    type: Shell
    depends_on: [ask]
    inputs: { command: 'test \${secrets.TOKEN} = planted-7f3a9c && echo "it is \${secrets.TOKEN}"' }
outputs: { said: "\${use.stdout}" }
`;
    const { runId } = await bench.start(text);
    const done = await bench.afterDeath().answer(runId, 'go');
    expect(outputsOf(done)).toEqual({ said: 'it is [secret:TOKEN]\n' });
    await bench.store.close();
    expect(readFileSync(path).includes('planted-7f3a9c')).toBe(false);
  });

  test('Y7 workflows that call each other in a circle are refused at load, with the chain', () => {
    const call = (name: string, called: string): string =>
      `name: ${name}\nblocks: [{ id: call, type: Workflow, inputs: { workflow: ${called} } }]\n`;
    expect(() => yamlBench().read(call('a', 'b'), { a: call('a', 'b'), b: call('b', 'c'), c: call('c', 'a') })).toThrow(
      expect.objectContaining({
        code: 'GRAPH_INVALID',
        data: expect.objectContaining({ violations: expect.anything() }),
      }),
    );
  });

  test('W3 an answer without a question, and two answers at once', async () => {
    const bench = yamlBench();
    const { runId } = await bench.start(approval);
    const waitId = (await bench.engine.waits(runId))[0]?.waitId ?? '';
    const both = await Promise.allSettled([
      bench.engine.answer(runId, waitId, 'yes'),
      bench.engine.answer(runId, waitId, 'no'),
    ]);
    expect(both.map(({ status }) => status).toSorted()).toEqual(['fulfilled', 'rejected']);
    await bench.resume(runId);
    await expect(bench.engine.answer(runId, waitId, 'no')).rejects.toMatchObject({ code: 'WAIT_CLOSED' });
  });
});
