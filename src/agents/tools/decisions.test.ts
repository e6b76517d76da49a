/** What becomes of a person's decision about a call: which arguments run, and what is not asked again. */
import { expect, test } from 'vitest';
import { z } from 'zod';
import { afterCrash, createBench, edges, graphOf, resumeToRest, runToRest } from '../../../test/engine-kit.ts';
import { createScriptedModels } from '../../models/scripted.ts';
import type { AnySchema } from '../../schema/standard-schema.ts';
import { agent } from '../agent.ts';
import { isApprovalRequested, questionName } from './approval.ts';
import { tool } from './tool-box.ts';

/** Runs an agent that asks before it sends, with one answer after the other, each given by another process. */
async function decide(
  input: AnySchema,
  args: unknown,
  answers: readonly unknown[],
): Promise<{ readonly shown: readonly string[]; readonly sent: readonly unknown[]; readonly status: string }> {
  const sent: unknown[] = [];
  const send = tool({ description: 'Sends.', input, run: (given) => void sent.push(given) });
  const bench = createBench({ models: createScriptedModels([{ calls: [{ tool: 'send', input: args }] }, 'Done.']) });
  const node = { id: 'a', ...agent({ model: 'm', prompt: 'Go.', tools: { send } }) };
  const graph = graphOf('g', [node], edges('> a', 'a >'));
  let rest = await runToRest(bench.engine, graph, {}, 'r');
  const shown: string[] = [];
  for (const answer of answers) {
    shown.push(rest.waits[0]?.prompt ?? '');
    await afterCrash(bench).answer('r', rest.waits[0]?.waitId ?? '', answer);
    rest = await resumeToRest(afterCrash(bench), 'r', graph);
  }
  return { shown, sent, status: rest.status };
}

test('A6 arguments that the schema makes of those that a person gave are shown before they run', async () => {
  const input = z.object({ n: z.number(), unit: z.string().default('cents') });
  const edit = { decision: 'edit', args: { n: 4 } };
  const { shown, sent, status } = await decide(input, { n: 1, unit: 'euros' }, [edit, 'approve']);
  expect(shown[1]).toMatch(/^These are the arguments as the tool takes them\./u);
  expect(shown[1]).toContain('"unit": "cents"');
  expect([status, sent]).toEqual(['completed', [{ n: 4, unit: 'cents' }]]);
  const refused = await decide(input, { n: 1, unit: 'euros' }, [edit, 'refuse']);
  expect([refused.status, refused.sent]).toEqual(['completed', []]);
});

test('A6 a default that is another each time runs as it was shown, in whatever process', async () => {
  let made = 0;
  const input = z.object({ id: z.string().default(() => `id-${(made += 1)}`) });
  const { shown, sent } = await decide(input, {}, ['approve']);
  expect(sent).toHaveLength(1);
  expect(shown[0]).toContain(`"id": "${(sent[0] as { id: string }).id}"`);
});

test('A6 what is on record stands, whatever the tools say now: a call is not asked about, and a question is not decided anew', async () => {
  const ask = (recorded: readonly string[], decide: boolean) =>
    isApprovalRequested(
      { past: { kindOf: (name: string) => (recorded.includes(name) ? 'step' : undefined) } as never },
      'call 1',
      () => decide,
    );
  expect([await ask([], true), await ask([], false)]).toEqual([true, false]);
  expect([await ask(['call 1'], true), await ask(['call 2'], true)]).toEqual([false, true]);
  expect(await ask([questionName('call 1'), 'call 1'], false)).toBe(true);
});
