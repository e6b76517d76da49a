/**
 * A walk on the installed package, as a stranger takes it: with the command and the library that npm installed, and nothing of the
 * repository. Each case tries one promise that is proved in detail elsewhere, on the sources.
 */
import { spawnSync } from 'node:child_process';
import { once } from 'node:events';
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
} from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { createInterface } from 'node:readline';
import { build } from 'esbuild';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { root, type InstalledPackage } from './support/installed-package.ts';
import {
  asking,
  endAll,
  filesIn,
  isObeyed,
  installWithPeers,
  openPlace,
  shellWorkflow,
  type Place,
} from './support/packed-place.ts';
import { exchange } from './support/raw-socket.ts';
import { isProving } from './support/scale.ts';
import { zstdBomb } from './support/zstd-bomb.ts';

const timeoutMs = 180_000;
/** Of building, packing and installing, which share a busy machine. */
const installMs = 900_000;
let installed: InstalledPackage;
afterAll(async () => {
  await endAll();
  installed?.remove();
});

const place = (): Place => openPlace(installed);

describe.skipIf(!isProving)('the installed package (minutes: only in `npm run prove`)', { timeout: timeoutMs }, () => {
  beforeAll(() => void (installed = installWithPeers()), installMs);

  describe('security', () => {
    test('a grant of a folder is not left by a backslash', async () => {
      const at = place();
      mkdirSync(join(at.path, 'workflows'));
      mkdirSync(join(at.path, 'scratch'));
      const call = await at.mcp('--allow', `inline,fs=${join(at.path, 'scratch')}`);
      const path = `${at.path}/workflows/a\\..\\..\\scratch/pwned.yaml`;
      const text = `name: x\nblocks: [{ id: c, type: CreateFile, inputs: { path: ${JSON.stringify(path)}, content: pwned } }]\n`;
      const said = await call('execute_inline_workflow', { workflow_yaml: text });
      expect(said['status']).not.toBe('success');
      expect(filesIn(join(at.path, 'workflows'))).toEqual([]);
      expect(filesIn(join(at.path, 'scratch'))).toEqual([]);
    });

    test('no request ends the server, and what is no request of its is refused', async () => {
      const at = place();
      mkdirSync(join(at.path, 'workflows'));
      const child = at.start('mcp', '--http', '0', '--store', 'runs.db', '--workflows', 'workflows');
      let port = 0;
      for await (const line of createInterface({ input: child.stderr as NodeJS.ReadableStream })) {
        port = Number(/listening at \S+:(\d+)/u.exec(line)?.[1] ?? 0);
        if (port > 0) break;
      }
      const host = `Host: 127.0.0.1:${port}\r\nConnection: close\r\n`;
      const requests = [
        `GET // HTTP/1.1\r\n${host}\r\n`,
        `TRACE /mcp HTTP/1.1\r\n${host}\r\n`,
        `GET http://evil.com/ HTTP/1.1\r\n${host}\r\n`,
        'POST /mcp HTTP/1.1\r\nHost: evil.com@127.0.0.1\r\nConnection: close\r\nContent-Length: 0\r\n\r\n',
        `POST /mcp HTTP/1.1\r\n${host}Origin: http://localhost:9\r\nContent-Length: 2\r\n\r\n{}`,
      ];
      for (const request of requests) {
        const { status } = await exchange(port, request);
        expect([request, Math.floor(status / 100)]).toEqual([request, 4]);
      }
      expect(child.exitCode).toBeNull();
    });

    test('a row that unpacks to gigabytes is damage, and takes no memory', () => {
      const at = place();
      at.file('w.yaml', shellWorkflow('true'));
      expect(at.cairn('run', 'w.yaml', '--run-id', 'r', '--store', 'runs.db').code).toBe(0);
      const store = new DatabaseSync(join(at.path, 'runs.db'));
      store.prepare('update checkpoints set body = ? where seq = 1').run(zstdBomb(1.5 * 1024 ** 3));
      store.close();
      for (const command of ['log', 'show', 'state', 'verify']) {
        const { code, out, err } = at.cairn(command, 'r', '--store', 'runs.db');
        expect([command, code, /CHECKPOINT_CORRUPT/u.test(out + err)]).toEqual([command, 5, true]);
      }
    });

    test('reading and completing run no code of the folder', () => {
      const at = place();
      at.file(
        'cairn.config.mjs',
        `import { writeFileSync } from 'node:fs'; writeFileSync('ran', ''); export default {};`,
      );
      at.file('w.yaml', shellWorkflow('true'));
      at.file('p.dot', 'digraph p { start -> a -> end }');
      const reading =
        'completion runs, lint w.yaml, fmt p.dot, schema, ls, log r, show r, plan w.yaml, verify, inbox, doctor';
      const drawing = 'convert w.yaml, draw w.yaml, workflows, preview r';
      for (const command of `${reading}, ${drawing}`.split(', ')) {
        at.cairn(...command.split(' '));
        expect([command, existsSync(join(at.path, 'ran'))]).toEqual([command, false]);
      }
      const named = at.cairn('ls');
      expect([named.code, named.err]).toEqual([2, expect.stringContaining('--config')]);
    });

    test('a person approves what runs: the checked arguments, with defaults and conversions', () => {
      const shown = place().program(`
import { z } from 'zod';
import { agent, tool } from 'cairn-workflows/agents';
import { createScriptedModels } from 'cairn-workflows/models';
import { AgentGraph, END, START } from 'cairn-workflows';
const ran = [];
const pay = tool({ description: 'Pays.', effect: 'external',
  input: z.object({ amount: z.coerce.number().transform((n) => n * 1000), bcc: z.string().default('boss@x') }), run: (args) => ran.push(args) });
const models = createScriptedModels([{ calls: [{ tool: 'pay', input: { amount: '5' } }] }, 'Done.']);
const graph = new AgentGraph({}, { id: 'g' }).addNode('a', agent({ model: 'm', prompt: 'Pay.', tools: { pay } })).addEdge(START, 'a').addEdge('a', END).compile({ models });
const { runId, waits } = await graph.invoke({});
const asked = JSON.stringify(waits[0]);
await graph.answer(runId, waits[0].waitId, 'approve').catch(async () => graph.answer(runId, waits[0].waitId, { decision: 'approve' }));
await graph.resume(runId);
console.log(JSON.stringify({ asked, ran }));
await graph.close?.();
`) as { readonly asked: string; readonly ran: readonly object[] };
      expect(shown.ran).toEqual([{ amount: 5000, bcc: 'boss@x' }]);
      expect(shown.asked).toMatch(/5000/u);
      expect(shown.asked).toMatch(/boss@x/u);
    });

    test('a condition of a client reads no masked value', async () => {
      const at = place();
      at.file(
        'workflows/w.yaml',
        'name: w\ninputs: { password: { type: str } }\nblocks: [{ id: a, type: EchoBlock, inputs: { message: hi } }]\n',
      );
      const call = await at.mcp();
      await call('execute_workflow', { workflow: 'w', inputs: { password: 'hunter2' }, run_id: 'r' });
      const said = ['h', 'x'].map((letter) =>
        call('bisect_run', { run_id: 'r', when: `input.password.startsWith("${letter}")` }),
      );
      const [right, wrong] = (await Promise.all(said)).map((one) =>
        JSON.stringify(one).replace(/"[hx]"|\\"[hx]\\"/gu, ''),
      );
      expect(right).toEqual(wrong);
    });

    test('an import is held to the grants of who goes on with it', async () => {
      const from = place();
      from.file(
        'w.yaml',
        `name: w\nblocks:\n  - { id: q, type: AskChoice, inputs: { question: "Go?", choices: [yes, no] } }\n  - { id: a, type: Shell, depends_on: [q], inputs: { command: "touch ${from.path}/pwned" } }\n`,
      );
      expect(from.cairn('run', 'w.yaml', '--run-id', 'r').code).toBe(0);
      expect(from.cairn('export', 'r', 'r.cairn').code).toBe(0);
      const to = place();
      mkdirSync(join(to.path, 'workflows'));
      const imported = to.cairn('import', join(from.path, 'r.cairn'), '--run-id', 'r', '--store', 'runs.db');
      expect(imported.code).toBe(0);
      expect(`${imported.out}${imported.err}`).toMatch(/only what --allow grants.*Shell/su);
      const call = await to.mcp('--answers', 'anyone');
      await call('resume_workflow', { checkpoint_id: 'r', llm_response: 'yes' });
      expect(existsSync(join(from.path, 'pwned'))).toBe(false);
    });

    test('nothing raw goes to a terminal, and JSON escapes what terminals obey', () => {
      const at = place();
      at.file(
        'w.yaml',
        'name: w\ndescription: "x\\u001b[2J\\u009b2J\\u202Ey"\nblocks: [{ id: a, type: EchoBlock, inputs: { message: "\\u001b[2J\\u009b\\u202e\\u2028" } }]\n',
      );
      at.file('p.dot', 'digraph p { start -> a -> end; a [label="\u001b[2J\u009b\u202e"] }');
      at.cairn('run', 'w.yaml', '--run-id', 'r');
      for (const command of [
        // What `convert` and `fmt` write into a file is what the file says; to a terminal they write like the others.
        ['lint', 'p.dot'],
        ['plan', 'w.yaml'],
        ['log', 'r'],
        ['post-mortem', 'r'],
        ['state', 'r'],
        ['state', 'r', '--json'],
        ['lint', 'w.yaml', '--json'],
      ]) {
        const { out, err } = at.cairn(...command);
        expect([command, Array.from(out + err).some((character) => isObeyed(character))]).toEqual([command, false]);
      }
    });

    test('a model does not answer what is for people: an effect in doubt', async () => {
      const at = place();
      at.file('workflows/w.yaml', shellWorkflow('exit 3'));
      const call = await at.mcp('--allow', 'shell');
      await call('execute_workflow', { workflow: 'w', run_id: 'r' });
      const asked = await call('resume_workflow', { checkpoint_id: 'r' });
      const said = await call('resume_workflow', { checkpoint_id: 'r', answers: { a: 'happened' } });
      expect(JSON.stringify([asked, said])).toMatch(/ANSWER_RESERVED/u);
    });

    test('hostile texts do not stop the server for others', async () => {
      const at = place();
      at.file('workflows/w.yaml', shellWorkflow('true'));
      const call = await at.mcp('--allow', 'inline');
      const references = `name: x\nblocks:\n  - { id: a, type: EchoBlock, inputs: { message: "${'{{ inputs.x }} '.repeat(25_000)}" } }\n`;
      const chain = `digraph p { start -> ${Array.from({ length: 4_000 }, (_, index) => `n${index}`).join(' -> ')} -> end }`;
      const texts = [references, '['.repeat(400_000), '[,,,'.repeat(100_000), chain];
      const said = texts.map((workflow_yaml) =>
        call('validate_workflow', { workflow_yaml }).catch((error: Error) => ({ error: error.message })),
      );
      expect(JSON.stringify(await call('list_workflows', {}))).toContain('w');
      for (const one of await Promise.all(said)) expect(JSON.stringify(one)).not.toMatch(/INTERNAL/u);
    });

    test('the server says at its start what is granted, and by which file', async () => {
      const at = place();
      mkdirSync(join(at.path, 'workflows'));
      at.file('cairn.config.json', '{ "allow": ["inline", "shell"] }');
      const child = at.start('mcp', '--store', 'runs.db');
      let said = '';
      child.stderr?.on('data', (piece) => (said += String(piece)));
      child.stdin?.end();
      await once(child, 'exit');
      expect(said).toMatch(/shell.*cairn\.config\.json|cairn\.config\.json.*shell/su);
    });

    test('what is written for its owner is for its owner alone, and nothing is written through a link', () => {
      const at = place();
      at.file('w.yaml', shellWorkflow('true'));
      expect(at.cairn('run', 'w.yaml', '--run-id', 'r').code).toBe(0);
      chmodSync(at.file('page.html', 'old'), 0o644);
      const page = at.cairn('post-mortem', 'r', '--html', 'page.html');
      // It is either not written, or not to be read by others.
      expect(page.code === 0 ? statSync(join(at.path, 'page.html')).mode & 0o077 : 0).toBe(0);
      const kept = at.file('kept.txt', 'kept');
      symlinkSync(kept, join(at.path, 'link.svg'));
      at.cairn('draw', 'w.yaml', '--out', 'link.svg');
      expect(readFileSync(kept, 'utf8')).toBe('kept');
    });
  });

  describe('promises', () => {
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
import { AgentGraph, END, START } from 'cairn-workflows';
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
import { AgentGraph, END, START } from 'cairn-workflows';
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
import { AgentGraph, END, START } from 'cairn-workflows';
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
import { AgentGraph, END, humanNode, START } from 'cairn-workflows';
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
import { AgentGraph, END, START } from 'cairn-workflows';
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
import { AgentGraph, END, START } from 'cairn-workflows';
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
  });

  describe('use', () => {
    test.each([
      ['esm', false],
      ['esm', true],
      ['cjs', false],
    ] as const)('it bundles: %s, minified %s', async (format, minify) => {
      const at = place();
      const entry = at.file(
        'entry.mjs',
        `
import { AgentGraph, END, START } from 'cairn-workflows';
import 'cairn-workflows/mcp'; import 'cairn-workflows/agents'; import 'cairn-workflows/http';
const graph = new AgentGraph({}, { id: 'g' }).addNode('a', () => 7).addEdge(START, 'a').addEdge('a', END).compile();
graph.invoke({}).then(({ state }) => { console.log(JSON.stringify(state.outputs.a)); return graph.close(); });
`,
      );
      const outfile = join(mkdtempSync(join(installed.app, '../bundle-')), format === 'esm' ? 'out.mjs' : 'out.cjs');
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
import { AgentGraph, END, START } from 'cairn-workflows';
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
import { AgentGraph, createWorker, END, START } from 'cairn-workflows';
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
  });

  describe('dialects', () => {
    test('a fork in a store of checkpoints replaces the parts of the state that it names', () => {
      const scratches = place().program(`
import { checkpointStoreOver, InMemoryCheckpointStore } from 'cairn-workflows/checkpoint';
import { createMemoryStore } from 'cairn-workflows/stores/memory';
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
  });

  describe('doors', () => {
    test('`run --json` is one JSON document, whatever the program prints', () => {
      const at = place();
      at.file('g.mjs', `console.log('noise'); ${asking('?')} process.stdout.write('more');`);
      expect(at.json('run', 'g.mjs', '--run-id', 'r')).toMatchObject({ status: 'paused' });
    });

    test('a workflow that is not compiled runs, and gives what `returns` made', () => {
      const at = place();
      at.file(
        'w.mjs',
        `
import { z } from 'zod';
import { workflow } from 'cairn-workflows';
export const refund = workflow('refund').input(z.object({})).step('a', () => 2).returns(({ state }) => ({ doubled: state.artifacts.a * 2 }));
`,
      );
      const ran = at.cairn('run', 'w.mjs', '--run-id', 'r', '--json');
      expect([ran.code, ran.err]).toEqual([0, '']);
      expect(ran.out).toContain('"doubled":4');
    });

    test('the types are whole under the settings of the guide', () => {
      const at = place();
      at.file(
        'g.ts',
        `import { z } from 'zod';
import { AgentGraph, END, START } from 'cairn-workflows';
import { durable } from 'cairn-workflows/ai-sdk';
export const graph = new AgentGraph({ input: z.object({}) }).addNode('a', async (ctx) => {
  const { amount } = await ctx.receive('paid', { schema: z.object({ amount: z.number() }), timeoutMs: 5 });
  const n: number = amount; return [n, typeof durable];
}, { effectClass: 'read' }).addEdge(START, 'a').addEdge('a', END).compile();
`,
      );
      at.file(
        'tsconfig.json',
        '{ "compilerOptions": { "target": "es2023", "module": "nodenext", "strict": true, "noEmit": true, "skipLibCheck": true, "types": ["node"] }, "include": ["g.ts"] }',
      );
      const { status, stdout } = spawnSync(
        process.execPath,
        [join(root, 'node_modules/typescript/bin/tsc'), '-p', '.'],
        { cwd: at.path, encoding: 'utf8' },
      );
      expect([status, stdout]).toEqual([0, '']);
    });

    test('the reference comes with the package', () => {
      const pages = readdirSync(join(installed.home, 'dist/reference'));
      expect(pages).toContain('main.md');
      expect(readFileSync(join(installed.home, 'dist/reference/main.md'), 'utf8')).toContain('humanNode');
    });

    test('a step that was put in where a run is past is told in the log', () => {
      const at = place();
      const withStep = (more: string): string => `
import { AgentGraph, END, humanNode, START } from 'cairn-workflows';
export const graph = new AgentGraph({}, { id: 'g' }).addNode('a', () => 1)${more}.addNode('ask', humanNode({ prompt: '?' }))
  .addEdge(START, 'a')${more === '' ? ".addEdge('a', 'ask')" : ".addEdge('a', 'b').addEdge('b', 'ask')"}.addEdge('ask', END).compile();
`;
      at.file('one.mjs', withStep(''));
      at.file('two.mjs', withStep(".addNode('b', () => 2)"));
      expect(at.cairn('run', 'one.mjs', '--run-id', 'r').code).toBe(0);
      expect(at.cairn('answer', 'r', 'x').code).toBe(0);
      const resumed = at.cairn('resume', 'r', '--file', 'two.mjs');
      expect(`${resumed.out}${resumed.err}${at.cairn('log', 'r').out}`).toMatch(/\bb\b/u);
    });

    test('a start of the same id from a second process is the run', () => {
      const at = place();
      at.file('g.mjs', asking('Go?'));
      expect(at.json('run', 'g.mjs', '--run-id', 'r')).toMatchObject({ status: 'paused' });
      expect(at.json('run', 'g.mjs', '--run-id', 'r')).toMatchObject({ runId: 'r', status: 'paused' });
    });

    test('a fork tells whose it is, once', () => {
      const at = place();
      at.file('g.mjs', asking('Go?'));
      at.cairn('run', 'g.mjs', '--run-id', 'r');
      at.cairn('answer', 'r', 'yes', '--resume', '--file', 'g.mjs');
      const fork = at.cairn('fork', 'r', '--answer', 'ask=no', '--run-id', 'f', '--run', '--file', 'g.mjs');
      expect([fork.code, fork.out]).toEqual([0, expect.stringContaining('completed f@')]);
      expect(at.cairn('post-mortem', 'f').out).toMatch(/\br@\d/u);
      expect(at.json('show', 'f')).not.toMatchObject({ isInDoubt: true });
    });

    // Large values stay until they are a day old, and `rm` says so.
    test('a file of a store gives room back', () => {
      const at = place();
      at.file(
        'g.mjs',
        `
import { AgentGraph, END, START } from 'cairn-workflows';
export const graph = new AgentGraph({}, { id: 'g' }).addNode('a', () => Array.from({ length: 2000 }, () => Math.random().toString(36)).join('')).addEdge(START, 'a').addEdge('a', END).compile();
`,
      );
      const size = (): number =>
        filesIn(at.path)
          .filter((name) => name.startsWith('runs.db'))
          .reduce((sum, name) => sum + statSync(join(at.path, name)).size, 0);
      for (const id of ['a', 'b', 'c', 'd', 'e', 'f'])
        expect(at.cairn('run', 'g.mjs', '--run-id', id, '--store', 'runs.db').code).toBe(0);
      const before = size();
      for (const id of ['a', 'b', 'c', 'd', 'e', 'f'])
        expect(at.cairn('rm', id, '--yes', '--store', 'runs.db').code).toBe(0);
      const cleaned = at.cairn('cleanup', '--vacuum', '--yes', '--store', 'runs.db');
      expect([cleaned.code, size() < before]).toEqual([0, true]);
    });
  });
});
