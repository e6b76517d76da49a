/** Graphs of LangGraph over a saver of ours: they give what they give over its own, and their threads are read as runs. */
import { AIMessage, HumanMessage, type BaseMessage } from '@langchain/core/messages';
import {
  Annotation,
  Command,
  END,
  interrupt,
  messagesStateReducer,
  Send,
  START,
  StateGraph,
  type BaseCheckpointSaver,
} from '@langchain/langgraph';
import { MemorySaver } from '@langchain/langgraph-checkpoint';
import { describe, expect, test } from 'vitest';
import { openHistory } from '../../src/index.ts';
import { saverOver } from '../../src/langgraph/index.ts';
import type { Store } from '../../src/ports/store.ts';
import { createMemoryStore } from '../../src/stores/memory/index.ts';
import { collect } from '../support/small-graphs.ts';

const Letter = Annotation.Root({
  messages: Annotation<BaseMessage[]>({ reducer: messagesStateReducer, default: () => [] }),
  tone: Annotation<string>(),
  parts: Annotation<string[]>({ reducer: (a, b) => [...a, ...b], default: () => [] }),
});

/** Drafts, fans out, asks a person, and ends. */
function letterGraph(checkpointer: BaseCheckpointSaver, sent: string[] = []) {
  const review = new StateGraph(Letter)
    .addNode('ask', ({ tone }) => ({ tone: `${tone}, ${interrupt<string, string>('Send it?')}` }))
    .addEdge(START, 'ask')
    .addEdge('ask', END)
    .compile();
  return new StateGraph(Letter)
    .addNode('draft', ({ tone }) => ({ messages: [new AIMessage({ id: 'a', content: `Dear Ada (${tone})` })] }))
    .addNode('part', (state: { readonly nr: number }) => ({ parts: [`part ${state.nr}`] }))
    .addNode('review', review)
    .addNode('send', ({ tone }) => {
      sent.push(tone);
      return { messages: [new AIMessage({ id: 'b', content: `sent: ${tone}` })] };
    })
    .addEdge(START, 'draft')
    .addConditionalEdges('draft', () => [new Send('part', { nr: 1 }), new Send('part', { nr: 2 })])
    .addEdge('part', 'review')
    .addEdge('review', 'send')
    .addEdge('send', END)
    .compile({ checkpointer });
}

const ofThread = (thread_id: string) => ({ configurable: { thread_id } });
const input = { messages: [new HumanMessage({ id: 'h', content: 'Write to Ada.' })], tone: 'warm' };

/** What somebody sees who goes the usual ways: an interrupt, an answer, time travel, a change, another answer. */
async function walk(checkpointer: BaseCheckpointSaver): Promise<unknown> {
  const seen: unknown[] = [];
  const sent: string[] = [];
  const graph = letterGraph(checkpointer, sent);
  const config = ofThread('t');
  seen.push(await graph.invoke(input, config));
  seen.push((await graph.getState(config, { subgraphs: true })).next);
  seen.push(await graph.invoke(new Command({ resume: 'yes' }), config));
  const before = (await collect(graph.getStateHistory(config))).find(({ next }) => next.includes('part'));
  seen.push(await graph.invoke(null, before!.config));
  seen.push(await graph.invoke(new Command({ resume: 'again' }), config));
  const drafted = (await collect(graph.getStateHistory(config))).findLast(({ next }) => next.includes('draft'));
  const changed = await graph.updateState(drafted!.config, { tone: 'cold' });
  seen.push(await graph.invoke(null, changed));
  seen.push(await graph.invoke(new Command({ resume: 'no' }), config));
  seen.push(
    sent,
    (await collect(graph.getStateHistory(config))).map(({ next, values, metadata, tasks }) => ({
      next,
      values: values as unknown,
      source: metadata?.source,
      step: metadata?.step,
      tasks: tasks.map(({ name, interrupts, error }) => ({
        name,
        asked: interrupts.map(({ value }) => value as unknown),
        error,
      })),
    })),
  );
  return JSON.parse(JSON.stringify(seen).replaceAll(/[0-9a-f]{8}-[0-9a-f-]{27}|[0-9a-f]{32}/gu, 'ID')) as unknown;
}

test('S7.2 a graph with interrupts, sends, a subgraph and time travel gives what it gives over the saver of LangGraph', async () => {
  expect(await walk(await saverOver(createMemoryStore()))).toEqual(await walk(new MemorySaver()));
});

describe('a thread as a family of runs', () => {
  async function open(): Promise<{ readonly store: Store; readonly graph: ReturnType<typeof letterGraph> }> {
    const store = createMemoryStore();
    return { store, graph: letterGraph(await saverOver(store)) };
  }

  test('S7.2 its run has its id and its channels, and shows what changed', async () => {
    const { store, graph } = await open();
    await graph.invoke(input, ofThread('t'));
    await graph.invoke(new Command({ resume: 'yes' }), ofThread('t'));
    const history = openHistory(store);
    const state = await history.state('t');
    expect(state.scratch).toMatchObject({ tone: 'warm, yes' });
    const log = await collect(history.log('t'));
    expect(log.length).toBeGreaterThan(5);
    const [first, last] = [log.at(-1)!, log[0]!];
    const differences = JSON.stringify(await history.diff(first.checkpointId, last.checkpointId));
    expect(differences).toContain('sent: warm, yes');
    expect(await history.verify()).toMatchObject({ isValid: true });
  });

  test('S7.2 going on from an older checkpoint is a fork, and the older line stays', async () => {
    const { store, graph } = await open();
    await graph.invoke(input, ofThread('t'));
    await graph.invoke(new Command({ resume: 'yes' }), ofThread('t'));
    const before = (await collect(graph.getStateHistory(ofThread('t')))).find(({ next }) => next.includes('part'))!;
    await graph.invoke(null, before.config);
    const history = openHistory(store);
    const forks = (await collect(history.list())).filter(({ parent }) => parent?.runId === 't');
    expect(forks).toHaveLength(1);
    expect((await history.state('t')).scratch).toMatchObject({ tone: 'warm, yes' });
  });

  test('S7.2 of two writers that go on from the same checkpoint, one is refused', async () => {
    const store = createMemoryStore();
    const [one, other] = [letterGraph(await saverOver(store)), letterGraph(await saverOver(store))];
    await one.invoke(input, ofThread('t'));
    const ended = await Promise.allSettled(
      [one, other].map((graph) => graph.invoke(new Command({ resume: 'yes' }), ofThread('t'))),
    );
    const refused = ended.filter(({ status }) => status === 'rejected');
    expect(refused).toEqual([
      {
        status: 'rejected',
        reason: expect.objectContaining({ code: expect.stringMatching(/^(COMMIT_CONFLICT|CLAIM_TAKEN)$/) }),
      },
    ]);
  });

  test('S7.2 a thread that is deleted leaves nothing', async () => {
    const { store, graph } = await open();
    await graph.invoke(input, ofThread('t'));
    const before = (await collect(graph.getStateHistory(ofThread('t')))).at(-1)!;
    await graph.invoke(null, before.config);
    await (graph.checkpointer as BaseCheckpointSaver).deleteThread('t');
    expect(await collect(openHistory(store).list())).toEqual([]);
    expect((await graph.getState(ofThread('t'))).values).toEqual({});
  });

  test.each(['ann@example.com', 'cairn:schedule:x', 'with a space', `long${'x'.repeat(500)}`, '__proto__'])(
    'S7.2 a thread may have any id: %s',
    async (thread) => {
      const { graph } = await open();
      await graph.invoke(input, ofThread(thread));
      expect((await graph.getState(ofThread(thread))).next).toEqual(['review']);
    },
  );
});
