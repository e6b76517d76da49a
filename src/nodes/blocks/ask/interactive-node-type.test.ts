/** Interactive blocks of a user, on the engine: turns, refusals, failures and crashes. */
import { expect, test } from 'vitest';
import { afterCrash, createBench, edges, graphOf, resumeToRest, runToRest } from '../../../../test/engine-kit.ts';
import type { Graph } from '../../../graph/graph.ts';
import type { NodeContext } from '../../../graph/contracts/node-contract.ts';
import type { Inputs, TypedNodeContext } from '../../../graph/contracts/node-type.ts';
import {
  InteractiveBlock,
  pause,
  refuse,
  type InteractiveContext,
  type BlockOutput,
  type Pause,
  type Refusal,
  interactiveNodeType,
} from './confirm-operation.ts';

/** Asks for a first and a last name; the calls of its methods are counted. */
class Names extends InteractiveBlock {
  override readonly name = 'Names';
  override readonly description = 'Asks for names.';
  readonly calls: string[] = [];
  failures = 0;

  override execute({ inputs }: InteractiveContext): BlockOutput | Pause {
    this.calls.push('execute');
    if (inputs['known'] !== undefined) return { full: inputs['known'] };
    return pause({ prompt: 'First name?', metadata: { names: [] } });
  }

  override resume(_: InteractiveContext, answer: unknown, metadata: unknown): BlockOutput | Pause | Refusal {
    this.calls.push(`resume ${String(answer)}`);
    if (answer === '') return refuse('A name has letters.');
    if (this.failures > 0) {
      this.failures -= 1;
      throw new Error('the line is down');
    }
    const names = [...(metadata as { names: string[] }).names, String(answer)];
    return names.length === 2 ? { full: names.join(' ') } : pause({ prompt: 'Last name?', metadata: { names } });
  }
}

function graphWith(block: InteractiveBlock, inputs: Inputs = {}): Graph {
  const type = interactiveNodeType(block);
  const typed = (ctx: NodeContext): TypedNodeContext =>
    new Proxy(ctx, {
      get: (target, key) => {
        if (key === 'inputs') return inputs;
        const value: unknown = Reflect.get(target, key);
        return typeof value === 'function' ? value.bind(target) : value;
      },
    }) as TypedNodeContext;
  return graphOf(
    'names',
    [{ id: 'ask', type: type.name, effect: 'human', implementation: { run: (ctx) => type.run(typed(ctx)) } }],
    edges('> ask', 'ask >'),
  );
}

test('B40 W1 a block may ask again and again; its metadata is kept between', async () => {
  const block = new Names();
  const graph = graphWith(block);
  const { engine } = createBench();
  const first = await runToRest(engine, graph);
  expect(first.waits).toMatchObject([{ prompt: 'First name?', metadata: { names: [] } }]);
  await engine.answer(first.runId, first.waits[0]?.waitId ?? '', 'Ada');
  const second = await resumeToRest(engine, first.runId, graph);
  expect(second.waits).toMatchObject([{ prompt: 'Last name?', metadata: { names: ['Ada'] } }]);
  await engine.answer(first.runId, second.waits[0]?.waitId ?? '', 'Byron');
  const done = await resumeToRest(engine, first.runId, graph);
  expect(done.state.outputs).toEqual({ ask: { full: 'Ada Byron' } });
  expect(block.calls).toEqual(['execute', 'resume Ada', 'resume Byron']);
});

test('B40 W1 a block may complete without a question', async () => {
  const { engine } = createBench();
  const done = await runToRest(engine, graphWith(new Names(), { known: 'Ada' }));
  expect(done.state.outputs).toEqual({ ask: { full: 'Ada' } });
});

test('B40 W3 a refused answer is asked for again, with the reason, any number of times', async () => {
  const graph = graphWith(new Names());
  const { engine } = createBench();
  let at = await runToRest(engine, graph);
  for (let round = 0; round < 3; round += 1) {
    await engine.answer(at.runId, at.waits[0]?.waitId ?? '', '');
    at = await resumeToRest(engine, at.runId, graph);
    expect(at.waits).toMatchObject([{ prompt: 'A name has letters.\n\nFirst name?', metadata: { names: [] } }]);
  }
});

test('B40 G8 a block that fails after its answer tries again with that answer, and asks nothing twice', async () => {
  const block = new Names();
  block.failures = 1;
  const graph = graphWith(block);
  const { engine } = createBench();
  const asked = await runToRest(engine, graph);
  await engine.answer(asked.runId, asked.waits[0]?.waitId ?? '', 'Ada');
  const failed = await resumeToRest(engine, asked.runId, graph);
  expect(failed.status).toBe('failed');
  const again = await resumeToRest(engine, asked.runId, graph);
  expect(again.waits).toMatchObject([{ prompt: 'Last name?' }]);
  expect(block.calls).toEqual(['execute', 'resume Ada', 'resume Ada']);
});

test('B40 X4 another process goes on from the last recorded turn', async () => {
  const block = new Names();
  const graph = graphWith(block);
  const bench = createBench();
  const asked = await runToRest(bench.engine, graph);
  await bench.engine.answer(asked.runId, asked.waits[0]?.waitId ?? '', 'Ada');
  const other = afterCrash(bench);
  const second = await resumeToRest(other, asked.runId, graph);
  const third = await resumeToRest(afterCrash(bench), asked.runId, graph);
  expect(third.waits).toEqual(second.waits);
  expect(block.calls).toEqual(['execute', 'resume Ada']);
});

test('B40 X4 a pure block records its answers only', async () => {
  class Pure extends Names {
    override readonly effect = 'pure';
  }
  const block = new Pure();
  const graph = graphWith(block);
  const { engine } = createBench();
  const asked = await runToRest(engine, graph);
  await engine.answer(asked.runId, asked.waits[0]?.waitId ?? '', 'Ada');
  await resumeToRest(engine, asked.runId, graph);
  expect(block.calls).toEqual(['execute', 'execute', 'resume Ada']);
});
