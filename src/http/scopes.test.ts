/** What callers reach by way of another operation: an answer by a fork, a larger budget by a resume. */
import { afterEach, beforeEach, expect, test } from 'vitest';
import { AgentGraph } from '../dialects/code/agent-graph.ts';
import { END, START } from '../graph/graph.ts';
import '../index.ts';
import { humanNode } from '../nodes/builders.ts';
import { createMemoryStore } from '../stores/memory/index.ts';
import type { Caller, Scope } from './authorize.ts';
import { createHandler, type Handler } from './handler.ts';

const compiled = () =>
  new AgentGraph({}, { id: 'g' })
    .addNode('q', humanNode({ prompt: 'Go?' }))
    .addNode('pay', async () => void (paid += 1))
    .addEdge(START, 'q')
    .addEdge('q', 'pay')
    .addEdge('pay', END)
    .compile({ store: createMemoryStore() });

let paid = 0;
let graph: ReturnType<typeof compiled>;
let handler: Handler;
let caller: Caller;
let run = '';
beforeEach(async () => {
  paid = 0;
  graph = compiled();
  handler = createHandler({ graphs: [graph], authorize: () => caller });
  run = (await graph.invoke({})).runId;
});
afterEach(async () => {
  handler.close();
  await graph.close();
});

function become(kind: Caller['kind'], ...scopes: readonly Scope[]): void {
  caller = { principal: 'fred', kind, scopes };
}

async function post(path: string, body: object): Promise<number> {
  const headers = { 'content-type': 'application/json' };
  const request = new Request(`http://localhost/v1/${path}`, { method: 'POST', headers, body: JSON.stringify(body) });
  return (await handler(request)).status;
}

test.each(['person', 'program'] as const)(
  'M13.5 a %s without the scope answer answers nothing by a fork or its state, and without run runs no fork',
  async (kind) => {
    become(kind, 'read', 'fork');
    const fork = (body: object): Promise<number> => post(`checkpoints/${run}/forks`, body);
    expect(await fork({ answer: { q: 'yes' }, run: true })).toBe(403);
    expect(await fork({ answer: { q: 'yes' } })).toBe(403);
    expect(await fork({ set: { 'outputs.q': 'yes' } })).toBe(403);
    expect(await fork({ run: true })).toBe(403);
    expect(await fork({ set: { 'scratch.note': 'other' }, run: false })).toBe(201);
    become(kind, 'read', 'fork', 'answer');
    expect(await fork({ answer: { q: 'yes' }, run: true })).toBe(403);
    expect(paid).toBe(0);
    become(kind, 'read', 'fork', 'answer', 'run');
    expect(await fork({ answer: { q: 'yes' }, run: true })).toBe(201);
  },
);

test('D28 a signal counts as an answer: nobody without the scope answer sends one', async () => {
  const send = (): Promise<number> => post(`runs/${run}/signals`, { name: 'paid', value: 40 });
  become('person', 'read', 'run');
  expect(await send()).toBe(403);
  become('program', 'read', 'run');
  expect(await send()).toBe(403);
  become('program', 'read', 'run', 'answer');
  expect(await send()).toBe(200);
});

test('D27 who is called person has no scope by that, and what is recorded is the principal', async () => {
  caller = { principal: 'person', kind: 'person', scopes: ['read', 'run'] };
  expect(await post(`runs/${run}/resume`, { budget: { usd: 8 } })).toBe(403);
  become('person', 'read', 'run', 'answer');
  expect(await post(`runs/${run}/answer`, { value: 'yes', by: 'ann' })).toBe(400);
});

test('M13.5 no program raises a budget by a resume, and nobody without the scope answer', async () => {
  become('program', 'read', 'run', 'answer');
  expect(await post(`runs/${run}/resume`, { budget: { usd: 8 } })).toBe(403);
  become('person', 'read', 'run');
  expect(await post(`runs/${run}/resume`, { budget: { usd: 8 } })).toBe(403);
  become('person', 'read', 'run', 'answer');
  expect(await post(`runs/${run}/resume`, { budget: { usd: 8 } })).toBe(200);
});
