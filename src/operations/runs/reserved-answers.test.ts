/** Approvals that a model asks for are for people, whoever else may answer (M13.5). */
import { expect, test } from 'vitest';
import { createBench, edges, graphOf, runToRest } from '../../../test/engine-kit.ts';
import { agent } from '../../agents/agent.ts';
import { tool } from '../../agents/tools/tool-box.ts';
import { createScriptedModels } from '../../models/scripted.ts';
import type { WorkContext } from '../contract/operation.ts';
import { answerWait } from '../waits/answer-wait.ts';
import { forkRun } from './fork-run.ts';

test('M13.5 a model answers no question about a call that it wants to make, in the run or in a fork; a person does', async () => {
  const sent: unknown[] = [];
  const input = { type: 'object', properties: { to: { type: 'string' } } };
  const send = tool({ description: 'Sends.', input, run: (args) => void sent.push(args) });
  const models = createScriptedModels([{ calls: [{ tool: 'send', input: { to: 'ann' } }] }, 'Done.']);
  const bench = createBench({ models });
  const graph = graphOf(
    'g',
    [{ id: 'a', ...agent({ model: 'm', prompt: 'Go.', tools: { send } }) }],
    edges('> a', 'a >'),
  );
  const { waits } = await runToRest(bench.engine, graph, {}, 'r');
  const reserved = { questions: 'approvals', command: (...words: readonly string[]) => words.join(' ') } as const;
  const context = {
    engine: bench.engine,
    store: bench.store,
    blobs: bench.options.blobs,
    tenant: 'default',
    reserved,
    findGraph: () => Promise.resolve(graph),
  } as unknown as WorkContext;
  const waitId = waits[0]?.waitId ?? '';
  for (const wait of [waitId, 'a', waitId.slice(0, 8), undefined]) {
    const named = wait === undefined ? {} : { wait };
    await expect(answerWait.run(context, { run: 'r', value: 'approve', ...named })).rejects.toMatchObject({
      code: 'ANSWER_RESERVED',
    });
  }
  for (const name of [waitId, 'a', waitId.slice(0, 8)])
    await expect(forkRun.run(context, { checkpoint: 'r', answer: { [name]: 'approve' } })).rejects.toMatchObject({
      code: 'ANSWER_RESERVED',
    });
  expect(sent).toEqual([]);
  // A name makes nobody a person: what is reserved is said by the context alone.
  await expect(answerWait.run(context, { run: 'r', value: 'approve', by: 'person' })).rejects.toMatchObject({
    code: 'ANSWER_RESERVED',
  });
  const { reserved: _reserved, ...ofPerson } = context;
  expect(await answerWait.run(ofPerson, { run: 'r', value: 'approve' })).toMatchObject({ waitId });
});
