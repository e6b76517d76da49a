/** What a prompt is told of the run so far: who answered, why stages failed, and what came of branches. */
import { expect, test } from 'vitest';
import { digraph, dotOptions, runDot } from '../../../../../test/dot-kit.ts';
import { createScriptedModels, type ScriptedModels } from '../../../../models/scripted.ts';
import { textOf } from '../../../../graph/contracts/model-messages.ts';
import { readDot } from '../../index.ts';
import { createBench, runToRest } from '../../../../../test/engine-kit.ts';

/** The first answer is longer than what the context keeps of it. */
const long = `begin ${'x'.repeat(300)} end`;
const answering = (answers: Readonly<Record<string, string>> = {}): ScriptedModels =>
  createScriptedModels(({ messages }) => {
    const asked = textOf(messages.at(-1)?.content as string);
    const name = Object.keys(answers).find((key) => asked.includes(`do ${key}`));
    return name === undefined ? 'fine' : (answers[name] ?? '');
  });

/** The last prompt that asks for a stage. */
function promptOf({ requests }: ScriptedModels, stage: string): string {
  const texts = requests.map(({ messages }) => textOf(messages.at(-1)?.content as string));
  return texts.findLast((text) => text.includes(`do ${stage}`)) ?? '';
}

const ask = (...ids: readonly string[]): string => ids.map((id) => `${id} [prompt="do ${id}"]`).join('\n');

test('DOT29 the newest answer is told by the name of the stage that gave it, whatever came after it', async () => {
  const models = answering({ a: long });
  const body = `start -> a -> t -> b -> exit\n${ask('a', 'b')}\nt [shape=parallelogram, tool_command="echo tested"]`;
  await runDot(digraph(body), { asksModels: true, engine: { models } });
  expect(promptOf(models, 'b')).toContain(`Answer of a:\n${long}`);
  expect(promptOf(models, 'b')).not.toContain('Answer of t');
});

test('DOT29 a conversation is not told the answer that it holds once more', async () => {
  const models = answering({ a: long });
  const body = `start -> a -> t -> b -> exit\n${ask('a', 'b')}\nt [shape=parallelogram, tool_command="echo tested"]`;
  await runDot(digraph(body, 'graph [default_fidelity=full]'), { asksModels: true, engine: { models } });
  expect(promptOf(models, 'b')).toContain('Stages since then:\n- t: success');
  expect(promptOf(models, 'b')).not.toContain('Answer of');
});

test('DOT29 the stage to which a failure leads back is told why it failed', async () => {
  const models = answering();
  const command = 'echo 2 and 2 is 5 >&2; exit 1';
  const body = `graph [max_retry_jumps=1]\nstart -> a -> t -> exit\n${ask('a')}\nt [shape=parallelogram, idempotent=true, retry_target=a, tool_command="${command}"]`;
  await runDot(digraph(body), { asksModels: true, engine: { models } });
  expect(promptOf(models, 'a')).toContain('- t: fail (the command exited with 1: 2 and 2 is 5)');
});

test('DOT16 DOT29 what a command printed is told by its beginning and its end, and is the reason where it wrote nothing to stderr', async () => {
  const models = answering();
  const command = "echo begin; head -c 5000 /dev/zero | tr '\\\\0' x; echo; echo 1 test failed; exit 1";
  const body = `start -> t -> exit\nt -> a [condition="outcome=fail"]\na -> exit\n${ask('a')}\nt [shape=parallelogram, tool_command="${command}"]`;
  await runDot(digraph(body), { asksModels: true, engine: { models } });
  const told = promptOf(models, 'a');
  expect(told).toMatch(
    /- t: fail \(the command exited with 1: begin\nx+ \[… \d+ more characters …\] x+\n1 test failed\)/,
  );
  expect(told).toMatch(/- tool\.output: begin\nx+ \[… \d+ more characters …\] x+\n1 test failed\n/);
});

const panel = (more = ''): string =>
  digraph(
    `start -> a -> p\np -> b -> j\np -> c -> j\nj -> d -> exit\nj -> e [condition="outcome=fail"]\ne -> exit\np [shape=component${more}]\nj [shape=tripleoctagon, prompt="do pick"]\n${ask('a', 'b', 'c', 'd', 'e')}`,
  );
const verdict = `${long}\n{"outcome": "fail", "failure_reason": "too slow"}`;

test('DOT5 DOT29 branches are told the whole answer before them', async () => {
  const models = answering({ a: long });
  await runDot(panel(), { asksModels: true, engine: { models } });
  for (const id of ['b', 'c']) expect(promptOf(models, id)).toContain(`Answer of a:\n${long}`);
  expect(promptOf(models, 'b')).not.toContain('parallel.stage');
});

test('DOT5 DOT29 branches, and branches in them, are told which stages ended before them, and why one failed', async () => {
  const models = answering();
  const body = `start -> t -> a -> p\nt -> a [condition="outcome=fail"]\np -> b -> q -> c -> k -> j\nq -> d -> k\np -> e -> j\nj -> exit
t [shape=parallelogram, tool_command="echo 2 failed; exit 1"]\np [shape=component]\nq [shape=component]\nk [shape=tripleoctagon]\nj [shape=tripleoctagon]\n${ask('a', 'b', 'c', 'd', 'e')}`;
  await runDot(digraph(body), { asksModels: true, engine: { models } });
  const before = '- start: success\n- t: fail (the command exited with 1: 2 failed)\n- a: success';
  expect(promptOf(models, 'e')).toContain(`Stages so far:\n${before}\n\n`);
  expect(promptOf(models, 'c')).toContain(`Stages so far:\n${before}\n- b: success\n\n`);
});

test('DOT5 DOT29 the fan-in and the stages behind it are told how each branch ended, and its whole answer, one that failed too', async () => {
  const models = answering({ b: `${long} of b`, c: verdict, pick: 'It is b' });
  const { context } = await runDot(panel(), { asksModels: true, engine: { models } });
  for (const id of ['pick', 'd']) {
    const prompt = promptOf(models, id);
    expect(prompt).toContain(`Results of the branches:\n- b: success\n  answer: ${long} of b\n- c: fail (too slow)\n`);
    expect(prompt).toContain(`  answer: ${long}\n  {"outcome": "fail"`);
  }
  expect(promptOf(models, 'd')).not.toContain('parallel.results');
  expect(context['parallel.results']).toMatchObject([{ response: `${long} of b` }, { response: verdict }]);
});

test('DOT5 where the branches fall short of the policy the fan-in fails too, names the best, and asks nobody', async () => {
  const models = answering({ b: 'fine\n{"outcome": "success"}', c: verdict });
  const { history, context, output } = await runDot(panel(', join_policy="2_of_n"'), {
    asksModels: true,
    engine: { models },
  });
  const reason = 'only 1 of 2 branches succeeded, 2 are needed: c: too slow';
  expect(history).toEqual(['start', 'a', 'p: fail', 'j: fail', 'e']);
  expect(promptOf(models, 'pick')).toBe('');
  expect(promptOf(models, 'e')).toContain(`- j: fail (${reason})`);
  expect(context).toMatchObject({ 'parallel.fan_in.best_id': 'b', 'parallel.fan_in.best_outcome': 'success' });
  expect(output).toMatchObject({
    failures: [{ stage: 'c' }, { stage: 'p', reason, led_to: 'j' }, { stage: 'j', reason, led_to: 'e' }],
  });
});

test('DOT5 DOT27 a fan-in takes results that are kept as a file', async () => {
  const much = (letter: string): string => `head -c 60000 /dev/zero | tr '\\\\0' ${letter}`;
  const stages = ['a', 'b'].map((id) => `${id} [shape=parallelogram, tool_command="${much(id)}"]`).join('\n');
  const { context, result } = await runDot(
    digraph(`start -> p\np -> a -> j\np -> b -> j\nj -> exit\np [shape=component]\nj [shape=tripleoctagon]\n${stages}`),
  );
  expect(context['parallel.results']).toHaveProperty('~large');
  expect([result.status, context['parallel.fan_in.best_id']]).toEqual(['completed', 'a']);
});

test('DOT25 DOT29 the stage behind a child pipeline is told the whole last answer of the child', async () => {
  const models = answering({ inner: long });
  const child = digraph(`start -> i -> exit\ni [prompt="do inner"]`);
  const { graph } = readDot(
    digraph(`start -> h -> b -> exit\nh [shape=house, stack.child_dotfile="c.dot"]\n${ask('b')}`),
    dotOptions({ readFile: () => child }),
  );
  const bench = createBench({ models, findGraph: () => Promise.resolve(graph) });
  await runToRest(bench.engine, graph, {});
  expect(promptOf(models, 'b')).toContain(`Answer of h:\n${long}`);
});
