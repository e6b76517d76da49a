/** Webhooks: what is told, by whom, when whoever should tell it dies, and what tells nothing (WH1 to WH4). */
import { expect, test } from 'vitest';
import { settleDown } from '../../../test/dying-engine.ts';
import {
  createBench,
  edges,
  graphOf,
  node,
  resumeToRest,
  runToRest,
  testIds,
  type Bench,
} from '../../../test/engine-kit.ts';
import { within } from '../../../test/support/awaited.ts';
import type { Graph, GraphDefinition } from '../../graph/graph.ts';
import type { Webhook } from '../../graph/webhooks.ts';
import type { Secrets } from '../../ports/secrets.ts';
import type { Store } from '../../ports/store.ts';
import type { WebhookDelivery, WebhookReply } from '../../ports/webhooks.ts';
import { createMemoryStore } from '../../stores/memory/index.ts';
import { storeMethods } from '../../testing/faulty-store.ts';
import type { Engine, EngineOptions } from '../api.ts';
import { createEngine } from '../engine.ts';
import { createEngineWorker } from '../worker.ts';

const tenant = 'default';
const hook: Webhook = { url: 'https://hooks.example.org/a', on: ['completed', 'failed'], secret: 'secret:HOOK' };
const all: Webhook = { ...hook, on: ['completed', 'failed', 'asked', 'overdue'] };

/** A receiver that answers as it is told, 204 unless it is told otherwise. */
class Receiver {
  readonly got: WebhookDelivery[] = [];
  readonly replies: WebhookReply[] = [];
  readonly #more: (() => void)[] = [];

  readonly send = async (delivery: WebhookDelivery): Promise<WebhookReply> => {
    this.got.push(delivery);
    for (const tell of this.#more.splice(0)) tell();
    // What would never end ends here.
    if (this.got.length > 30) return new Promise(() => {});
    return this.replies.shift() ?? { status: 204 };
  };

  async untilGot(count: number): Promise<readonly WebhookDelivery[]> {
    const more = async (): Promise<void> => {
      while (this.got.length < count) await new Promise<void>((resolve) => this.#more.push(resolve));
    };
    await within(`${count} deliveries arrive`, more());
    return this.got;
  }

  get bodies(): readonly Record<string, never>[] {
    return this.got.map(({ body }) => JSON.parse(body) as Record<string, never>);
  }
}

const secrets: Secrets = {
  read: (name) => (name === 'HOOK' ? 'whsec_shared-with-the-receiver' : undefined),
};

function benchOf(receiver: Receiver, more: Partial<EngineOptions> = {}): Bench {
  return createBench({ secrets, webhooks: { hooks: [], send: receiver.send }, ...more });
}

const simple = (more: Partial<GraphDefinition> = {}): Graph =>
  graphOf('simple', [node('a', 'pure', () => 'fine')], edges('> a', 'a >'), { webhooks: [hook], ...more });

const owedIn = async (store: Store): Promise<readonly string[]> =>
  (await store.listWaits({ tenant, kinds: ['delivery'] })).rows.map(({ runId }) => runId);

const deliveriesIn = async (store: Store): Promise<readonly string[]> =>
  (await store.listRuns({ tenant, graphId: 'cairn:webhook' })).rows.map(({ status }) => status);

test('WH1 the end of a run is told to the webhooks of its graph, of the engine and of its own, each once, with its run', async () => {
  const receiver = new Receiver();
  const ofStore = { ...hook, url: 'https://hooks.example.org/b' };
  const ofRun = { ...hook, url: 'https://hooks.example.org/c' };
  const { engine, store } = benchOf(receiver, { webhooks: { hooks: [ofStore, hook], send: receiver.send } });
  const handle = await engine.start(simple(), {}, { runId: 'r', meta: { labels: { user: 'ann' }, webhooks: [ofRun] } });
  expect((await handle.result()).status).toBe('completed');
  // Whoever has the result may rely on it: what was owed is a run by now.
  expect([await owedIn(store), (await deliveriesIn(store)).length]).toEqual([[], 3]);
  const got = await receiver.untilGot(3);
  expect(got.map(({ url }) => url).toSorted()).toEqual([
    'https://hooks.example.org/a',
    'https://hooks.example.org/b',
    'https://hooks.example.org/c',
  ]);
  expect(new Set(got.map(({ id }) => id)).size).toBe(3);
  expect(receiver.bodies[0]).toEqual({
    type: 'run.completed',
    timestamp: expect.stringMatching(/^\d{4}-/) as string,
    data: { runId: 'r', graphId: 'simple', labels: { user: 'ann' }, seq: expect.any(Number) as number },
  });
  expect(got[0]).toMatchObject({ secret: 'whsec_shared-with-the-receiver', isPrivate: false });
});

test('WH1 a failure is told with its nodes and messages, masked, and told again when the resumed run fails again', async () => {
  const receiver = new Receiver();
  const failing = (): never => {
    throw new Error('no such card {"password": "hunter2"}');
  };
  const graph = graphOf('failing', [node('pay', 'pure', failing)], edges('> pay', 'pay >'), { webhooks: [hook] });
  const { engine } = benchOf(receiver);
  await runToRest(engine, graph, {}, 'r');
  await resumeToRest(engine, 'r', graph);
  const [first, second] = await receiver.untilGot(2);
  expect(receiver.bodies[0]).toMatchObject({
    type: 'run.failed',
    data: { failures: [{ node: 'pay', message: 'no such card {"password": "[redacted]"}' }] },
  });
  expect(first?.id).not.toBe(second?.id);
});

test('WH1 a question is told when it is asked and each time when it is late, with all that an answer link needs', async () => {
  const receiver = new Receiver();
  const ask = node('ask', 'human', (ctx) =>
    ctx.ask({ prompt: 'Pay?', choices: ['yes', 'no'], for: ['ann'], remindAfterMs: 3_600_000 }),
  );
  const graph = graphOf('asking', [ask], edges('> ask', 'ask >'), { webhooks: [all] });
  const { engine, clock } = benchOf(receiver, { findGraph: () => graph });
  const { waits } = await runToRest(engine, graph, {}, 'r');
  await clock.advance(3_600_000);
  await resumeToRest(engine, 'r', graph);
  await receiver.untilGot(2);
  expect(receiver.bodies.map(({ type }) => type)).toEqual(['question.asked', 'question.overdue']);
  const { data } = receiver.bodies[0] as unknown as { data: { question: Record<string, unknown> } };
  expect(data.question).toMatchObject({ runId: 'r', waitId: waits[0]?.waitId, prompt: 'Pay?', for: ['ann'] });
  await engine.answer('r', waits[0]?.waitId ?? '', 'yes', { by: 'ann' });
  await resumeToRest(engine, 'r', graph);
  await receiver.untilGot(3);
  expect(receiver.bodies.at(-1)).toMatchObject({ type: 'run.completed' });
});

test('WH1 what the person in a chat is asked is not told', async () => {
  const receiver = new Receiver();
  const ask = node('ask', 'human', (ctx) => ctx.ask({ prompt: 'And then?', audience: 'user' }));
  const graph = graphOf('chat', [ask], edges('> ask', 'ask >'), { webhooks: [all] });
  const { engine, store } = benchOf(receiver);
  await runToRest(engine, graph, {}, 'r');
  expect([receiver.got, await deliveriesIn(store)]).toEqual([[], []]);
});

test('WH2 killed at any call of the store, a run is told at least once and under one id, whoever goes on with it', async () => {
  const seen: number[] = [];
  for (let call = 0, isOver = false; !isOver; call += 1) {
    const receiver = new Receiver();
    const bench = benchOf(receiver, { findGraph: () => simple() });
    isOver = await dieAtCall(bench, call);
    const other = createEngine({ ...bench.options, ids: testIds('worker-2', ['worker-1']), wakes: false });
    const worker = createEngineWorker({ engine: other });
    if ((await bench.store.readRun({ tenant, runId: 'r' })) === undefined) {
      await worker.stop();
      continue;
    }
    await receiver.untilGot(1);
    await within('all runs end', untilEnded(bench));
    await worker.stop();
    await other.close();
    seen.push(receiver.got.length);
    expect(new Set(receiver.got.map(({ id, body }) => `${id} ${body}`)).size, `killed at call ${call}`).toBe(1);
    expect([call, await owedIn(bench.store), await deliveriesIn(bench.store)]).toEqual([call, [], ['completed']]);
  }
  // Somewhere it dies between the sending and its record, and the receiver hears of it twice.
  expect([Math.min(...seen), Math.max(...seen), seen.length > 5]).toEqual([1, 2, true]);
});

/** Runs in an engine that loses its store at this call. @returns whether it came to rest before */
async function dieAtCall(bench: Bench, callsLeft: number): Promise<boolean> {
  let remaining = callsLeft;
  const died = Promise.withResolvers<boolean>();
  const mortal = storeMethods.map((method) => [
    method,
    async (...args: readonly unknown[]): Promise<unknown> => {
      if ((remaining -= 1) < 0) {
        died.resolve(false);
        return new Promise(() => {});
      }
      return (bench.store[method] as (...given: readonly unknown[]) => Promise<unknown>)(...args);
    },
  ]);
  const engine = createEngine({ ...bench.options, store: { ...bench.store, ...Object.fromEntries(mortal) } as Store });
  const whole = async (): Promise<boolean> => {
    await (await engine.start(simple(), {}, { runId: 'r' })).result();
    // Its delivery is advanced beside it.
    for (;;) {
      if ((await deliveriesIn(bench.store)).every((status) => status === 'completed')) return true;
      await settleDown();
    }
  };
  const isWhole = await Promise.race([whole(), died.promise]);
  await settleDown();
  return isWhole;
}

async function untilEnded({ store }: Bench): Promise<void> {
  for (;;) {
    const { rows } = await store.listRuns({ tenant, status: ['running', 'paused', 'cancelling'] });
    if (rows.length === 0 && (await owedIn(store)).length === 0) return;
    await settleDown();
  }
}

test('WH2 a sweep delivers what an owner owed that never came to it, once, however many sweep', async () => {
  const receiver = new Receiver();
  const bench = benchOf(receiver, { findGraph: () => simple() });
  const deaf = {
    ...bench.store,
    clearDelivery: () => new Promise<never>(() => {}),
    admitRun: admitsOnly(bench.store, 'r'),
  };
  const owner = createEngine({ ...bench.options, store: deaf });
  await owner.start(simple(), {}, { runId: 'r' });
  await within('the run ends', untilStatus(bench.store, 'completed'));
  expect([await owedIn(bench.store), receiver.got]).toEqual([['r'], []]);
  const others = ['two', 'three'].map((id) => createEngine({ ...bench.options, ids: testIds(id, ['worker-1']) }));
  await Promise.all(others.map((engine) => engine.sweepWebhooks()));
  await receiver.untilGot(1);
  await Promise.all(others.map((engine) => engine.close()));
  expect([await owedIn(bench.store), receiver.got.length]).toEqual([[], 1]);
});

/** Admissions of other runs are lost, as those of a process that ends before. */
const admitsOnly =
  (store: Store, runId: string): Store['admitRun'] =>
  (admission) =>
    admission.runId === runId ? store.admitRun(admission) : new Promise(() => {});

async function untilStatus(store: Store, status: string): Promise<void> {
  while ((await store.readRun({ tenant, runId: 'r' }))?.status !== status) await settleDown();
}

test('WH3 a delivery is tried again under its id, later and later, until the receiver takes it or wants no more', async () => {
  const receiver = new Receiver();
  const { engine, store, clock } = benchOf(receiver, { bounds: { holdTimersMs: 1e12 } });
  receiver.replies.push({ status: 500 }, { status: 302 }, { status: 503, retryAfterMs: 900_000 });
  await runToRest(engine, simple(), {}, 'r');
  const got = await receiver.untilGot(4);
  expect(new Set(got.map(({ id, body }) => `${id} ${body}`)).size).toBe(1);
  const delays = got.slice(1).map(({ at }, index) => Math.round((at - (got[index]?.at ?? 0)) / 1000));
  expect(delays).toEqual([5, 20, 900]);
  await within('it ends', untilDelivered(store, 'completed'));

  receiver.replies.push({ status: 410 });
  await runToRest(engine, simple(), {}, 's');
  await within('it ends', untilDelivered(store, 'failed'));
  expect(receiver.got.length).toBe(5);
  expect(clock.timeMs).toBeGreaterThan(0);
});

async function untilDelivered(store: Store, status: string): Promise<void> {
  while ((await deliveriesIn(store))[0] !== status) await settleDown();
}

test('WH3 a process that closes its engine waits for the first attempt of what it owes', async () => {
  const receiver = new Receiver();
  const { engine } = benchOf(receiver);
  await runToRest(engine, simple(), {}, 'r');
  await engine.close();
  expect(receiver.got.length).toBe(1);
});

test('WH4 nothing is told of deliveries, of imports that are not trusted, and by an engine without webhooks', async () => {
  const receiver = new Receiver();
  const everywhere = { hooks: [hook], send: receiver.send };
  const { engine, store } = benchOf(receiver, { webhooks: everywhere });
  await runToRest(engine, simple({ webhooks: [] }), {}, 'r');
  await receiver.untilGot(1);
  await within('it ends', untilDelivered(store, 'completed'));
  await settleDown();
  await engine.close();
  expect([await owedIn(store), await deliveriesIn(store)]).toEqual([[], ['completed']]);

  const other = benchOf(receiver, { webhooks: everywhere });
  const imported = await other.engine.start(simple(), {}, { runId: 'i', meta: { isImported: true } });
  expect((await imported.result()).status).toBe('completed');
  const quiet = createBench({ secrets });
  await runToRest(quiet.engine, simple(), {}, 'q');
  for (const one of [other.store, quiet.store]) expect([await owedIn(one), await deliveriesIn(one)]).toEqual([[], []]);
  expect(receiver.got.length).toBe(1);
});

test('WH4 an experiment tells nothing: a fork that cannot act', async () => {
  const receiver = new Receiver();
  const { engine, store } = benchOf(receiver, { findGraph: () => simple() });
  const { seq } = await runToRest(engine, simple(), {}, 'r');
  await receiver.untilGot(1);
  const fork = await engine.fork({ runId: 'r', seq: 0 }, { effects: 'refuse', rerunPure: true });
  expect((await resumeToRest(engine, fork.runId, simple())).status).toBe('completed');
  expect([await owedIn(store), (await deliveriesIn(store)).length, receiver.got.length]).toEqual([[], 1, 1]);
  const plain = await engine.fork({ runId: 'r', seq: seq - 1 });
  await resumeToRest(engine, plain.runId, simple());
  await receiver.untilGot(2);
});

test('WH4 only what a commit owes is delivered: no run or fork under the graph of deliveries is advanced', async () => {
  const receiver = new Receiver();
  const { engine, store } = benchOf(receiver);
  await runToRest(engine, simple(), {}, 'r');
  await receiver.untilGot(1);
  const [delivery] = (await store.listRuns({ tenant, graphId: 'cairn:webhook' })).rows;
  const fork = await engine.fork(
    { runId: delivery?.runId ?? '', seq: 0 },
    { set: [{ path: ['input', 'url'], value: 'https://evil.example' }] },
  );
  await expect(engine.resume(fork.runId)).rejects.toMatchObject({ code: 'PERMISSION_DENIED' });
  expect(receiver.got.length).toBe(1);
});

test('WH4 runs of graphs without webhooks make the same calls of the store, with webhooks on and off', async () => {
  const callsOf = async (webhooks: EngineOptions['webhooks']): Promise<readonly string[]> => {
    const calls: string[] = [];
    const store = createMemoryStore();
    const counted = storeMethods.map((method) => [
      method,
      (...args: readonly unknown[]): unknown => {
        calls.push(method);
        return (store[method] as (...given: readonly unknown[]) => unknown)(...args);
      },
    ]);
    const { engine } = createBench({ store: { ...store, ...Object.fromEntries(counted) } as Store, webhooks });
    await runToRest(engine, simple({ webhooks: [] }), {}, 'r');
    return calls;
  };
  const { send } = new Receiver();
  expect(await callsOf({ hooks: [], send })).toEqual(await callsOf(undefined));
});

test('WH4 listings leave deliveries out unless they ask for their graph', async () => {
  const receiver = new Receiver();
  const { engine } = benchOf(receiver);
  for (const runId of ['a', 'b', 'c']) await runToRest(engine, simple(), {}, runId);
  await engine.close();
  const listed = async (query: Parameters<Engine['history']['list']>[0]): Promise<readonly string[]> => {
    const ids: string[] = [];
    for await (const { runId } of engine.history.list(query)) ids.push(runId);
    return ids;
  };
  expect(await listed({})).toEqual(['c', 'b', 'a']);
  expect((await listed({ graphId: 'cairn:webhook' })).length).toBe(3);
});
