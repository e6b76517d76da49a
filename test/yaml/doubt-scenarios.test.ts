/** What a person, or the type's own look at the receiver, says of a block's effect in doubt, and what references then read (X3, T6, Y10). */
import { describe, expect, test } from 'vitest';
import type { RunResult } from '../../src/engine/api.ts';
import type { NodeType } from '../../src/graph/contracts/node-type.ts';
import { InteractiveBlock, interactiveNodeType, type BlockOutput } from '../../src/nodes/blocks/index.ts';
import { outputsOf, yamlBench, type YamlBench } from '../yaml-bench.ts';

const any = { schema: {}, description: 'anything' };

/** Its first attempts are lost on the way: nobody knows whether they arrived. */
function lostType(more: Partial<NodeType> = {}): NodeType {
  return {
    name: 'Lost',
    description: 'Sends something, and hears no answer.',
    inputs: { value: any },
    outputs: { value: any },
    effect: 'external',
    run: () => {
      throw new Error('the answer was lost');
    },
    ...more,
  };
}

class LostCall extends InteractiveBlock {
  override readonly name = 'LostCall';
  override readonly description = 'Its first call hears no answer.';
  override readonly effect = 'external';
  override execute(): BlockOutput {
    throw new Error('the answer was lost');
  }
  override resume(): BlockOutput {
    return {};
  }
}

/** Runs into the doubt and answers every question about it. */
async function decide(bench: YamlBench, text: string, answer: unknown): Promise<RunResult> {
  const { runId } = await bench.start(text);
  const { waits } = await bench.resume(runId);
  expect(waits.every(({ kind }) => kind === 'doubt')).toBe(true);
  for (const { waitId } of waits) await bench.engine.answer(runId, waitId, answer);
  return bench.resume(runId);
}

const outputs = (value: string): string => `outputs: { status: "\${blocks.a.status}", value: "\${${value}}" }`;
const one = `name: t
blocks: [{ id: a, type: Lost, inputs: { value: 1 } }, { id: b, type: EchoBlock, depends_on: [a], inputs: { message: after } }]
${outputs('a.value')}
`;
const each = (value: string): string => `name: t
blocks: [{ id: a, type: Lost, for_each: [1, 2], inputs: { value: "\${each.value}" } }]
${outputs(value)}
`;

describe('X3.5 T6 a person says that it happened', () => {
  test('without an output: the block completed, and has no fields', async () => {
    const result = await decide(yamlBench([lostType()]), one, 'happened');
    expect(result.status).toBe('completed');
    expect(outputsOf(result)).toEqual({ status: 'completed', value: null });
    expect(result.skipped).toEqual([]);
  });

  test('a block that reads a field of it is told why there is none', async () => {
    const text = one.replace('message: after', 'message: "${a.value}"');
    const { error } = await decide(yamlBench([lostType()]), text, 'happened');
    expect(error?.message).toContain('a, which happened without an output');
  });

  test('with an output: references read it', async () => {
    const result = await decide(yamlBench([lostType()]), one, { decision: 'happened', output: { value: 7 } });
    expect(outputsOf(result)).toEqual({ status: 'completed', value: 7 });
  });

  test('Y10 of items, without outputs', async () => {
    const result = await decide(yamlBench([lostType()]), each('a.count'), 'happened');
    expect(outputsOf(result)).toEqual({ status: 'completed', value: 2 });
    // As after a run without a doubt: the steps hold the iterations.
    expect(result.state.outputs['a']).toEqual([
      { key: '0', status: 'completed' },
      { key: '1', status: 'completed' },
    ]);
    const read = await decide(yamlBench([lostType()]), each('blocks.a[1].value'), 'happened');
    expect(outputsOf(read)).toEqual({ status: 'completed', value: null });
  });

  test('Y10 of items, with what the block gives', async () => {
    const answer = { decision: 'happened', output: { value: 7 } };
    const result = await decide(yamlBench([lostType()]), each('a.iterations[1].value'), answer);
    expect(outputsOf(result)).toEqual({ status: 'completed', value: 7 });
    expect(result.state.outputs['a']).toEqual([
      { key: '0', status: 'completed', outputs: { value: 7 } },
      { key: '1', status: 'completed', outputs: { value: 7 } },
    ]);
  });

  test('Y10 of an item, as it is stored', async () => {
    const answer = { decision: 'happened', output: { key: '0', status: 'completed', outputs: { value: 7 } } };
    const result = await decide(yamlBench([lostType()]), each('a.iterations[0].value'), answer);
    expect(outputsOf(result)).toEqual({ status: 'completed', value: 7 });
    expect(result.state.outputs['a']).toMatchObject([{ key: '0', status: 'completed', outputs: { value: 7 } }, {}]);
  });

  test('of a call of an interactive block, with or without what the block gives', async () => {
    const bench = (): YamlBench => yamlBench([interactiveNodeType(new LostCall())]);
    const text = `name: t\nblocks: [{ id: a, type: LostCall }]\n${outputs('default(a.value, 0)')}\n`;
    expect(outputsOf(await decide(bench(), text, 'happened'))).toEqual({ status: 'completed', value: 0 });
    const given = await decide(bench(), text, { decision: 'happened', output: { value: 7 } });
    expect(outputsOf(given)).toEqual({ status: 'completed', value: 7 });
  });
});

test('X3.4 Y10 what reconcile finds of an item is the output of that item', async () => {
  const found = lostType({ reconcile: ({ inputs: { value } }) => ({ happened: true, output: { value } }) });
  const bench = yamlBench([found]);
  const { runId } = await bench.start(each('a.iterations[1].value'));
  const result = await bench.resume(runId);
  expect(outputsOf(result)).toEqual({ status: 'completed', value: 2 });
  // As after a run without a doubt: the steps hold the iterations.
  expect(result.state.outputs['a']).toMatchObject([{ key: '0', status: 'completed' }, { key: '1' }]);
});
