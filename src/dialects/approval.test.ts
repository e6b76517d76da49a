import { describe, expect, test } from 'vitest';
import { AgentGraph, END, flow, outcome, START, workflow, type NodeContext } from '../index.ts';
import { createMemoryStore } from '../stores/memory/index.ts';
import { crashEverywhere } from '../testing/crash-kit/crash-everywhere.ts';
import type { CrashProcess } from '../testing/crash-kit/process-life.ts';
import { z } from 'zod';
import { readApproval } from '../schema/approval-answer.ts';

const mail = { to: 'ann', text: 'hello' };
const sends = (sent: unknown[], more: object = {}) =>
  flow('f', {
    write: { run: () => 'hello' },
    send: {
      run: ({ input, state }: NodeContext) => (sent.push(input), state.input),
      needs: ['write'],
      input: ({ state }) => ({ ...(state.input as object), text: state.outputs['write'] }),
      effectClass: 'external',
      approval: { prompt: 'Send?', edit: ['to'], ...more },
    },
    log: { run: () => 'logged', needs: ['send'] },
    instead: { run: () => 'kept', needs: [{ node: 'send', on: 'rejected' }] },
  });

describe('G14 approval of a node', () => {
  test('the node runs only when a person approves, with what was shown, as edited', async () => {
    const sent: unknown[] = [];
    const graph = sends(sent).compile();
    const paused = await graph.invoke({ to: 'bob' }, { runId: 'r' });
    expect([paused.status, paused.nodes.send.status, sent]).toEqual(['paused', 'waiting', []]);
    expect(paused.waits[0]).toMatchObject({
      prompt: 'Send?',
      isApproval: true,
      metadata: { node: 'send', input: { to: 'bob', text: 'hello' }, edit: ['to'] },
    });
    const ended = await graph.resume('r', {
      answers: { 'send?': { is_approved: true, data: { to: 'ann' } } },
      by: 'eve',
    });
    expect(ended.status).toBe('completed');
    expect(sent).toEqual([mail]);
    expect(ended.nodes.send).toEqual({ status: 'completed', input: mail, output: mail });
    expect([ended.nodes.log.status, ended.nodes.instead.status]).toEqual(['completed', 'skipped']);
    expect(ended.state.outputs).toMatchObject({ 'send?': { approved: true, by: 'eve', input: mail } });
  });

  test('a refusal skips the node and what hangs on it, says who refused, and takes the edge for it', async () => {
    const sent: unknown[] = [];
    const graph = sends(sent).compile();
    await graph.invoke({ to: 'bob' }, { runId: 'r' });
    const ended = await graph.resume('r', {
      answers: { 'send?': { decision: 'refuse', reason: 'too late' } },
      by: 'ann',
    });
    expect([ended.status, sent]).toEqual(['completed', []]);
    expect(ended.nodes.send).toEqual({ status: 'skipped', reason: 'rejected by ann: too late' });
    expect([ended.nodes.log.status, ended.nodes.instead.output]).toEqual(['skipped', 'kept']);
  });

  test('a refusal fails the run where onRejected says so', async () => {
    const graph = sends([], { onRejected: 'fail' }).compile();
    await graph.invoke({}, { runId: 'r' });
    const ended = await graph.resume('r', { answers: { 'send?': 'reject' }, by: 'ann' });
    expect(ended.status).toBe('failed');
    expect(ended.nodes.send).toMatchObject({ status: 'failed', error: { message: 'send was rejected by ann' } });
  });

  test('what may not be changed is not changed: the answer is refused, and the question stays open', async () => {
    const graph = sends([]).compile();
    await graph.invoke({}, { runId: 'r' });
    for (const answer of [{ is_approved: true, data: { text: 'x' } }, 'fine', 7])
      await expect(graph.answer('r', 'send?', answer)).rejects.toMatchObject({ code: 'ANSWER_INVALID' });
  });

  test('free texts are answers where a pattern accepts some, and any other is a refusal with that reason', async () => {
    const answered = async (answer: string) => {
      const graph = sends([], { accepts: /^(ok|yes)\b/i }).compile();
      await graph.invoke({}, { runId: 'r' });
      return (await graph.resume('r', { answers: { 'send?': answer } })).nodes.send;
    };
    expect((await answered('OK, go')).status).toBe('completed');
    expect(await answered('better not')).toEqual({ status: 'skipped', reason: 'rejected by person: better not' });
  });

  test('what other branches write while the person thinks does not reach the node', async () => {
    const seen: unknown[] = [];
    const graph = new AgentGraph({ scratch: z.object({ to: z.string() }) }, { reducers: { 'scratch.to': 'last' } })
      .addNode('first', () => outcome({ scratch: { to: 'bob' } }))
      .addNode('pay', ({ input, state }) => seen.push(input, state.input), {
        input: ({ state }) => ({ to: state.scratch.to }),
        approval: { prompt: ({ input }) => `Pay ${JSON.stringify(input)}?` },
        effectClass: 'external',
      })
      .addNode('other', async (ctx) => outcome({ scratch: { to: await ctx.ask({ prompt: 'To?' }) } }) as never, {
        effectClass: 'human',
      }) // prettier-ignore
      .addNode('no', () => 'no')
      .addEdge(START, 'first')
      .addEdge('first', 'pay')
      .addEdge('first', 'other')
      .addEdge('pay', END)
      .addEdge('other', END)
      .addEdge('pay?', 'no', {
        when: ({ state }) => !(state.outputs as Record<string, { approved: boolean }>)['pay?']?.approved,
      }) // prettier-ignore
      .addEdge('no', END)
      .compile();
    const paused = await graph.invoke({}, { runId: 'r' });
    expect(new Set(paused.waits.map(({ prompt }) => prompt))).toEqual(new Set(['Pay {"to":"bob"}?', 'To?']));
    await graph.resume('r', { answers: { other: 'mallory' } });
    const ended = await graph.resume('r', { answers: { 'pay?': 'approve' } });
    expect([ended.status, seen, ended.state.scratch.to]).toEqual([
      'completed',
      [{ to: 'bob' }, { to: 'bob' }],
      'mallory',
    ]);
  });

  test('a fork with another input asks anew; with the same it keeps the approval', async () => {
    const sent: unknown[] = [];
    const graph = sends(sent).compile();
    await graph.invoke({ to: 'bob' }, { runId: 'r' });
    const { seq } = await graph.resume('r', { answers: { 'send?': 'approve' } });
    const same = await graph.fork({ runId: 'r', seq: 0 });
    expect((await graph.resume(same.runId)).status).toBe('completed');
    const other = await graph.fork({ runId: 'r', seq }, { set: { input: { to: 'zoe' } } });
    const asked = await graph.fork({ runId: 'r', seq: 0 }, { set: { input: { to: 'zoe' } } });
    expect(other.runId).not.toBe(asked.runId);
    const paused = await graph.resume(asked.runId);
    expect(paused.waits[0]).toMatchObject({ metadata: { input: { to: 'zoe', text: 'hello' } } });
    expect(sent).toEqual([{ to: 'bob', text: 'hello' }]);
  });

  test('nobody is asked where `when` says so, and a deadline decides where it may', async () => {
    const sent: unknown[] = [];
    expect(
      (
        await sends(sent, { when: () => false })
          .compile()
          .invoke({})
      ).nodes.send.status,
    ).toBe('completed');
    const late = await sends(sent, { deadlineMs: 1, onDeadline: 'reject' }).compile().invoke({});
    expect(late.nodes.send).toEqual({ status: 'skipped', reason: 'rejected by timeout: nobody answered in time' });
  });

  test('a step of a workflow may be approved too', async () => {
    const made = workflow('w')
      .input(z.object({ n: z.number() }))
      .step('pay', ({ input }) => input.n, { approval: { prompt: 'Pay?' } })
      .returns(({ state }) => state.outputs.pay)
      .compile();
    await made.invoke({ n: 4 }, { runId: 'r' });
    expect(await made.resume('r', { answers: { 'pay?': 'approve' } })).toMatchObject({
      status: 'completed',
      output: 4,
    });
  });

  test('an approval that cannot be used is a fault of the graph', () => {
    const compile = (approval: object) => () => sends([], approval).compile();
    for (const wrong of [
      { prompt: 4 },
      { edit: 'to' },
      { accepts: 'ok' },
      { onDeadline: 'reject' },
      { onRejected: 'no' },
      { audience: 'all' },
      { edits: [] },
    ])
      // prettier-ignore
      expect(compile(wrong)).toThrow(expect.objectContaining({ code: 'GRAPH_INVALID' }));
  });

  test('one function reads the words, our form, and the form of others', () => {
    expect(readApproval('approve')).toEqual({ approved: true });
    expect(readApproval('reject')).toEqual({ approved: false });
    expect(readApproval({ decision: 'edit', args: { a: 1 } })).toEqual({ approved: true, data: { a: 1 } });
    expect(readApproval({ is_approved: false, feedback: 'no' })).toEqual({ approved: false, feedback: 'no' });
    expect(readApproval({ is_approved: true, data: { a: 2 } })).toEqual({ approved: true, data: { a: 2 } });
  });

  test('P2 killed at every point, an effect behind an approval happens once, and nobody is asked twice', async () => {
    const made = (process: CrashProcess) =>
      flow('f', {
        other: { run: (ctx: NodeContext) => ctx.step('s', {}, () => 1) },
        send: {
          run: async (ctx: NodeContext) => {
            await process.sleep(1);
            process.oracle.apply({ key: ctx.idempotencyKey, place: 'send', promise: 'once', output: ctx.input });
            return ctx.input;
          },
          effectClass: 'external',
          reconcile: ({ idempotencyKey }: { readonly idempotencyKey: string }) =>
            process.oracle.reconcile(idempotencyKey),
          approval: { prompt: 'Send?', edit: ['to'] },
        },
      }).toGraph();
    const answer = () => ({ is_approved: true, data: { to: 'ann' } });
    const report = await crashEverywhere(
      { graph: made, input: { to: 'bob' }, answer },
      { open: (now) => ({ store: createMemoryStore({ now }) }) },
    );
    expect(report.trials).toBeGreaterThan(5);
    expect(report.faults).toEqual([]);
  });
});
