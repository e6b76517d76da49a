/** `approval` of a stage: a person is asked before its work, and a refusal is a failure that an edge may take. */
import { expect, test } from 'vitest';
import { digraph, dotOptions, runDot, type RanDot } from '../../../../../test/dot-kit.ts';
import { resumeToRest } from '../../../../../test/engine-kit.ts';
import { simulatePipeline } from '../../../../app/simulate/index.ts';
import type { RunResult } from '../../../../engine/api.ts';
import { checkDot } from '../../index.ts';

const asking = (more = ''): string =>
  digraph(`start -> pay\npay -> exit\npay -> no [condition="outcome=fail"]\nno -> exit
pay [prompt="Pay $goal.", approval="Pay $goal?", max_retries=3${more}]\nno [prompt=no]`);

const answered = async ({ engine, result, workflow }: RanDot, answer: unknown, who = {}): Promise<RunResult> => {
  for (const { waitId } of result.waits) await engine.answer(result.runId, waitId, answer, who);
  return resumeToRest(engine, result.runId, workflow.graph);
};

test('DOT35 a stage asks before its work, and shows it; approved, it works once', async () => {
  const ran = await runDot(asking(), { input: { goal: 'Ada' } });
  expect(ran.result.waits).toMatchObject([
    { prompt: 'Pay Ada?', isApproval: true, metadata: { stage: 'pay', prompt: 'Pay Ada.', params: { goal: 'Ada' } } },
  ]);
  expect(ran.begun).toEqual([]);
  const result = await answered(ran, 'approve');
  expect([result.status, ran.begun]).toEqual(['completed', ['pay']]);
});

test('DOT35 a refusal fails the stage without its work and without another attempt', async () => {
  const ran = await runDot(asking());
  const result = await answered(ran, { decision: 'reject', reason: 'too much' }, { by: 'ann' });
  expect([result.status, ran.begun]).toEqual(['completed', ['no']]);
  expect(result.state.outputs['pay']).toMatchObject({
    outcome: 'fail',
    failure_reason: 'it was rejected by ann: too much',
  });
});

test('DOT35 W8 whose answer it is, is said as of any question', async () => {
  const { result } = await runDot(asking(', assignees="role:finance"'));
  expect(result.waits).toMatchObject([{ for: ['role:finance'] }]);
});

test('DOT35 DOT30 the plan says that it asks; a simulation asks nobody', async () => {
  const { workflow } = await runDot(asking());
  expect(workflow.blocks.find(({ id }) => id === 'pay')).toMatchObject({ asks: true });
  const { runs } = await simulatePipeline(asking());
  expect(runs.map(({ status }) => status)).toContain('success');
});

test('DOT35 where nobody asks, it has no effect, and that is told', () => {
  const text = digraph('start -> a\na -> b\nb -> exit\na [prompt=a, assignees=ann]\nb [shape=diamond, approval="Go?"]');
  const said = checkDot(text, dotOptions()).violations.map(({ message }) => message);
  expect(said).toEqual(
    expect.arrayContaining([
      'assignees of a has no effect: it asks nobody',
      'approval has no effect on b, a conditional stage',
    ]),
  );
});
