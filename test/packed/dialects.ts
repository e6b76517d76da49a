/** The installed package in bundles, in workers, and with files of the dialects. */
import { spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync } from 'node:fs';
import { join } from 'node:path';
import { build } from 'esbuild';
import { expect, test } from 'vitest';
import type { InstalledPackage } from '../support/installed-package.ts';
import type { Place } from '../support/packed-place.ts';

export function dialectCases(place: () => Place, installed: () => InstalledPackage): void {
  test.each([
    ['esm', false],
    ['esm', true],
    ['cjs', false],
  ] as const)('it bundles: %s, minified %s', async (format, minify) => {
    const at = place();
    const entry = at.file(
      'entry.mjs',
      `
import { AgentGraph, createMemoryStore, createWorker, END, humanNode, START } from 'cairn-workflows';
import { sessionMemory } from 'cairn-workflows/agents';
import { checkpointStoreOver, InMemoryCheckpointStore } from 'cairn-workflows/checkpoint';
import { createMemoryMemories } from 'cairn-workflows/store';
import 'cairn-workflows/mcp'; import 'cairn-workflows/agents'; import 'cairn-workflows/http';
const graph = new AgentGraph({}, { id: 'g' }).addNode('a', () => 7).addEdge(START, 'a').addEdge('a', END).compile();
graph.invoke({}).then(({ state }) => { console.log(JSON.stringify(state.outputs.a)); return graph.close(); });
`,
    );
    const outfile = join(mkdtempSync(join(installed().app, '../bundle-')), format === 'esm' ? 'out.mjs' : 'out.cjs');
    await build({
      entryPoints: [entry],
      bundle: true,
      platform: 'node',
      format,
      minify,
      outfile,
      logLevel: 'silent',
    });
    const { stdout, stderr } = spawnSync(process.execPath, [outfile], {
      encoding: 'utf8',
      cwd: join(outfile, '..'),
    });
    expect([stdout.trim(), stderr]).toEqual(['7', '']);
  });

  test('clean-ups side by side pass over what another has removed', async () => {
    const at = place();
    at.file('cairn.config.yaml', 'checkpoint: { ttl_seconds: 0.001, max_per_workflow: 1, auto_cleanup: false }\n');
    at.program(`
const graph = new AgentGraph({}, { id: 'g' }).addNode('a', () => 1).addNode('b', () => 2).addEdge(START, 'a').addEdge('a', 'b').addEdge('b', END).compile({ store: 'sqlite:runs.db' });
for (let n = 0; n < 200; n += 1) await graph.invoke({}, { runId: 'r' + n });
await graph.close(); console.log('null');
`);
    const ends = Array.from({ length: 4 }, async () => {
      const [code] = (await once(at.start('cleanup', '--yes', '--store', 'runs.db'), 'exit')) as [number];
      return code;
    });
    expect(await Promise.all(ends)).toEqual([0, 0, 0, 0]);
    expect(at.json('ls', '--store', 'runs.db')).toMatchObject({ runs: [] });
  });

  test('a worker goes on with the next run as soon as it has room', () => {
    const done = place().program(`
const graph = new AgentGraph({}, { id: 'g' }).addNode('a', () => 1).addEdge(START, 'a').addEdge('a', END).compile({ store: 'sqlite:runs.db' });
for (let n = 0; n < 160; n += 1) await graph.start({}, { runId: 'r' + n, detach: true });
let left = 160; const all = Promise.withResolvers();
const worker = createWorker({ graphs: [graph], pollMs: 3_600_000, onRested: () => { if ((left -= 1) === 0) all.resolve(); } });
await all.promise;
console.log(160 - left); await worker.stop(); await graph.close();
`);
    // It looks once an hour.
    expect(done).toBe(160);
  });

  test('a fork in a store of checkpoints replaces the parts of the state that it names', () => {
    const scratches = place().program(`
const scratches = [];
for (const store of [new InMemoryCheckpointStore(), checkpointStoreOver(createMemoryStore())]) {
const base = { graphId: 'g', runId: 'r', nodeResults: {}, visitedNodes: [], pendingEdges: [] };
await store.save({ ...base, id: 'first', nodeId: 'a', timestamp: 1, state: { input: {}, scratch: { tone: 'warm', size: 1 }, artifacts: {}, diagnostics: {} } });
scratches.push((await store.latest(await store.fork('first', { scratch: { tone: 'cold' } }))).state.scratch);
}
console.log(JSON.stringify(scratches));
`);
    expect(scratches).toEqual([{ tone: 'cold' }, { tone: 'cold' }]);
  });

  test('a file with the expressions of other runners is read: a missing field has a default, a time is an output', () => {
    const at = place();
    at.file('inner.yaml', 'name: inner\nblocks: [{ id: e, type: EchoBlock, inputs: { message: hi } }]\n');
    at.file(
      'w.yaml',
      `name: w
inputs: { conf: { type: dict, default: {} }, where: { type: str, default: "{{tmp}}/x" } }
blocks:
  - { id: sub, type: Workflow, inputs: { workflow: inner } }
outputs:
  absent: { value: "{{ get(inputs.conf, 'absent', 'no') }}" }
  took: { value: "{{ blocks.sub.outputs.execution_time_ms >= 0 }}" }
  where: { value: "{{ inputs.where }}" }
`,
    );
    const { outputs } = at.json('run', 'w.yaml') as { outputs: Record<string, unknown> };
    expect(outputs['absent']).toBe('no');
    expect(String(outputs['took'])).toMatch(/^true$/iu);
    expect(outputs['where']).not.toContain('{{');
  });

  test('everyday command lines with a value in brackets are no subscripts', () => {
    const at = place();
    for (const command of [
      'git commit -m "[${inputs.x}] fix"',
      'pip install "pkg[${inputs.x}]"',
      'grep "[${inputs.x}]" f',
    ]) {
      at.file(
        'w.yaml',
        `name: w\ninputs: { x: { type: str, default: a } }\nblocks: [{ id: a, type: Shell, inputs: { command: ${JSON.stringify(command)} } }]\n`,
      );
      expect([command, at.cairn('lint', 'w.yaml')]).toEqual([command, expect.objectContaining({ code: 0 })]);
    }
    at.file(
      'w.yaml',
      'name: w\ninputs: { x: { type: str, default: a } }\nblocks: [{ id: a, type: Shell, inputs: { command: "test -v ${inputs.x}" } }]\n',
    );
    expect(at.cairn('lint', 'w.yaml').code).not.toBe(0);
  });

  test('a pipeline of 30 stages whose way is endless is tried in bounded time, and its endless way is named', () => {
    const at = place();
    const stages = Array.from({ length: 30 }, (_, index) => `s${index}`);
    at.file(
      'p.dot',
      `digraph p { start [shape=Mdiamond]; end [shape=Msquare]; start -> ${stages.join(' -> ')}; s29 -> s0 [condition="outcome=success"]; s29 -> end [condition="outcome=fail"]; ${stages.map((id) => `${id} [prompt="do"]`).join('; ')} }`,
    );
    const tried = at.cairn('run', 'p.dot', '--dry-run');
    expect(tried.code).not.toBeNull();
    expect(`${tried.out}${tried.err}${at.cairn('lint', 'p.dot').out}`).toMatch(
      /endless|never|again and again|without end|loop/iu,
    );
  });

  test('a pause that was answered can be deleted by its id, and is listed no more', async () => {
    const at = place();
    at.file(
      'workflows/w.yaml',
      'name: w\nblocks: [{ id: q, type: ConfirmOperation, inputs: { message: "Sure?", operation: pay } }]\n',
    );
    const call = await at.mcp();
    const { checkpoint_id: id } = await call('execute_workflow', { workflow: 'w', run_id: 'r' });
    const done = await call('resume_workflow', { checkpoint_id: id, llm_response: 'yes' });
    expect(done).toMatchObject({ status: 'success' });
    const listed = async (): Promise<readonly unknown[]> => {
      const { checkpoints } = await call('list_checkpoints', { workflow_name: 'w' });
      return (checkpoints as readonly { readonly checkpoint_id: string }[]).map(({ checkpoint_id: one }) => one);
    };
    expect(await listed()).toContain(id);
    expect(await call('delete_checkpoint', { checkpoint_id: id })).toMatchObject({ deleted: true, checkpoint_id: id });
    expect(await listed()).not.toContain(id);
    expect(await call('delete_checkpoint', { checkpoint_id: id })).toMatchObject({ deleted: false });
    expect(await call('resume_workflow', { checkpoint_id: 'r' })).toEqual(done);
  });

  test('each store tells what it saved, by an id that finds it, and how long saving and loading took', () => {
    const seen = place().program(`
const seen = [];
for (const options of [{}, { store: 'sqlite:runs.db' }, { checkpointStore: new InMemoryCheckpointStore() }]) {
  const measured = new Set();
  const telemetry = { startSpan: () => ({ end() {} }), count() {}, measure: (name, ms) => ms >= 0 && measured.add(name) };
  const graph = new AgentGraph({}, { id: 'g' }).addNode('a', humanNode({ prompt: '?' })).addEdge(START, 'a').addEdge('a', END).compile({ ...options, telemetry });
  let last, runId;
  for await (const event of graph.stream({})) if (event.type === 'checkpoint_saved') ({ checkpointId: last, runId } = event);
  const found = options.checkpointStore === undefined ? await graph.history.show(last) : await options.checkpointStore.get(last);
  const { status } = await graph.resume(runId, { answers: { a: 'yes' } });
  seen.push([found.runId === runId, status, [...measured].toSorted()]);
  await graph.close();
}
console.log(JSON.stringify(seen));
`);
    const each = [true, 'completed', ['cairn.checkpoint.load', 'cairn.checkpoint.save']];
    expect(seen).toEqual([each, each, each]);
  });

  test('what a run recalled of its memory is in the checkpoints that the interface of stores gives', () => {
    const snapshot = place().program(`
const memories = createMemoryMemories(); const owner = { user: 'ada', session: 's' };
await memories.write(owner, ['likes tea'], 'x');
const source = sessionMemory(memories, { consistency: 'snapshot' });
const store = new InMemoryCheckpointStore();
const graph = new AgentGraph({}, { id: 'g', checkpointPolicy: 'every_node' }).addNode('greet', async (ctx) => {
  const known = await source.open(ctx, owner).recall(); await ctx.ask({ prompt: 'Go on?' }); return known.length;
}, { effectClass: 'read' }).addEdge(START, 'greet').addEdge('greet', END).compile({ checkpointStore: store });
const { runId } = await graph.invoke({}, { runId: 'r' });
console.log(JSON.stringify((await store.latest('r')).memorySnapshot ?? null)); await graph.close();
`);
    expect(snapshot).toMatchObject({ reads: [{ content: 'likes tea' }], pendingWrites: [] });
  });

  test('what comes near the limit of a checkpoint is told in the log, and what is over it is named with its largest places', () => {
    const at = place();
    at.file(
      'w.yaml',
      'name: w\ncheckpoint: { max_checkpoint_size_mb: 0.001 }\ninputs: { text: { type: str } }\nblocks: [{ id: a, type: EchoBlock, inputs: { message: "${inputs.text}${inputs.text}" } }]\n',
    );
    const run = (length: number): string => {
      const { out, err } = at.cairn('run', 'w.yaml', '--input', `text=${'x'.repeat(length)}`, '--run-id', `r${length}`);
      return `${out}${err}\n${at.cairn('log', `r${length}`).out}`;
    };
    expect(run(100)).not.toMatch(/near the limit/u);
    expect(run(450)).toMatch(/a adds \d+ bytes, near the limit of 1\.0 KiB/u);
    const over = run(600);
    expect(over).toMatch(/CHECKPOINT_TOO_LARGE/u);
    expect(over).toMatch(/largest places: outputs\.a\.echoed \d+ bytes/u);
    expect(over).not.toMatch(/[{}]|"path"/u);
  });
}
