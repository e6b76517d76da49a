/** What a run on the installed package keeps to, whatever happens to it. */
import { chmodSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { expect, test } from 'vitest';
import type { InstalledPackage } from '../support/installed-package.ts';
import { asking, shellWorkflow, type Place } from '../support/packed-place.ts';

export function promiseCases(place: () => Place, installed: () => InstalledPackage): void {
  test('an answer is for the question that was asked, and for no other', () => {
    const at = place();
    at.file('five.mjs', asking('Refund 5 EUR?'));
    at.file('more.mjs', asking('Refund 5,000 EUR?'));
    expect(at.cairn('run', 'five.mjs', '--run-id', 'r').code).toBe(0);
    expect(at.cairn('answer', 'r', 'yes').code).toBe(0);
    expect(at.json('resume', 'r', '--file', 'more.mjs')).toMatchObject({ status: 'paused' });
    expect(at.cairn('inbox', 'r').out).toContain('5,000');
  });

  test('nothing of a list begins after a cancel', () => {
    const seen = place().program(`
import { AgentGraph, createMemoryStore, END, humanNode, openHistory, START } from 'cairn-workflows';
import { durable } from 'cairn-workflows/ai-sdk';
import { openSqliteStore } from 'cairn-workflows/stores/sqlite';
import { crashEverywhere } from 'cairn-workflows/testing';
let begun = 0, atCancel = 0;
const graph = new AgentGraph({}, { id: 'g' }).addNode('a', async (ctx) => {
for (let n = 0; n < 500; n += 1) await ctx.step('s' + n, {}, async () => { begun += 1; await new Promise((r) => setTimeout(r, 5)); });
}).addEdge(START, 'a').addEdge('a', END).compile();
const { runId } = await graph.start({}, { runId: 'r' });
while (begun < 10) await new Promise((r) => setTimeout(r, 2));
const ending = graph.cancel('r'); atCancel = begun; await ending;
await new Promise((r) => setTimeout(r, 1000));
console.log(JSON.stringify({ late: begun - atCancel, status: (await graph.engine.inspect('r')).status }));
await graph.close();
`) as { readonly late: number };
    expect(seen.late).toBeLessThanOrEqual(2);
  });

  test('an effect that is tried once says why, and what else there is', () => {
    const said = String(
      place().program(`
const graph = new AgentGraph({}, { id: 'g' }).addNode('a', () => { throw new Error('no'); }, { effectClass: 'external', retry: { attempts: 5 } }).addEdge(START, 'a').addEdge('a', END).compile();
const { error } = await graph.invoke({});
console.log(JSON.stringify(error.message + ' ' + error.hint)); await graph.close();
`),
    );
    expect(said).toMatch(/idempotent/u);
    expect(said).toMatch(/applied/u);
  });

  test('a time that never comes is refused', () => {
    const at = place();
    at.file('w.yaml', shellWorkflow('true'));
    expect(at.cairn('schedule', 'add', 'w.yaml', '--cron', '0 0 30 2 *').code).toBe(2);
    expect(at.cairn('schedule', 'add', 'w.yaml', '--cron', '0 0 29 2 *').code).toBe(0);
  });

  test('now, random and uuid are in each repetition what they were', () => {
    const [first, second] = place().program(`
const drawn = [];
const graph = new AgentGraph({}, { id: 'g' }).addNode('a', async (ctx) => { drawn.push([ctx.now(), ctx.random(), ctx.uuid()]); return ctx.ask({ prompt: '?' }); }, { effectClass: 'read' }).addEdge(START, 'a').addEdge('a', END).compile();
const { runId, waits } = await graph.invoke({});
await new Promise((r) => setTimeout(r, 20));
await graph.answer(runId, waits[0].waitId, 'x'); await graph.resume(runId);
console.log(JSON.stringify(drawn)); await graph.close();
`) as readonly unknown[];
    expect(second).toEqual(first);
  });

  test('what follows a cancel runs once, with its reason', () => {
    expect(
      place().program(`
const graph = new AgentGraph({}, { id: 'g', onCancel: 'free' }).addNode('ask', humanNode({ prompt: '?' })).addNode('free', (ctx) => 'freed: ' + ctx.cancel.reason, { effectClass: 'external', idempotent: true }).addEdge(START, 'ask').addEdge('ask', END).compile();
const { runId } = await graph.invoke({});
await graph.cancel(runId, { reason: 'ill' }); await graph.resume(runId).catch(() => {});
const { status, state } = await graph.engine.inspect(runId);
console.log(JSON.stringify([status, state.outputs.free])); await graph.close();
`),
    ).toEqual(['cancelled', 'freed: ill']);
  });

  test('timers of the program fire while a run loops, whatever its nodes are', () => {
    const fired = place().program(`
let ticks = 0; const timer = setInterval(() => { ticks += 1; }, 20);
const graph = new AgentGraph({}, { id: 'g' }).addNode('a', async (ctx) => { const until = Date.now() + 600; let n = 0; for (; Date.now() < until; n += 1) await ctx.step('s', {}, async () => n); return n; }).addEdge(START, 'a').addEdge('a', END).compile();
await graph.invoke({}); clearInterval(timer);
console.log(JSON.stringify(ticks)); await graph.close();
`);
    expect(fired).toBeGreaterThan(2);
  });

  test('a detached run that nobody has taken is queued, and a store that is read-only is exported', () => {
    const at = place();
    at.program(`
const graph = new AgentGraph({}, { id: 'g' }).addNode('a', () => 1).addEdge(START, 'a').addEdge('a', END).compile({ store: 'sqlite:runs.db' });
await graph.start({}, { runId: 'q', detach: true });
console.log('1'); await graph.close();
`);
    expect(at.cairn('ls', '--store', 'runs.db').out).toContain('queued');
    chmodSync(join(at.path, 'runs.db'), 0o444);
    const exported = at.cairn('export', 'q', '-', '--store', 'runs.db');
    expect([exported.code, exported.err]).toEqual([0, '']);
    expect(exported.out).toContain('"q"');
  });

  test('a resume after a failed effect goes on at once, though the process that made it lives', () => {
    const [plain, idempotent] = place().program(`
const seen = [];
for (const options of [{ effectClass: 'external' }, { effectClass: 'external', idempotent: true }]) {
  let calls = 0;
  const open = () => new AgentGraph({}, { id: 'g' }).addNode('a', () => { calls += 1; if (calls === 1) throw new Error('no'); return 'paid'; }, options)
    .addEdge(START, 'a').addEdge('a', END).compile({ store: 'sqlite:runs.db' });
  const first = open(); const { runId, status: before } = await first.invoke({}); await first.close();
  const second = open(); const { status, waits } = await second.resume(runId); await second.close();
  seen.push([before, status, waits.map(({ kind }) => kind), calls]);
}
console.log(JSON.stringify(seen));
`) as readonly unknown[];
    // A program that waited for the deadline of the effect, ten minutes, would have been ended.
    expect(plain).toEqual(['failed', 'paused', ['doubt'], 1]);
    expect(idempotent).toEqual(['failed', 'completed', [], 2]);
  });

  test('who waits for an effect of a process that lives says at once for whom, and until when', () => {
    const [detail, status] = place().program(`
import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
const graph = new AgentGraph({}, { id: 'g' }).addNode('pay', async () => {
  if (process.argv[2] !== 'stalls') return 'paid';
  console.log('begun'); await new Promise((r) => setTimeout(r, 3_600_000));
}, { effectClass: 'external', idempotent: true }).addEdge(START, 'pay').addEdge('pay', END).compile({ store: 'sqlite:runs.db', leaseMs: 1_000 });
if (process.argv[2] === 'stalls') await graph.invoke({}, { runId: 'r' });
const other = spawn(process.execPath, [process.argv[1], 'stalls'], { stdio: ['ignore', 'pipe', 'inherit'] });
await new Promise((r) => other.stdout.once('data', r));
other.kill('SIGSTOP');
let handle;
for (let n = 0; handle === undefined && n < 100; n += 1) { await new Promise((r) => setTimeout(r, 100)); handle = await graph.engine.resume('r').catch(() => undefined); }
let detail;
for await (const event of handle.events()) if (event.type === 'waiting') { detail = event.detail; break; }
const now = Date.now();
other.kill('SIGKILL');
const { status } = await handle.result();
console.log(JSON.stringify([{ ...detail, inMs: detail.until - now }, status])); await graph.close();
`) as readonly [{ readonly owner: string; readonly inMs: number }, string];
    expect(detail.owner).toMatch(/./u);
    expect(detail.inMs).toBeGreaterThan(60_000);
    // That it died is seen before the deadline.
    expect(status).toBe('completed');
  });

  test('what declares no effect class and is begun again after a kill is told in the result, the log and the story', () => {
    const at = place();
    const dying = (options: string): string => `
import { existsSync, writeFileSync } from 'node:fs';
export const graph = new AgentGraph({}, { id: 'g' }).addNode('pay', () => {
  if (!existsSync('paid')) { writeFileSync('paid', ''); process.kill(process.pid, 'SIGKILL'); }
  return 'paid';
}${options}).addEdge(START, 'pay').addEdge('pay', END).compile();
`;
    at.file('g.mjs', dying(''));
    expect(at.cairn('run', 'g.mjs', '--run-id', 'r').code).toBeNull();
    expect(at.json('ls')).toMatchObject({ runs: [{ runId: 'r', isStopped: true }] });
    expect(at.json('resume', 'r', '--file', 'g.mjs')).toMatchObject({ status: 'completed', repeated: ['pay'] });
    expect(at.cairn('log', 'r').out).toMatch(
      /begun again: the process that had the run before ended, or lost it, or gave it back while this ran; it declares no effect class/u,
    );
    expect(at.cairn('post-mortem', 'r').out.replace(/\s+/gu, ' ')).toMatch(/pay .*may have been done twice/u);
    const linted = at.cairn('lint', 'g.mjs');
    expect([linted.code, linted.out + linted.err]).toEqual([0, expect.stringContaining('undeclared_effect')]);
    expect(at.cairn('plan', 'g.mjs').out).toMatch(/pay .*not declared/u);
    at.file('declared.mjs', dying(", { effectClass: 'pure' }"));
    expect(at.cairn('lint', 'declared.mjs').out).not.toContain('undeclared_effect');
    expect(at.cairn('plan', 'declared.mjs').out).not.toContain('not declared');
    expect(readFileSync(join(installed().home, 'README.md'), 'utf8')).toMatch(
      /declares no class is pure: after a kill it is begun again, and reported/u,
    );
  });

  test('two calls of one answer with the same id are both made, once, and each gets its own result', () => {
    expect(
      place().program(`
import { generateText, isStepCount, tool } from 'ai';
import { z } from 'zod';
const usage = { inputTokens: { total: 1, noCache: 1 }, outputTokens: { total: 1, text: 1 } };
const call = (to) => ({ type: 'tool-call', toolCallId: 'same', toolName: 'send', input: JSON.stringify({ to }) });
const model = { specificationVersion: 'v3', provider: 'p', modelId: 'm', supportedUrls: {}, doGenerate: async ({ prompt }) => prompt.some(({ role }) => role === 'tool')
  ? { content: [{ type: 'text', text: 'Done.' }], finishReason: { unified: 'stop', raw: 'stop' }, usage, warnings: [] }
  : { content: [call('ann'), call('bob')], finishReason: { unified: 'tool-calls', raw: 'tool_calls' }, usage, warnings: [] } };
const sent = [];
const graph = new AgentGraph({}, { id: 'g' }).addNode('a', async (ctx) => {
  const d = durable(ctx, { name: 'support' });
  const tools = d.tools({ send: tool({ inputSchema: z.object({ to: z.string() }), execute: ({ to }) => { sent.push(to); return 'sent to ' + to; } }) });
  const { text, steps } = await generateText({ model: d.model(model), tools, stopWhen: isStepCount(3), prompt: 'Go.', ...d.settings });
  return [text, steps[0].toolResults.map(({ output }) => output), await ctx.ask({ prompt: 'Well?' })];
}, { effectClass: 'read' }).addEdge(START, 'a').addEdge('a', END).compile({ store: 'sqlite:runs.db' });
const { runId, waits } = await graph.invoke({});
await graph.answer(runId, waits[0].waitId, 'yes');
const { status, state } = await graph.resume(runId);
console.log(JSON.stringify([status, state.outputs.a, sent.toSorted()])); await graph.close();
`),
    ).toEqual(['completed', ['Done.', ['sent to ann', 'sent to bob'], 'yes'], ['ann', 'bob']]);
  });

  test('the crash kit takes timers of days and months', () => {
    expect(
      place().program(`
const graph = () => new AgentGraph({}, { id: 'g' }).addNode('a', async (ctx) => {
  const begun = ctx.now();
  await ctx.sleepUntil(begun + 3 * 86_400_000); await ctx.sleepUntil(begun + 63 * 86_400_000, 'again');
}, { effectClass: 'read' }).addEdge(START, 'a').addEdge('a', END).compile();
const { faults, trials } = await crashEverywhere({ graph, input: {} }, { open: () => ({ store: createMemoryStore() }) });
console.log(JSON.stringify([faults, trials > 5]));
`),
    ).toEqual([[], true]);
  });

  test('an import that was killed is half an import, which is no damage, and is repeated at once', () => {
    const at = place();
    const blocks = ['a', 'b', 'c'].map((id) => `  - { id: ${id}, type: EchoBlock, inputs: { message: hi } }\n`);
    at.file('w.yaml', `name: w\nblocks:\n${blocks.join('')}`);
    expect(at.cairn('run', 'w.yaml', '--run-id', 'w', '--store', 'from.db').code).toBe(0);
    expect(at.cairn('export', 'w', 'w.cairn', '--store', 'from.db').code).toBe(0);
    expect(() =>
      at.program(`
import { readFileSync } from 'node:fs';
const store = openSqliteStore({ path: 'to.db' });
let commits = 0;
const dying = { ...store, commit: (commit) => ((commits += 1) > 1 ? process.kill(process.pid, 'SIGKILL') : store.commit(commit)) };
await openHistory(dying).import(readFileSync('w.cairn', 'utf8'), { runId: 'w' });
console.log('null');
`),
    ).toThrow(Error);
    const half = at.cairn('verify', '--store', 'to.db');
    expect([half.code, half.out]).toEqual([0, expect.stringMatching(/Half an import/u)]);
    const again = at.cairn('import', 'w.cairn', '--run-id', 'w', '--store', 'to.db');
    expect([again.code, again.err]).toEqual([0, '']);
    const whole = at.cairn('verify', '--store', 'to.db');
    expect([whole.code, whole.out]).toEqual([0, expect.not.stringMatching(/Half an import/u)]);
    expect(at.json('ls', '--store', 'to.db')).toMatchObject({ runs: [{ runId: 'w', status: 'completed' }] });
  });

  test('after a restore and a release, what has a reconcile is looked up before it is done', () => {
    const at = place();
    at.file(
      'g.mjs',
      `
import { appendFileSync, existsSync, readFileSync } from 'node:fs';
const done = () => (existsSync('ledger') ? readFileSync('ledger', 'utf8').trim().split('\\n') : []);
const reconcile = ({ idempotencyKey }) => ({ happened: done().includes(idempotencyKey), output: 'looked up' });
const act = ({ idempotencyKey }) => { appendFileSync('ledger', idempotencyKey + '\\n'); return 'done'; };
export const graph = new AgentGraph({}, { id: 'pays' }).addNode('ask', humanNode({ prompt: 'Pay?', choices: ['yes', 'no'] }))
  .addNode('pay', act, { effectClass: 'external', reconcile }).addNode('book', (ctx) => ctx.step('row', { effect: 'write', reconcile }, act))
  .addEdge(START, 'ask').addEdge('ask', 'pay').addEdge('pay', 'book').addEdge('book', END).compile();
`,
    );
    const outputsIn = (store: string): unknown => {
      expect(at.cairn('answer', 'r', 'yes', '--store', store).code).toBe(0);
      return (at.json('resume', 'r', '--file', 'g.mjs', '--store', store)['state'] as { outputs: unknown }).outputs;
    };
    expect(at.cairn('run', 'g.mjs', '--run-id', 'r', '--store', 'runs.db').code).toBe(0);
    expect(at.cairn('backup', 'kept.cairn', '--store', 'runs.db').code).toBe(0);
    expect(outputsIn('runs.db')).toMatchObject({ pay: 'done', book: 'done' });
    expect(at.cairn('restore', 'kept.cairn', '--trust', '--store', 'new.db').code).toBe(0);
    expect(at.cairn('resume', 'r', '--file', 'g.mjs', '--store', 'new.db').err).toContain('RUN_HELD');
    expect(at.cairn('release', 'r', '--store', 'new.db').code).toBe(0);
    expect(outputsIn('new.db')).toMatchObject({ pay: 'looked up', book: 'looked up' });
    expect(readFileSync(join(at.path, 'ledger'), 'utf8').trim().split('\n')).toHaveLength(2);
  });

  test('over an unreadable early checkpoint, a resume names the intact one before it, and offers the snapshot behind it', () => {
    const at = place();
    const nodes = Array.from(
      { length: 80 },
      (_, n) => `.addNode('n${n}', () => ${n}).addEdge(${n === 0 ? 'START' : `'n${n - 1}'`}, 'n${n}')`,
    );
    at.file(
      'g.mjs',
      `
export const graph = new AgentGraph({}, { id: 'g' })${nodes.join('')}.addNode('ask', humanNode({ prompt: '?' })).addEdge('n79', 'ask').addEdge('ask', END).compile();
`,
    );
    expect(at.cairn('run', 'g.mjs', '--run-id', 'r', '--store', 'runs.db').code).toBe(0);
    const store = new DatabaseSync(join(at.path, 'runs.db'));
    store.prepare('update checkpoints set body = zeroblob(20) where seq = 1').run();
    const { seq } = store.prepare('select max(seq) seq from snapshots').get() as { readonly seq: number };
    store.close();
    expect(at.cairn('answer', 'r', 'x', '--store', 'runs.db').code).toBe(0);
    const { code, err } = at.cairn('resume', 'r', '--file', 'g.mjs', '--store', 'runs.db');
    expect([code, err]).toEqual([5, expect.stringMatching(/intact one before it.* is \w+\.0;/u)]);
    expect(err).toMatch(new RegExp(`from the snapshot of \\w+\\.${seq}\\.`, 'u'));
    expect(at.cairn('fork', `r@${seq}`, '--run-id', 'f', '--store', 'runs.db').code).toBe(0);
    const fork = at.json('resume', 'f', '--file', 'g.mjs', '--store', 'runs.db');
    expect(fork).toMatchObject({ status: 'paused' });
  });
}
