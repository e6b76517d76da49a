/** Handlers mounted in servers of one's own: runs that are started or answered there go on there, whichever server is asked. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { createWorker } from '../app/worker.ts';
import type { CompiledGraph } from '../dialects/code/compiled-graph.ts';
import { AgentGraph, humanNode } from '../index.ts';
import { openSqliteStore } from '../stores/sqlite/index.ts';
import { bearerTokens } from './authorize.ts';
import { createClient, type CairnClient } from './client.ts';
import { createHandler, type HandlerOptions } from './handler.ts';

const token = 'token-of-ann-0123456789';
let folder = '';
let isFailing = true;
const closings: (() => unknown)[] = [];
const faults: unknown[] = [];
beforeEach(() => {
  isFailing = true;
  folder = mkdtempSync(join(tmpdir(), 'cairn-mounted-'));
});
afterEach(async () => {
  for (const close of closings.splice(0).reverse()) await close();
  rmSync(folder, { recursive: true, force: true });
  const failed = faults.splice(0);
  if (failed.length > 0) throw new AggregateError(failed, 'the server failed');
});

function compileRefund(store = openSqliteStore({ path: join(folder, 'runs.db') }), wakes = true): CompiledGraph {
  const refund = new AgentGraph({}, { id: 'refund' })
    .addNode('approve', humanNode({ prompt: 'Refund 5 EUR?', choices: ['yes', 'no'] }))
    .addNode('pay', (ctx) => ctx.receive('paid'), { effectClass: 'human' })
    .addNode(
      'end',
      () => {
        if (isFailing) throw new Error('at first it fails');
        return 'done';
      },
      { effectClass: 'pure' },
    )
    .addEdge('__start__', 'approve')
    .addEdge('approve', 'pay')
    .addEdge('pay', 'end')
    .compile({ store, wakes });
  closings.push(() => refund.close());
  return refund;
}

/** A server process: a graph, its engine, and a handler. */
function serve(options: Partial<HandlerOptions> = {}, refund = compileRefund()): CairnClient {
  const handler = createHandler({
    graphs: [refund],
    authorize: bearerTokens([
      { token, principal: 'ann', kind: 'person', scopes: ['read', 'run', 'answer', 'fork', 'admin'] },
    ]),
    onError: (error) => faults.push(error),
    ...options,
  });
  closings.push(() => handler.close());
  return createClient('http://localhost', token, {
    waitSeconds: 20,
    fetch: (url, init) => handler(new Request(url, init)),
  });
}

/** Follows a run through another server until it rests at a node. */
async function untilWaits(client: CairnClient, run: string, node: string): Promise<void> {
  for await (const event of client.follow(run)) {
    const isPause = event.type === 'checkpoint' && event.change.some(({ kind }) => kind === 'pause');
    if (isPause && (await client.inspect({ run })).waits.some((wait) => wait.node[0] === node)) return;
  }
}

/** Follows a run until it has ended. */
async function untilEnd(client: CairnClient, run: string): Promise<string> {
  for await (const event of client.follow(run)) if (event.type === 'reset') throw new Error('the run was lost');
  return (await client.inspect({ run })).status;
}

test('a run is started in one server, answered, signalled and resumed in another one, and ends without a worker', async () => {
  const [one, other] = [serve(), serve()];
  expect(await one.run({ file: 'refund', runId: 'r' })).toMatchObject({ result: { status: 'paused' } });
  await other.answer({ run: 'r', value: 'yes' });
  await untilWaits(one, 'r', 'pay');
  await one.signal({ run: 'r', name: 'paid', value: 5 });
  expect(await untilEnd(other, 'r')).toBe('failed');
  isFailing = false;
  expect(await other.resume({ run: 'r' })).toMatchObject({ status: 'completed' });
  expect(await one.inspect({ run: 'r' })).toMatchObject({ status: 'completed', spent: {} });
});

test('of an engine that wakes nothing by itself, answered runs go on all the same', async () => {
  const refund = compileRefund(undefined, false);
  const client = serve({}, refund);
  isFailing = false;
  await client.run({ file: 'refund', runId: 'r' });
  await client.signal({ run: 'r', name: 'paid', value: 5 });
  await client.answers({ run: 'r', answers: { approve: 'yes' } });
  expect(await untilEnd(client, 'r')).toBe('completed');
});

test('servers that leave runs to workers start, answer, resume and fork them, and advance none', async () => {
  const [one, other] = [serve({ advance: 'elsewhere' }), serve({ advance: 'elsewhere' })];
  const refund = compileRefund();
  const { engine } = refund;
  const claimable = (): Promise<readonly string[]> => engine.listClaimable({ limit: 10 });
  expect(await one.run({ file: 'refund', runId: 'r' })).toEqual({ runId: 'r', isNew: true, warnings: [] });
  await engine.resume('r').then((run) => run.result());

  expect(await claimable()).toEqual([]);
  await other.answer({ run: 'r', value: 'yes' });
  expect(await claimable()).toEqual(['r']);
  await engine.advance('r', { forMs: 60_000 });
  await one.signal({ run: 'r', name: 'paid', value: 5 });
  expect(await claimable()).toEqual(['r']);
  expect(await engine.advance('r', { forMs: 60_000 })).toEqual({ status: 'failed' });

  isFailing = false;
  expect(await claimable()).toEqual([]);
  expect(await other.resume({ run: 'r' })).toMatchObject({ status: 'running' });
  expect(await claimable()).toEqual(['r']);
  const worker = createWorker({ graphs: [refund] });
  closings.push(() => worker.stop());
  expect(await untilEnd(one, 'r')).toBe('completed');

  const forked = await one.fork({ checkpoint: 'r@0', runId: 'f', run: true });
  expect(forked).toMatchObject({ fork: { runId: 'f' }, result: { status: 'running' } });
  await untilWaits(other, 'f', 'approve');
});
