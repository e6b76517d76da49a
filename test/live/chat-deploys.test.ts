/**
 * Chats over HTTP in two tabs, whose server is stopped or killed and deployed with other code in the middle of a stream, of a batch of tool
 * calls, or of an approval: both tabs show the same in the end, nothing is done twice, and the chat goes on.
 */
import { afterEach, expect, test } from 'vitest';
import { z } from 'zod';
import { tool } from '../../src/agents/index.ts';
import { createDefaultEngine } from '../../src/app/default-engine.ts';
import { createSystemIds } from '../../src/app/process/process-ids.ts';
import { bearerTokens, createHandler, type Handler } from '../../src/http/index.ts';
import { textOf } from '../../src/graph/contracts/model-messages.ts';
import type { Engine } from '../../src/index.ts';
import type { Models } from '../../src/ports/model.ts';
import type { Store } from '../../src/ports/store.ts';
import { createMemoryStore } from '../../src/stores/memory/index.ts';
import { sample } from '../support/scale.ts';
import { conversation, fetchOf, NodeChat, openPage, shownOf } from './chat-kit.ts';

const engines: Engine[] = [];
afterEach(async () => {
  for (const engine of engines.splice(0)) await engine.close();
});

const changes = [
  'nothing',
  'renamed',
  'instructions',
  'description',
  'added',
  'removed',
  'stricter',
  'default',
  'moved',
] as const;
type Change = (typeof changes)[number];
const points = ['stream', 'tool batch', 'approval'] as const;
const ends = ['stopped', 'killed'] as const;

/** What is outside: what was done, by the key of its call, and where the first server stands. */
class World {
  readonly done = new Map<string, string>();
  /** Until then calls of the first server hang. */
  readonly gate = Promise.withResolvers<void>();
  readonly store: Store = createMemoryStore();
  isDeployed = false;
  /** Whether the first server has come to where it is ended. */
  isThere = false;

  async hang(signal: AbortSignal): Promise<void> {
    this.isThere = true;
    if (this.isDeployed) return;
    const ended = new Promise<never>((_, reject) =>
      signal.addEventListener('abort', () => reject(signal.reason as Error)),
    );
    await Promise.race([this.gate.promise, ended]);
  }
}

function modelsOf(world: World): Models {
  return {
    async generate({ messages, onDelta, model, signal }) {
      const said = textOf(messages.findLast(({ role }) => role === 'user')?.content ?? '');
      const isTold = messages.at(-1)?.role === 'tool';
      const usage = { inputTokens: 1, outputTokens: 1 };
      const calls = (...named: readonly (readonly [string, object])[]) =>
        ({
          model,
          usage,
          finishReason: 'tool-calls',
          content: named.map(
            ([name, input], index) => ({ type: 'tool-call', id: `c${index}`, tool: name, input }) as const,
          ),
        }) as const;
      if (said === 'tool batch' && !isTold) return calls(['note', { to: 'ann' }], ['note', { to: 'bob' }]);
      if (said === 'approval' && !isTold) return calls(['send', { to: 'me' }]);
      const text = isTold ? 'All done.' : `You said ${said}.`;
      onDelta?.({ type: 'text', text });
      if (said === 'stream') await world.hang(signal);
      return { model, usage, finishReason: 'stop', content: [{ type: 'text', text }] };
    },
  };
}

function graphOf(world: World, change: Change) {
  const to = z.object({ to: z.string(), ...(change === 'stricter' && { subject: z.string() }) });
  const input = change === 'default' ? to.extend({ cc: z.string().default('boss') }) : to;
  const doing = async (what: string, args: { to: string }, key: string, signal: AbortSignal): Promise<string> => {
    world.done.set(key, `${what} ${args.to}`);
    if (what === 'note' && args.to === 'bob') await world.hang(signal);
    return 'done';
  };
  const of = (what: string, more: object) =>
    tool({
      description: change === 'description' ? `Does ${what}.` : what,
      input,
      idempotent: true,
      ...more,
      run: (args, call) => doing(what, args as { to: string }, call.idempotencyKey, call.signal),
    });
  const look = tool({ description: 'Looks.', input: z.object({}), effect: 'read', run: () => 'seen' });
  const tools = {
    ...(change !== 'removed' && { note: of('note', {}), send: of('send', { audience: 'user' }) }),
    ...(change === 'added' && { look }),
  };
  const listen = change === 'moved' ? 'hear' : 'listen';
  return conversation(
    {
      instructions: change === 'instructions' ? 'Be brief.' : 'Be kind.',
      tools,
      allow: change === 'removed' ? [] : ['note'],
    },
    listen,
    nameIn(change),
  );
}

/** What the code calls the node of the agent. */
const nameIn = (change: Change): 'clerk' | 'agent' => (change === 'renamed' ? 'agent' : 'clerk');

const token = 'token-of-ann-0123456789';

interface Server {
  readonly handler: Handler;
  readonly engine: Engine;
  readonly workerId: string;
}

/** @param dead - worker that is known to be gone */
function serve(world: World, change: Change, dead?: string): Server {
  const own = createSystemIds();
  const ids = { ...own, isWorkerDead: (id: string) => id === dead || own.isWorkerDead(id) };
  const engine = createDefaultEngine({ store: world.store, models: modelsOf(world), ids });
  engines.push(engine);
  const renamed = change === 'renamed' ? { renamed: { agent: 'clerk' } } : {};
  const app = graphOf(world, change).compile({ engine, ...renamed });
  const authorize = bearerTokens([{ token, principal: 'ann', kind: 'person', scopes: ['chat'] }]);
  return {
    handler: createHandler({ graphs: [app], authorize, chat: { node: nameIn(change) } }),
    engine,
    workerId: own.workerId,
  };
}

async function when(holds: () => boolean | Promise<boolean>): Promise<void> {
  while (!(await holds())) await new Promise((resolve) => setTimeout(resolve, 5));
}

const textsOf = (chat: NodeChat): readonly string[] =>
  shownOf(chat).map(({ parts }) => parts.map((part) => (part.type === 'text' ? part.text : '')).join(''));

/** Tells of a call that was in flight and cannot be made again by itself, as staff would, that it happened. */
async function decide(engine: Engine, runId: string, world: World): Promise<void> {
  const goOn = async (): Promise<boolean> => (await (await engine.resume(runId)).result()).status === 'paused';
  while (await goOn()) {
    const doubt = (await engine.waits(runId)).find(({ kind }) => kind === 'doubt');
    if (doubt === undefined) return;
    expect([...world.done.values()]).toContain('note bob');
    await engine.answer(runId, doubt.waitId, { decision: 'happened', output: 'done' }, { stays: true });
  }
}

/** Id of the approval that a tab shows, if it shows one. */
function approvalIn(chat: NodeChat): string | undefined {
  const part = chat.messages.at(-1)?.parts.find((one) => 'approval' in one && one.state === 'approval-requested');
  return (part as { readonly approval?: { readonly id: string } } | undefined)?.approval?.id;
}

const trials = points.flatMap((point) => ends.flatMap((end) => changes.map((change) => ({ point, end, change }))));

test('CH1 G15 a chat whose agent was renamed in the code is found under either name, and goes on', async () => {
  const world = new World();
  const id = 'c1';
  const tab = new NodeChat(id, fetchOf(serve(world, 'nothing').handler, token));
  await tab.sendMessage({ text: 'hello' });
  const later = await openPage(id, fetchOf(serve(world, 'renamed').handler, token));
  expect(textsOf(later)).toEqual(['hello', 'You said hello.']);
  await later.sendMessage({ text: 'again' });
  expect(textsOf(later)).toEqual(['hello', 'You said hello.', 'again', 'You said again.']);
  expect(later.messages.map((message) => message.id).join()).not.toContain(':agent:');
  const app = graphOf(world, 'renamed').compile({ engine: engines[1] as Engine, renamed: { agent: 'clerk' } });
  const chat = (node: string) => () => createHandler({ graphs: [app], authorize: () => undefined, chat: { node } });
  expect(chat('clerk')).not.toThrow();
  expect(chat('bob')).toThrow('has no node bob');
});

test.each(sample(trials, 4, ({ point }) => point))(
  'CH7 A3 two tabs of a chat whose server is $end in the middle of a $point, and deployed with $change changed',
  { timeout: 120_000 },
  async ({ point, end, change }) => {
    const answer = point === 'stream' ? 'You said stream.' : 'All done.';
    const world = new World();
    const one = serve(world, 'nothing');
    const tabs = [new NodeChat('c1', fetchOf(one.handler, token)), await openPage('c1', fetchOf(one.handler, token))];
    await tabs[0]?.sendMessage({ text: 'hello' });
    const [run] = (await world.store.listRuns({ tenant: 'default' })).rows;
    const runId = run?.runId ?? '';
    await when(async () => (await world.store.readRun({ tenant: 'default', runId }))?.status === 'paused');
    void tabs[0]?.sendMessage({ text: point });
    if (point === 'approval') await when(() => approvalIn(tabs[0] as NodeChat) !== undefined);
    else await when(() => world.isThere);

    world.isDeployed = true;
    if (end === 'stopped') await one.engine.close();
    const two = serve(world, change, one.workerId);
    const fetch = fetchOf(two.handler, token);
    if (point !== 'approval') void two.engine.resume(runId);
    const [left, right] = [await openPage('c1', fetch), await openPage('c1', fetch)];
    await Promise.all([left.resumeStream(), right.resumeStream()]);
    if (point === 'approval')
      await right.addToolApprovalResponse({ id: approvalIn(right) ?? 'none shown', approved: true });
    else await decide(two.engine, runId, world);
    await when(async () => textsOf(await openPage('c1', fetch)).at(-1) === answer);
    await when(async () => (await fetch('http://localhost/chat/c1/stream')).status === 204);

    const tab = await openPage('c1', fetch);
    await tab.sendMessage({ text: 'next' });
    expect([tab.status, tab.error]).toEqual(['ready', undefined]);
    const said = ['hello', 'You said hello.', point, answer, 'next', 'You said next.'];
    for (const each of [await openPage('c1', fetch), tab]) expect(textsOf(each)).toEqual(said);
    const done = [...world.done.values()].sort();
    expect(done).toEqual([...new Set(done)]);
    world.gate.resolve();
  },
);
