/** Simulations of pipelines: scenarios, ways that are looked for, and what they cover. */
import { readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { box, digraph } from '../../../test/dot-kit.ts';
import { readScenarios } from '../../dialects/dot/simulate/scenario.ts';
import { simulatePipeline, type SimulationReport } from './simulate-pipeline.ts';

const text = digraph(
  `start -> write -> check -> ok
ok -> gate [condition="outcome=success"]
ok -> write [condition="outcome!=success"]
gate -> exit [label="[Y] Yes"]
gate -> write [label="[N] No"]
write -> exit [condition="context.skip=yes"]
check [shape=parallelogram, tool_command="touch /must-not-be-run; exit 1"]
ok [shape=diamond]
gate [shape=hexagon, label="Ship it?"]
${box('write')}`,
);

const pathsOf = ({ runs }: SimulationReport): readonly string[] =>
  runs.map(({ name, status, path }) => `${name}: ${path.map(({ stage }) => stage).join(' ')}: ${status}`);

test('DOT30 a scenario says how stages end and what is answered; the path is that of a run, and nothing is done outside', async () => {
  const scenarios = readScenarios(
    [
      { name: 'at once', stages: { gate: ['Yes'] } },
      { name: 'twice', stages: { check: ['fail', 'success'], gate: ['n', 'y'] } },
      { name: 'skipped', stages: { write: [{ outcome: 'success', context_updates: { skip: 'yes' } }] } },
      { name: 'asked' },
    ],
    'outcomes.yaml',
  );
  const report = await simulatePipeline(text, { scenarios, source: 'p.dot' });
  expect(pathsOf(report)).toEqual([
    'at once: start write check ok gate exit: success',
    'twice: start write check ok write check ok gate write check ok gate exit: partial_success',
    'skipped: start write exit: success',
    'asked: start write check ok: waiting',
  ]);
  expect(report.runs[3]?.reason).toBe('Ship it?');
  expect(report.runs[1]?.path[2]).toEqual({
    stage: 'check',
    outcome: 'fail',
    reason: 'the scenario says fail',
    edge: 2,
    to: 'ok',
  });
  expect(report.coverage).toEqual({ stages: { count: 6, missed: [] }, edges: { count: 8, missed: [] } });
});

test('DOT30 what a suite does not come to is told: stages, and edges with their places', async () => {
  const report = await simulatePipeline(text, {
    scenarios: readScenarios({ stages: { gate: 'Yes' } }, 's'),
    source: 'p.dot',
  });
  expect(report.coverage.stages.missed).toEqual([]);
  expect(report.coverage.edges.missed).toEqual([
    { from: 'ok', to: 'write', label: '', condition: 'outcome!=success', place: 'p.dot:7:1' },
    { from: 'gate', to: 'write', label: '[N] No', condition: '', place: 'p.dot:9:1' },
    { from: 'write', to: 'exit', label: '', condition: 'context.skip=yes', place: 'p.dot:10:1' },
  ]);
});

test('DOT30 without scenarios ways are looked for until nothing new is found', async () => {
  const report = await simulatePipeline(text);
  expect(report.coverage.edges.missed).toEqual([]);
  expect(report.runs.length).toBeLessThan(8);
  expect(report.runs[0]?.name).toBe('all succeed');
});

test('DOT30 ways are looked for behind questions of every form, yes and no without labels and choices that are not offered too', async () => {
  const asking = digraph(
    `start -> a -> ok\nok [shape=hexagon, human.type=confirmation, retry_target=mend]\nmend -> ok\nok -> free
free [shape=hexagon, human.type=freeform]\nfree -> again [label=again]\nagain -> free\nfree -> word
word [shape=hexagon, human.type=yes_no]\nword -> pick [label=Yes]\nword -> last
pick [shape=hexagon, timeout=1m]\npick -> last [label=Last]\npick -> never [label=Never, condition="context.x=1"]\npick -> late [condition="outcome=fail"]
never -> exit\nlate -> exit\nlast -> exit\n${box('a', 'mend', 'again', 'last', 'late', 'never')}`,
  );
  const report = await simulatePipeline(asking);
  expect(report.coverage.edges.missed.map(({ from, to }) => `${from} -> ${to}`)).toEqual([
    'pick -> never',
    'never -> exit',
  ]);
  expect(pathsOf(report)).toContain('ok fails: start a ok mend ok: waiting');
});

test('DOT30 an answer of a scenario that does not fit is refused with the scenario and the stage', async () => {
  const scenarios = [{ name: 'odd', stages: { gate: [{ answer: 'perhaps' }] } }];
  await expect(simulatePipeline(text, { scenarios })).rejects.toMatchObject({
    code: 'USAGE_INVALID',
    message: expect.stringContaining('the scenario odd answers gate with "perhaps": ') as unknown,
  });
});

test('DOT30 branches, gates, retries, restarts and failed commands are those of a run', async () => {
  const wide = digraph(
    `start -> p\np [shape=component]\np -> a -> j\np -> b -> j\nj [shape=tripleoctagon]\nj -> judge\njudge -> a2 [label=again, loop_restart=true]\njudge -> exit [label=done]\na2 -> judge\njudge [prompt=x, goal_gate=true, retry_target=fix, max_retries=1]\nfix -> judge\n${box('a', 'b', 'a2', 'fix')}`,
  );
  const scenarios = readScenarios(
    [
      {
        name: 'retried',
        stages: { b: 'fail', judge: [{ error: 'down' }, { outcome: 'success', preferred_label: 'done' }] },
      },
      {
        name: 'restarted',
        stages: {
          judge: [
            { outcome: 'success', preferred_label: 'again' },
            { outcome: 'success', preferred_label: 'done' },
          ],
        },
      },
      { name: 'jumps', stages: { judge: ['fail', { outcome: 'success', preferred_label: 'done' }] } },
    ],
    's',
  );
  const report = await simulatePipeline(wide, { scenarios });
  expect(pathsOf(report)).toEqual([
    'retried: start b a p j judge exit: partial_success',
    'restarted: start a b p j judge a2 judge exit: success',
    'jumps: start a b p j judge fix judge exit: partial_success',
  ]);
  expect(report.coverage.edges.missed).toEqual([]);
  expect((await simulatePipeline(wide)).coverage.edges.missed).toEqual([]);
});

test('DOT30 a question that nobody answers takes its default choice once its time is over, which is not waited for', async () => {
  const timed = digraph(
    `start -> gate\ngate [shape=hexagon, timeout=30d, human.default_choice=b]\ngate -> a\ngate -> b\na -> exit\nb -> exit\n${box('a', 'b')}`,
  );
  const scenarios = readScenarios(
    [
      { name: 'late', stages: { gate: [{ answer: null }] } },
      { name: 'said', stages: { gate: 'a' } },
    ],
    's',
  );
  expect(pathsOf(await simulatePipeline(timed, { scenarios }))).toEqual([
    'late: start gate b exit: success',
    'said: start gate a exit: success',
  ]);
});

test.each([
  [{ stages: { gate: [{ outcome: 'great' }] } }, 's, gate: its outcome is "great"'],
  [{ outcomes: {} }, 's: outcomes is none of name, input, stages'],
  [[1], 's: a scenario has a name and stages'],
  [{ stages: [] }, 's: stages must be a mapping'],
])('DOT30 the scenarios %j are refused: %s', (data, reason) => {
  expect(() => readScenarios(data, 's')).toThrow(
    expect.objectContaining({ code: 'USAGE_INVALID', message: expect.stringContaining(reason) as unknown }),
  );
});

test('DOT30 a scenario for a stage that there is not is refused, with the one that is meant', async () => {
  await expect(simulatePipeline(text, { scenarios: [{ name: 'x', stages: { gat: [] } }] })).rejects.toMatchObject({
    code: 'USAGE_INVALID',
    data: { hint: 'Did you mean gate?' },
  });
});

test('DOT30 what is scripted and never asked for is told', async () => {
  const scenarios = readScenarios({ stages: { gate: ['Yes', 'No'], write: 'success' } }, 's');
  expect((await simulatePipeline(text, { scenarios })).runs[0]?.unused).toEqual(['gate']);
});

const examples = join(import.meta.dirname, '../../../examples/pipelines');

test.each(readdirSync(examples).filter((name) => name.endsWith('.dot')))(
  'DOT30 ways through all stages and edges of the example %s are found',
  async (name) => {
    const { coverage } = await simulatePipeline(readFileSync(join(examples, name), 'utf8'), { source: name });
    expect(coverage.stages.missed).toEqual([]);
    expect(coverage.edges.missed).toEqual([]);
  },
);

test('DOT30 a branch that was cancelled before it did anything is not covered', async () => {
  const fast = digraph(
    `start -> p\np [shape=component, join_policy=first_success, max_parallel=1]\np -> a -> j\np -> b -> j\nj [shape=tripleoctagon]\nj -> exit\n${box('a', 'b')}`,
  );
  const { coverage } = await simulatePipeline(fast, { scenarios: [{ name: 'x', stages: {} }] });
  expect(coverage.stages.missed).toEqual(['b']);
  expect(coverage.edges.missed.map(({ from, to }) => `${from} -> ${to}`)).toEqual(['p -> b', 'b -> j']);
});

/** A pipeline whose stages ask a model, unless they are declared as others. */
const piped = (lines: string): string => digraph(`node [prompt="Do it."]\n${lines}`);

test.each([
  [
    'the vote of the guide',
    `start -> panel\npanel [shape=component, join_policy="2_of_n", max_parallel=1]\npanel -> safe -> vote\npanel -> fast -> vote\npanel -> plain -> vote
vote [shape=tripleoctagon]\nvote -> take -> exit\nvote -> refuse [condition="outcome=fail"]\nrefuse -> exit`,
  ],
  [
    'a race, ends of whose branches open others',
    `start -> p\np [shape=component, join_policy=first_success, max_parallel=1]\nj [shape=tripleoctagon]\np -> a -> j\np -> b -> b2 -> j
b -> b3 [condition="outcome=fail"]\nb3 -> j\np -> c -> d\nd [shape=diamond]\nd -> c2 [condition="outcome=fail"]\nd -> c3 [condition="context.x=1"]\nd -> c4
c2 -> j\nc3 -> j\nc4 -> j\nj -> exit\nj -> bad [condition="outcome=fail"]\nbad -> exit`,
  ],
  [
    'branches in branches, and what was written before them',
    `start -> pre -> p\np [shape=component]\nj [shape=tripleoctagon]\nq [shape=component, join_policy=quorum]\nk [shape=tripleoctagon]
p -> a -> q\nq -> x -> k\nq -> y -> k\nq -> z -> k\nk -> n1 -> j\nk -> n2 [condition="outcome=fail"]\nn2 -> j\np -> w -> j
j -> ok -> exit\nj -> lost [condition="outcome=fail && context.flag=yes"]\nj -> odd [condition="context.parallel.fan_in.best_id=w"]\nlost -> exit\nodd -> exit`,
  ],
  [
    'diamonds side by side, at the beginning, in the middle and behind',
    `start -> pre -> p\np [shape=component]\nd [shape=diamond]\ne [shape=diamond]\nj [shape=diamond]
p -> d\nd -> a [condition="context.mode=a"]\nd -> b\na -> j\nb -> j\np -> u -> e\ne -> v [condition="outcome=fail"]\ne -> w\nv -> j\nw -> j
j -> exit [condition="outcome=success"]\nj -> half [condition="outcome=partial_success"]\nj -> none [condition="outcome=fail"]\nhalf -> exit\nnone -> exit`,
  ],
  [
    'questions in branches, of which some cannot fail',
    `start -> p\np [shape=component]\nj [shape=tripleoctagon]\nh1 [shape=hexagon]\nh2 [shape=hexagon, timeout=1m]\nh3 [shape=hexagon, human.type=confirmation]
p -> work -> h1\nh1 -> a [label=A]\nh1 -> b [label=B]\na -> j\nb -> j\np -> h2\nh2 -> c [label=C]\nh2 -> d [label=D]\nc -> j\nd -> j\np -> h3 -> j
j -> lost [condition="outcome=fail"]\nj -> exit\nlost -> exit`,
  ],
  [
    'restarts behind a lost vote',
    `start -> p\np [shape=component, join_policy=quorum]\nj [shape=tripleoctagon]\np -> a -> j\np -> b -> j\np -> c -> j
j -> again [condition="outcome=fail"]\nagain -> p [loop_restart=true]\nj -> t -> exit\nt -> u [condition="context.n=2"]\nu -> exit`,
  ],
  [
    'retry targets that take over from others, of a stage and of a gate',
    `graph [retry_target=last, max_retry_jumps=3]\nstart -> t -> g -> exit\nt [retry_target=fix, fallback_retry_target=hard]\nfix -> t\nhard -> t
g [goal_gate=true, retry_target=mend]\ng -> exit [condition="outcome=fail"]\nmend -> g\nlast -> g`,
  ],
  [
    'a child pipeline that fails',
    `start -> h -> exit\nh [shape=house, stack.child_dotfile="child.dot"]\nh -> z [condition="outcome=fail"]\nz -> exit`,
  ],
])('DOT30 all ways are found: %s', async (_, lines) => {
  const { coverage, untried } = await simulatePipeline(piped(lines));
  expect(coverage.stages.missed).toEqual([]);
  expect(coverage.edges.missed).toEqual([]);
  expect(untried).toBe(0);
});

// Three edges of `a`, and its way to the exit from a run that took another.
test('DOT30 how many ways were found and not tried is told where the most runs were made', async () => {
  const lines = `start -> a\n${[1, 2, 3, 4, 5].map((index) => `a -> b${index} [condition="context.n=${index}"]\nb${index} -> exit`).join('\n')}\na -> exit`;
  const { runs, coverage, untried } = await simulatePipeline(piped(lines), { runsMax: 3 });
  expect([runs.length, coverage.stages.missed, untried]).toEqual([3, ['b3', 'b4', 'b5'], 4]);
  expect((await simulatePipeline(piped(lines), { runsMax: 6 })).untried).toBe(0);
});

test('DOT30 a stage that was cancelled between two attempts has begun, and so was come to', async () => {
  const race = piped(
    `start -> p\np [shape=component, join_policy=first_success]\nj [shape=tripleoctagon]\np -> a -> j\np -> q\nq [shape=component]\nq -> b -> k\nk [shape=tripleoctagon]\nk -> j\nj -> exit\nb [max_retries=2]`,
  );
  const scenarios = [{ name: 'x', stages: { b: [{ error: 'down' }] } }];
  const { coverage, runs } = await simulatePipeline(race, { scenarios });
  expect(runs[0]?.path.map(({ stage }) => stage)).not.toContain('b');
  expect(coverage.stages.missed).toEqual(['k']);
  expect(coverage.edges.missed.map(({ from, to }) => `${from} -> ${to}`)).toEqual(['b -> k', 'k -> j']);
});

test('DOT30 a large pipeline that goes round without end is bounded over all tries, and its circle is named once', async () => {
  const ids = Array.from({ length: 30 }, (_, index) => `s${index}`);
  const chain = ids.map(
    (id, index) => `${id} -> ${ids[index + 1] ?? 's3'}\n${id} -> exit [condition="context.${id}=out"]`,
  );
  const report = await simulatePipeline(digraph(`start -> s0\n${chain.join('\n')}\n${box(...ids)}`));
  expect(report.endless).toHaveLength(1);
  expect(report.endless[0]).toHaveLength(27);
  expect(report.runs[0]).toMatchObject({ status: 'failed', reason: expect.stringContaining('without end') as unknown });
  expect(report.runs.filter(({ reason = '' }) => reason.includes('without end'))).toHaveLength(1);
  expect(report.coverage.edges.missed).toEqual([]);
  const stageCount = report.runs.reduce((sum, { path }) => sum + path.length, 0);
  expect(stageCount).toBeLessThan(20_000);
});
