/** What a node is just making, as each door shows it while another process makes it: HTTP, its client, and `cairn log --follow`. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { agent } from '../../src/agents/index.ts';
import { createDefaultEngine } from '../../src/app/default-engine.ts';
import type { FollowedEvent } from '../../src/history/read/follow.ts';
import { bearerTokens, createClient, createHandler, type CairnClient } from '../../src/http/index.ts';
import { AgentGraph, END, START } from '../../src/index.ts';
import type { Models } from '../../src/ports/model.ts';
import type { Store } from '../../src/ports/store.ts';
import { createMemoryStore } from '../../src/stores/memory/index.ts';
import { openSqliteStore } from '../../src/stores/sqlite/index.ts';
import { within } from '../support/awaited.ts';
import { builtMain } from '../support/built-package.ts';

const token = 'token-of-ann-0123456789';
let folder = '';
const closing: (() => unknown)[] = [];
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'cairn-live-doors-'));
});
afterEach(async () => {
  for (const close of closing.splice(0).toReversed()) await close();
  rmSync(folder, { recursive: true, force: true });
});

/** Says two pieces, and the third when it is let. */
function slowModel(): Models & { readonly goOn: () => void } {
  const gate = Promise.withResolvers<void>();
  return {
    goOn: gate.resolve,
    async generate({ model, onDelta }) {
      for (const text of ['One ', 'two.']) onDelta?.({ type: 'text', text });
      await gate.promise;
      const usage = { inputTokens: 1, outputTokens: 1 };
      return { model, usage, finishReason: 'stop', content: [{ type: 'text', text: 'One two. End.' }] };
    },
  };
}

/** A client of another process's server: all that it shares with the run is the store. */
function serve(store: Store): CairnClient {
  const engine = createDefaultEngine({ store });
  const authorize = bearerTokens([{ token, principal: 'ann', kind: 'person', scopes: ['read'] }]);
  const handler = createHandler({ engine, authorize });
  closing.push(
    () => engine.close(),
    () => handler.close(),
  );
  return createClient('http://localhost', token, { fetch: (url, init) => handler(new Request(url, init)) });
}

/** A reader of a stream: what it was told. */
class Reader {
  readonly events: FollowedEvent[] = [];
  readonly #said = Promise.withResolvers<void>();
  /** Resolves when the beginning of the answer was told. */
  readonly hasBeginning: Promise<void> = this.#said.promise;

  take(event: FollowedEvent): void {
    this.events.push(event);
    if (this.text === 'One two.') this.#said.resolve();
  }

  get text(): string {
    return this.events
      .map((event) => (event.type === 'live' ? (event.detail as { delta?: { text?: string } }).delta?.text : '') ?? '')
      .join('');
  }

  get seqs(): readonly number[] {
    return this.events.flatMap((event) => (event.type === 'checkpoint' ? [event.seq] : []));
  }
}

test('L5 the client and the command line show an answer while another process makes it, from its beginning, then each checkpoint once', async () => {
  const path = join(folder, 'runs.db');
  const open = (): Store => {
    const store = openSqliteStore({ path });
    closing.push(() => store.close());
    return store;
  };
  const models = slowModel();
  const talk = new AgentGraph({}, { id: 'talk' })
    .addNode('clerk', agent({ model: 'a:b' }))
    .addEdge(START, 'clerk')
    .addEdge('clerk', END)
    .compile({ store: open(), models });
  closing.push(() => talk.close());
  const run = await talk.start({ prompt: 'Count.' }, { runId: 'r' });

  const [overHttp, inTerminal] = [new Reader(), new Reader()];
  const client = serve(open());
  const followed = (async () => {
    for await (const event of client.follow('r', { live: true })) overHttp.take(event);
  })();
  const args = [builtMain, 'log', 'r', '--follow', '--live', '--json', '--store', `sqlite:${path}`];
  const child = spawn(process.execPath, args, { cwd: folder, stdio: ['ignore', 'pipe', 'inherit'] });
  closing.push(() => child.kill('SIGKILL'));
  createInterface({ input: child.stdout }).on('line', (line) => inTerminal.take(JSON.parse(line) as FollowedEvent));
  const exit = once(child, 'close');

  await within('the beginning', Promise.all([overHttp.hasBeginning, inTerminal.hasBeginning]));
  models.goOn();
  await run.result();
  await within('the ends', Promise.all([followed, exit]));
  expect(child.exitCode).toBe(0);
  for (const reader of [overHttp, inTerminal]) {
    expect(reader.events[0]).toEqual({ type: 'feed', runId: 'r', live: true });
    expect(reader.seqs).toEqual(reader.seqs.map((_, index) => index));
    const last = reader.events.at(-1);
    expect(last?.type === 'checkpoint' && last.change.at(-1)?.kind).toBe('end');
  }
});

test('L5 over a store without a feed, the client is told so first, and gets what is recorded', async () => {
  const { live: _, ...store } = createMemoryStore();
  const engine = createDefaultEngine({ store, models: slowModel() });
  closing.push(() => engine.close());
  const waits = new AgentGraph({}, { id: 'waits' }).addNode('a', (ctx) => ctx.receive('go'), { effectClass: 'read' });
  await (await engine.start(waits.addEdge(START, 'a').addEdge('a', END).toGraph(), {}, { runId: 'r' })).result();
  const seen: FollowedEvent[] = [];
  for await (const event of serve(store).follow('r', { live: true })) if (seen.push(event) === 2) break;
  expect(seen[0]).toEqual({ type: 'feed', runId: 'r', live: false });
  expect(seen[1]).toMatchObject({ type: 'checkpoint', seq: 0 });
});
