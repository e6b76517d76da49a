/** Graphs whose first node does to its process what a node should not, one of each kind, and a healthy one. */
import { execFileSync } from 'node:child_process';
import { setTimeout as sleep } from 'node:timers/promises';
import { AgentGraph, END, START, type NodeContext } from '../../src/index.ts';

type Work = (ctx: NodeContext) => unknown;

const withNext = (id: string, work: Work, options: object = {}, nextMs = 0): AgentGraph =>
  new AgentGraph({}, { id })
    .addNode('first', work, options)
    .addNode('next', async () => {
      await sleep(nextMs);
      return 'next';
    })
    .addEdge(START, 'first')
    .addEdge('first', 'next')
    .addEdge('next', END);

const reject = (message: string): void => void Promise.reject(new Error(message));

export const rejects = withNext('rejects', async () => {
  reject('forgotten');
  await sleep(10_000);
}).compile();

export const throws = withNext('throws', async () => {
  setTimeout(() => {
    throw new Error('in a timer');
  }, 5);
  await sleep(10_000);
}).compile();

/** Its promise is rejected when it has ended, while the next node runs. */
export const late = withNext(
  'late',
  () => {
    setTimeout(() => reject('too late'), 20);
    return 'early';
  },
  {},
  500,
).compile();

/** What it did to the world may have happened. */
export const external = withNext(
  'external',
  async ({ signal }: NodeContext) => {
    reject('beside an effect');
    await sleep(10_000, undefined, { signal });
  },
  { effectClass: 'external' },
).compile();

/** Its second attempt is sound. */
export const retried = withNext(
  'retried',
  async ({ attempt }: NodeContext) => {
    if (attempt > 1) return 'second';
    reject('only once');
    return sleep(10_000);
  },
  { retry: { attempts: 2, delayMs: 1 } },
).compile();

/** The error of a step fails the step, which the node can handle. */
export const inStep = withNext('in-step', async (ctx) => {
  try {
    return await ctx.step('s', {}, async () => {
      reject('in a step');
      await sleep(10_000);
    });
  } catch (error) {
    return `caught: ${(error as Error).message}`;
  }
}).compile();

export const exits = withNext('exits', async () => {
  await sleep(5);
  process.exit(3);
}).compile();

/** Catching what it throws does not undo that it was called. */
export const exitsQuietly = withNext('exits-quietly', async () => {
  try {
    process.exit(0);
  } catch {
    await sleep(10_000);
  }
}).compile();

/** No code of ours sees these come. */
export const killed = withNext('killed', async () => {
  await sleep(20);
  process.kill(process.pid, 'SIGKILL');
  await sleep(10_000);
}).compile();

export const aborts = withNext('aborts', async () => {
  await sleep(20);
  process.abort();
}).compile();

export const exhausts = withNext('exhausts', async () => {
  const held: number[][] = [];
  for (;;) {
    held.push(Array.from({ length: 1e6 }, () => Math.random()));
    await sleep(0);
  }
}).compile();

export const endsParent = withNext('ends-parent', async () => {
  await sleep(20);
  execFileSync('sh', ['-c', 'kill -9 $PPID'], { stdio: 'ignore' });
  await sleep(10_000);
}).compile();

/** It ends its process in a step that may have happened. */
export const killedInStep = withNext('killed-in-step', async (ctx) => {
  await ctx.step('pay', { effect: 'external' }, async () => {
    await sleep(20);
    process.kill(process.pid, 'SIGKILL');
    await sleep(10_000);
  });
}).compile();

/** The same, and its failure has an edge. */
export const recovers = new AgentGraph({}, { id: 'recovers' })
  .addNode(
    'first',
    async () => {
      await sleep(20);
      process.abort();
    },
    { retry: { attempts: 5, delayMs: 1 } },
  )
  .addNode('after', () => 'after')
  .addEdge(START, 'first')
  .addEdge('first', 'after', { on: 'failed' })
  .addEdge('after', END)
  .compile();

/** It takes longer than its workers live, while they are killed again and again. */
export const patient = withNext('patient', () => sleep(1_500, 'done')).compile();

export const healthy = withNext('healthy', () => 'fine', {}, 50).compile();

/** It never lets go of the event loop. */
export const blocks = withNext('blocks', async () => {
  await sleep(20);
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0);
}).compile();

/** It holds the event loop for a while. */
export const computes = withNext('computes', () => {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 2_000);
  return 'computed';
}).compile();
