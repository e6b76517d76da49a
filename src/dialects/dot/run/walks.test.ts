/** Pipelines that are cut off and go on, and random ones against the rules. */
import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { box, digraph, dotOptions, runDot, scripted, seen } from '../../../../test/dot-kit.ts';
import { afterCrash, createBench, resumeToRest, runToRest } from '../../../../test/engine-kit.ts';
import { CairnError } from '../../../errors.ts';
import { createScriptedModels } from '../../../models/scripted.ts';
import { readDot, type StageHandler } from '../index.ts';

test('11.12.17 11.7.4 11.7.5 a run resumed after a crash anywhere ends as one that did not crash', async () => {
  const text = digraph(`start -> a -> b\nb -> a [condition="context.again=yes"]\nb -> exit\n${box('a', 'b')}`);
  const script = {
    b: [
      { status: 'success', contextUpdates: { again: 'yes' } },
      { status: 'success', contextUpdates: { again: 'no' } },
    ],
  } as const;
  const whole = await runDot(text, { script });
  expect(whole.begun).toEqual(['a', 'b', 'a', 'b']);
  // The second visit of b never answers; another process takes over with what is on record.
  let visits = 0;
  const hanging: StageHandler = {
    effect: 'external',
    isIdempotent: () => true,
    run: ({ parts: { stage } }) => {
      if (stage.id !== 'b') return { status: 'success' };
      visits += 1;
      return visits === 1 ? script.b[0] : new Promise(() => undefined);
    },
  };
  const cut = readDot(text, dotOptions({ handlers: { codergen: hanging } }));
  const bench = createBench();
  const handle = await bench.engine.start(cut.graph, {}, {});
  await expect.poll(() => visits).toBe(2);
  const second = scripted({ b: [script.b[1]] });
  const { graph } = readDot(text, dotOptions({ handlers: { codergen: second.handler } }));
  const resumed = await resumeToRest(afterCrash(bench), handle.runId, graph);
  expect(second.begun).toEqual(['b']);
  expect(seen(resumed).history).toEqual(whole.history);
  expect(seen(resumed).output).toEqual(whole.output);
});

test('6.2.E5 a failed run that is resumed tries the failed stage again, with a new budget', async () => {
  const text = digraph(`start -> a -> b -> exit\n${box('a', 'b')}`);
  const { engine, result, workflow, begun } = await runDot(text, { script: { b: ['fail', 'success'] } });
  expect(result.status).toBe('failed');
  const resumed = await resumeToRest(engine, result.runId, workflow.graph);
  expect([resumed.status, begun]).toEqual(['completed', ['a', 'b', 'b']]);
});

/** What the rules say, without an engine: the trace of a pipeline whose stages end as scripted. */
function walk(
  edges: readonly (readonly [string, string, string, number])[],
  outcomes: readonly string[],
): readonly string[] {
  const trace: string[] = [];
  let at = 's0';
  for (let step = 0; step <= outcomes.length; step += 1) {
    if (at === 'exit') return [...trace, 'exit'];
    if (step === outcomes.length) break;
    const outcome = outcomes[step] ?? 'success';
    trace.push(at);
    const own = edges.filter(([from]) => from === at);
    const fits = own.filter(
      ([, , condition]) =>
        condition !== '' &&
        (condition.startsWith('outcome!=') ? outcome !== condition.slice(9) : outcome === condition.slice(8)),
    );
    const free = own.filter(([, , condition]) => condition === '');
    const isElse = own.some(([, , condition]) => condition !== '');
    const open = fits.length > 0 ? fits : outcome === 'fail' && !isElse ? [] : free;
    const [best] = open.toSorted((a, b) => b[3] - a[3] || Buffer.compare(Buffer.from(a[1]), Buffer.from(b[1])));
    if (best === undefined) return [...trace, 'stop'];
    at = best[1];
  }
  return [...trace, 'cut'];
}

/** The last scripted outcome leads to the exit. */
const exitAtTheEnd: [string, string, string, number][] = [
  ['s5', 's4', '', 0],
  ['s0', 's5', 'outcome=fail', 0],
  ['s0', 's0', '', 0],
  ['s4', 'exit', '', 0],
];

test('DOT4 random pipelines go the way that the rules say', async () => {
  const id = fc.integer({ min: 0, max: 5 }).map((n) => `s${n}`);
  const edge = fc.tuple(
    id,
    fc.oneof({ weight: 4, arbitrary: id }, { weight: 1, arbitrary: fc.constant('exit') }),
    fc.constantFrom('', '', 'outcome=success', 'outcome=fail', 'outcome!=success'),
    fc.integer({ min: -1, max: 2 }),
  );
  const outcomes = fc.array(fc.constantFrom('success', 'success', 'partial_success', 'fail'), {
    minLength: 12,
    maxLength: 12,
  });
  await fc.assert(
    fc.asyncProperty(fc.array(edge, { minLength: 4, maxLength: 14 }), outcomes, async (drawn, said) => {
      // Every stage can be come to, and leads to the exit at the least weight.
      const chain = [0, 1, 2, 3, 4, 5].map(
        (n) => [`s${n}`, n === 5 ? 'exit' : `s${n + 1}`, 'outcome=skipped', -9] as const,
      );
      const edges = [...drawn, ...chain];
      const text = digraph(
        `start -> s0\n${box('s0', 's1', 's2', 's3', 's4', 's5')}\n${edges.map(([from, to, condition, weight]) => `${from} -> ${to} [condition="${condition}", weight=${weight}]`).join('\n')}`,
      );
      let step = 0;
      const handler: StageHandler = {
        effect: 'external',
        isIdempotent: () => true,
        run: ({ parts: { stage } }) => {
          trace.push(stage.id);
          const status = said[step] as 'success' | undefined;
          step += 1;
          // No outcome of the stage: it ends the run whatever edges there are.
          if (status === undefined)
            throw new CairnError('NODE_CALL_REFUSED', { call: 'run', node: stage.id, reason: 'enough' });
          return { status };
        },
      };
      const trace: string[] = [];
      const workflow = readDot(text, dotOptions({ handlers: { codergen: handler } }));
      const result = await runToRest(createBench().engine, workflow.graph);
      const expected = walk(edges, said);
      const end = expected.at(-1);
      expect(trace.slice(0, said.length)).toEqual(expected.slice(0, -1));
      expect(result.status).toBe(end === 'exit' ? 'completed' : 'failed');
    }),
    { numRuns: 60, examples: [[exitAtTheEnd, [...Array<'success'>(9).fill('success'), 'fail', 'success', 'success']]] },
  );
});

test('11.13 the smoke test: plan, implement as a goal gate, review', async () => {
  const text = `digraph Smoke {
    graph [goal="Create a hello world"]
    start [shape=Mdiamond]
    plan [prompt="Plan how to $goal"]
    implement [prompt="Write it", goal_gate=true, retry_target=plan]
    review [prompt="Review it"]
    done [shape=Msquare]
    start -> plan -> implement
    implement -> review [condition="outcome=success"]
    implement -> plan [condition="outcome=fail", label=Retry]
    review -> done [condition="outcome=success"]
    review -> implement [condition="outcome=fail", label=Fix]
  }`;
  const models = createScriptedModels(({ messages: [message] }) =>
    /Write it|Review it/.test(JSON.stringify(message)) ? 'Written.\n{"outcome": "success"}' : 'Fine.',
  );
  const { workflow, result, history, output } = await runDot(text, { asksModels: true, engine: { models } });
  expect(workflow.warnings).toEqual([]);
  expect(result.status).toBe('completed');
  expect(history).toEqual(['start', 'plan', 'implement', 'review']);
  expect(output).toMatchObject({ status: 'success', gates: { implement: 'success' } });
  expect(Object.keys(result.state.outputs)).toContain('done');
  expect(result.state.outputs['plan']).toMatchObject({ outcome: 'success', response: 'Fine.' });
});

test('6.6 a run does not go on under a pipeline in which the stage that it waits at is another', async () => {
  const text = digraph(
    `start -> gate\ngate [shape=hexagon, timeout=1d]\ngate -> a [label=Yes]\ngate -> exit [label=No]\na -> exit\n${box('a')}`,
  );
  const { engine, result } = await runDot(text);
  const edited = readDot(text.replace('gate [shape=hexagon, timeout=1d]', 'gate [prompt=x]'), dotOptions());
  await expect(engine.resume(result.runId, { graph: edited.graph })).rejects.toMatchObject({
    code: 'RUN_GRAPH_CHANGED',
  });
});
