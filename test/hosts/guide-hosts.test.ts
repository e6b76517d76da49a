/** The code that the guide to hosts shows for Temporal and for Kubernetes, executed: with stand-ins for Temporal's functions, and with curl. */
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { stripTypeScriptTypes } from 'node:module';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { createContext, runInContext } from 'node:vm';
import { expect, test } from 'vitest';
import { parse } from 'yaml';
import { createDefaultEngine } from '../../src/app/default-engine.ts';
import type { Engine } from '../../src/engine/api.ts';
import { fetchHost } from '../../src/hosts/index.ts';
import { toNodeHandler } from '../../src/http/node.ts';
import { AgentGraph, END, START, type Graph } from '../../src/index.ts';
import { until } from '../support/awaited.ts';

const guide = readFileSync(join(import.meta.dirname, '../../docs/guide/hosts.md'), 'utf8');

/** The first block of code under a heading. */
function blockUnder(heading: string): string {
  const [, code] = /^```\w+\n(.*?)^```$/msu.exec(guide.slice(guide.indexOf(`## ${heading}`))) ?? [];
  if (code === undefined) throw new Error(`the guide has no code under ${heading}`);
  return code;
}

/** The value of a script in which these names are known. */
function evaluate(script: string, names: object): unknown {
  return runInContext(script, createContext({ Date, Math, Infinity, ...names }));
}

function shop(engine: Engine, effects: string[]): Graph {
  return new AgentGraph({}, { id: 'shop' })
    .addNode('charge', () => void effects.push('charge'), { effectClass: 'external', timeoutMs: 5_000 })
    .addNode('nap', (ctx) => ctx.sleepUntil(ctx.now() + 20))
    .addNode('ask', (ctx) => ctx.ask({ prompt: 'Send it?' }), { effectClass: 'human' })
    .addNode('send', () => void effects.push('send'), { effectClass: 'external', timeoutMs: 5_000 })
    .addEdge(START, 'charge')
    .addEdge('charge', 'nap')
    .addEdge('nap', 'ask')
    .addEdge('ask', 'send')
    .addEdge('send', END)
    .compile({ engine }).graph;
}

test('HO4 the workflow of Temporal in the guide advances a run to its end, though each activity is called twice', async () => {
  const [activities = '', workflow = ''] = blockUnder('Temporal').split('// workflow.ts');
  const toScript = (code: string): string => stripTypeScriptTypes(code).replaceAll(/^export /gmu, '');
  const engine = createDefaultEngine({ wakes: false });
  const effects: string[] = [];
  const graph = shop(engine, effects);
  type Activity = (runId: string) => Promise<unknown>;
  const advance = evaluate(`${toScript(activities)}; advance;`, { engine }) as Activity;
  const handlers = new Map<unknown, () => void>();
  const temporal = {
    proxyActivities: () => ({ advance: async (runId: string) => (await advance(runId), advance(runId)) }),
    defineSignal: (name: string) => name,
    setHandler: (signal: unknown, handler: () => void) => void handlers.set(signal, handler),
    condition: async (isTrue: () => boolean, forMs: number) => {
      const end = Date.now() + forMs;
      await until('a condition of the workflow', () => isTrue() || Date.now() >= end, 2);
    },
  };
  const run = evaluate(`${toScript(`//${workflow}`)}; run;`, temporal) as (runId: string) => Promise<void>;
  const { runId } = await engine.start(graph, {}, { detach: true });
  const ended = run(runId);
  const [wait] = await until(
    'the question',
    async () => {
      const waits = (await engine.waits(runId)).filter(({ kind }) => kind === 'question');
      return waits.length > 0 && waits;
    },
    5,
  );
  await engine.answer(runId, wait?.waitId ?? '', 'yes');
  handlers.get('wake')?.();
  await ended;
  expect((await engine.inspect(runId)).status).toBe('completed');
  expect(effects).toEqual(['charge', 'send']);
  await engine.close();
});

const hasCurl = spawnSync('curl', ['--version']).status === 0;

test.skipIf(!hasCurl)(
  `HO9 the job of Kubernetes in the guide sweeps${hasCurl ? '' : ': curl is not installed'}`,
  async () => {
    const job = parse(blockUnder('A job of Kubernetes')) as {
      readonly spec: { readonly jobTemplate: { readonly spec: { readonly template: { readonly spec: PodSpec } } } };
    };
    const [container] = job.spec.jobTemplate.spec.template.spec.containers;
    const engine = createDefaultEngine({ wakes: false });
    const effects: string[] = [];
    const graph = shop(engine, effects);
    const host = fetchHost({ graphs: [{ graph, engine }], token: 'secret-token', maxMs: 60_000 });
    const server = createServer((request, response) => void toNodeHandler(host)(request, response));
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const { port } = server.address() as AddressInfo;
    await engine.start(graph, {}, { detach: true });
    const [program = '', ...args] = container.command.map((part) =>
      part.replace('http://runs/', `http://127.0.0.1:${port}/`),
    );
    const child = spawn(program, args, { env: { ...process.env, TICK_TOKEN: 'secret-token' }, stdio: 'ignore' });
    expect(await once(child, 'exit')).toEqual([0, null]);
    expect(effects).toEqual(['charge']);
    server.closeAllConnections();
    server.close();
    await engine.close();
  },
);

interface PodSpec {
  readonly containers: readonly [{ readonly command: readonly string[] }];
}
