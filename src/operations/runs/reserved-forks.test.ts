/** Forks that would answer for a person, and the command that is told for a person to type (M13.5). */
import { expect, test } from 'vitest';
import { createBench, edges, graphOf, node, runToRest } from '../../../test/engine-kit.ts';
import type { WorkContext } from '../contract/operation.ts';
import { forkRun } from './fork-run.ts';
import { refuseAnswer } from './reserved-answers.ts';

type Questions = 'all' | 'approvals';
const reservedFor = (questions: Questions) => ({
  questions,
  command: (...words: readonly string[]) => ['cairn', ...words].join(' '),
});

/** A run that a node without questions is behind, and that waits in another. */
async function waiting(questions: Questions, isApproval = true) {
  const bench = createBench();
  const graph = graphOf(
    'g',
    [
      node('read', 'pure', () => 1, {}),
      node('ask', 'human', (ctx) => ctx.ask({ prompt: 'Go?', ...(isApproval && { isApproval }) }), {}),
    ],
    edges('> read', 'read > ask', 'ask >'),
  );
  const { waits } = await runToRest(bench.engine, graph, {}, 'r');
  const context = {
    engine: bench.engine,
    store: bench.store,
    blobs: bench.options.blobs,
    tenant: 'default',
    reserved: reservedFor(questions),
    findGraph: () => Promise.resolve(graph),
  } as unknown as WorkContext;
  const fork = (set: Readonly<Record<string, unknown>>) => forkRun.run(context, { checkpoint: 'r', set });
  return { waitId: waits[0]?.waitId ?? '', fork };
}

test.each(['all', 'approvals'] as const)(
  'M13.5 where %s are reserved, a fork sets the outcome of a node that asks for a person alone, and of others for anybody',
  async (questions) => {
    const { fork } = await waiting(questions);
    await expect(fork({ 'outputs.ask': 'yes' })).rejects.toMatchObject({
      code: 'ANSWER_RESERVED',
      data: {
        reason: 'the fork would set the outcome of ask, which may ask',
        command: 'cairn fork r --set outputs.ask=VALUE --run',
      },
    });
    expect(await fork({ 'outputs.read': 2 })).toMatchObject({ fork: { runId: expect.any(String) as string } });
  },
);

test('M13.5 where approvals are reserved, a fork may set the outcome of a node that asks for something else', async () => {
  const { fork } = await waiting('approvals', false);
  expect(await fork({ 'outputs.ask': 'yes' })).toMatchObject({ fork: { runId: expect.any(String) as string } });
});

test('M13.5 the command that is told answers the question by its name, and goes on with the run', () => {
  const command = (waitId: string) => {
    const named = { runId: 'r', waitId, wait: undefined };
    return () => refuseAnswer({ reserved: reservedFor('all') }, named);
  };
  expect(command('w1')).toThrow(
    expect.objectContaining({ data: { runId: 'r', command: 'cairn answer r w1 VALUE --resume' } }),
  );
  expect(command('')).toThrow(
    expect.objectContaining({ data: { runId: 'r', command: 'cairn answer r VALUE --resume' } }),
  );
});
