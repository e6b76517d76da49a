/** Pieces of what a node is just making, read in another process: from the beginning of what is under way, masked, and gone when it is recorded. */
import { existsSync, mkdtempSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { AgentGraph, END, START, type History } from '../../src/index.ts';
import { openHistory } from '../../src/app/open-store/open-history.ts';
import { createDefaultEngine } from '../../src/app/default-engine.ts';
import type { FollowedEvent, FollowedPiece } from '../../src/history/read/follow.ts';
import type { CompileOptions } from '../../src/dialects/code/run-options.ts';
import type { NodeContext } from '../../src/graph/contracts/node-contract.ts';
import type { ModelRequest, Models } from '../../src/ports/model.ts';
import type { Store } from '../../src/ports/store.ts';
import { createMemoryStore } from '../../src/stores/memory/index.ts';
import { openSqliteStore } from '../../src/stores/sqlite/index.ts';

let folder = '';
const closing: (() => Promise<void>)[] = [];
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'cairn-live-'));
});
afterEach(async () => {
  for (const close of closing.splice(0).toReversed()) await close();
  rmSync(folder, { recursive: true, force: true });
});

const openFile = (): Store => {
  const store = openSqliteStore({ path: join(folder, 'runs.db') });
  closing.push(() => store.close());
  return store;
};

/** A model whose answer goes on when the test says so. */
function slowModel(pieces: readonly string[]): Models & { readonly goOn: () => void } {
  const gate = Promise.withResolvers<void>();
  return {
    goOn: gate.resolve,
    async generate({ model, onDelta }: ModelRequest) {
      for (const text of pieces) onDelta?.({ type: 'text', text });
      await gate.promise;
      onDelta?.({ type: 'text', text: ' End.' });
      return {
        model,
        finishReason: 'stop',
        usage: { inputTokens: 1, outputTokens: 1 },
        content: [{ type: 'text', text: `${pieces.join('')} End.` }],
      };
    },
  };
}

const ask = async (ctx: NodeContext): Promise<unknown> =>
  ctx.step('ask', { effect: 'external', idempotent: true }, async ({ idempotencyKey }) => {
    const { content } = await ctx.models.generate(
      { model: 'a:b', messages: [{ role: 'user', content: 'Hi' }] },
      { idempotencyKey },
    );
    return content;
  });

function compile(options: CompileOptions, work: (ctx: NodeContext) => Promise<unknown> = ask) {
  const app = new AgentGraph({}, { id: 'g' })
    .addNode('talk', work, { effectClass: 'read' })
    .addEdge(START, 'talk')
    .addEdge('talk', END)
    .compile(options);
  closing.push(() => app.close());
  return app;
}

/** The pieces up to the one that fits. */
async function until(
  events: AsyncIterable<FollowedEvent>,
  fits: (event: FollowedEvent) => boolean,
): Promise<readonly FollowedEvent[]> {
  const seen: FollowedEvent[] = [];
  for await (const event of events) {
    seen.push(event);
    if (fits(event)) break;
  }
  return seen;
}

const textsOf = (events: readonly FollowedEvent[]): string =>
  events
    .filter((event): event is FollowedPiece => event.type === 'live')
    .map(({ detail }) => (detail as { readonly delta?: { readonly text?: string } }).delta?.text ?? '')
    .join('');
const says = (text: string) => (event: FollowedEvent) => event.type === 'live' && textsOf([event]).endsWith(text);

test.each(['memory', 'sqlite'])(
  'L5 with a store in %s, a reader who comes late gets the answer under way from its beginning, goes on after a cursor, and nothing is left when the node has settled',
  async (kind) => {
    const store = kind === 'memory' ? createMemoryStore() : openFile();
    const other: History = kind === 'memory' ? openHistory(store) : openHistory(openFile());
    const models = slowModel(['One ', 'two.']);
    const app = compile({ store, models });
    const run = await app.start({}, { runId: 'r' });
    const { runId } = run;
    const first = await until(other.follow(runId, { live: true }), says('two.'));
    expect(first[0]).toEqual({ type: 'feed', runId, live: true });
    expect(textsOf(first)).toBe('One two.');
    const late = await until(other.follow(runId, { live: true }), says('two.'));
    expect(textsOf(late)).toBe('One two.');
    const { cursor } = late.at(-1) as FollowedPiece;
    models.goOn();
    const rest = await until(other.follow(runId, { live: true, after: cursor }), () => false);
    expect('One two. End.').toBe(`One two.${textsOf(rest) || ' End.'}`);
    const seqs = [...late, ...rest].flatMap((event) => (event.type === 'checkpoint' ? [event.seq] : []));
    expect(seqs).toEqual(seqs.map((_, index) => index));
    await run.result();
    expect(await store.live?.read({ tenant: 'default', runId }, -1)).toEqual([]);
    expect(textsOf(await until(other.follow(runId, { live: true }), () => false))).toBe('');
  },
);

test('L5.1 the file is its owner’s alone, and is made with the first piece', async () => {
  const file = join(folder, 'runs.db-live');
  const store = openFile();
  await store.live?.write({ tenant: 't', runId: 'r' }, { remove: 'all' });
  expect(existsSync(file)).toBe(false);
  await store.live?.write({ tenant: 't', runId: 'r' }, { add: [{ n: 1, node: ['a'], detail: 1 }] });
  expect(statSync(file).mode & 0o777).toBe(0o600);
});

test('L5 a store without a feed says so, and a run that tells nothing makes no file', async () => {
  const { live: _, ...bare } = createMemoryStore();
  const app = compile({ store: bare }, async () => 1);
  await app.invoke({}, { runId: 'r' });
  const seen = await until(openHistory(bare).follow('r', { live: true }), () => false);
  expect(seen[0]).toEqual({ type: 'feed', runId: 'r', live: false });
  await compile({ store: openFile() }, async () => 1).invoke({});
  expect(existsSync(join(folder, 'runs.db-live'))).toBe(false);
});

test('L5 a secret that comes in two pieces is told in neither, and what may be its beginning is held back', async () => {
  const secret = 'sk-live-0123456789';
  const models = slowModel([
    'The key is sk-live-',
    '0123456789, ',
    'and that is a secret of ours, which nobody is to know.',
  ]);
  const store = createMemoryStore();
  const app = compile({ store, models, secrets: { read: () => secret } }, async (ctx) => {
    await ctx.secrets.get('KEY');
    return ask(ctx);
  });
  const run = await app.start({});
  const { runId } = run;
  const seen = await until(openHistory(store).follow(runId, { live: true }), (event) => textsOf([event]) !== '');
  expect(textsOf(seen)).toBe('The key is [secret:KEY], a');
  models.goOn();
  await run.result();
});

test('L5 nothing is told of a node whose output a rule keeps out, and nothing under a name that one keeps out', async () => {
  const store = createMemoryStore();
  const gate = Promise.withResolvers<void>();
  const speak = async (ctx: NodeContext): Promise<unknown> => {
    ctx.emit({ pin: '1234', step: 1 });
    await gate.promise;
    return 1;
  };
  const start = (runId: string, rule: string) =>
    compile({ engine: createDefaultEngine({ store, redact: { store: [rule] } }) }, speak).start({}, { runId });
  const [hidden, named] = await Promise.all([start('hidden', 'outputs.talk'), start('named', 'PIN')]);
  const seen = await until(openHistory(store).follow('named', { live: true }), ({ type }) => type === 'live');
  expect((seen.at(-1) as FollowedPiece).detail).toEqual({ pin: '[redacted]', step: 1 });
  expect(await store.live?.read({ tenant: 'default', runId: 'hidden' }, -1)).toEqual([]);
  gate.resolve();
  await Promise.all([hidden.result(), named.result()]);
});

test('L5 what a run tells beyond a mebibyte is left out until something of it is recorded', async () => {
  const store = createMemoryStore();
  const gate = Promise.withResolvers<void>();
  const app = compile({ store }, async (ctx) => {
    for (let part = 0; part < 20; part += 1) ctx.emit({ part, text: 'x'.repeat(100_000) });
    await gate.promise;
    return 1;
  });
  const run = await app.start({});
  const { runId } = run;
  await until(openHistory(store).follow(runId, { live: true }), ({ type }) => type === 'live');
  const pieces = (await store.live?.read({ tenant: 'default', runId }, -1)) ?? [];
  expect(pieces.map(({ detail }) => (detail as { readonly part: number }).part)).toEqual(
    Array.from({ length: 10 }, (_, part) => part),
  );
  gate.resolve();
  await run.result();
});

test('L5 who takes a run up removes what the process before left, and its own pieces have greater numbers', async () => {
  const store = openFile();
  const app = compile(
    { store },
    async (ctx) => (await ctx.receive('go'), ctx.emit({ told: 2 }), await ctx.receive('end'), 1),
  );
  const { runId } = await app.invoke({}, { runId: 'r' });
  const key = { tenant: 'default', runId };
  await store.live?.write(key, { add: [{ n: 7, node: ['talk'], detail: { told: 1 } }] });
  await app.signal(runId, 'go', 1);
  await app.resume(runId);
  const [piece] = (await store.live?.read(key, -1)) ?? [];
  expect(piece).toMatchObject({ node: ['talk'], detail: { told: 2 } });
  expect(piece?.n).toBeGreaterThan(7);
});
