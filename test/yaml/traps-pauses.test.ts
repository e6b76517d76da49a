/**
 * Defects that engines of this kind of format have had around questions, secrets and resumes, each shown not to be here. More:
 * traps-format.test.ts, traps-running.test.ts. Shown elsewhere:
 * - answers of a child asked twice, deeper children, inline workflows that pause, two resumes at once, changed and deleted files,
 *   timeouts of a paused child, failures after an answer: interactive-scenarios.test.ts, pause-scenarios.test.ts
 * - questions of all items at once: src/dialects/yaml/block-nodes/for-each.test.ts (W2), calls.test.ts (W2, W6)
 * - a run after a crash without a pause: executor-scenarios.test.ts (P1 P2); answers that come twice or late: test/mcp/questions.test.ts
 * - secrets in logs, stores, errors and answers of the server: test/mcp/bounds.test.ts (M16)
 * Does not apply: tables and identifiers of stored checkpoints, progress in percent of no waves, encryption of the store.
 */
import { describe, expect, test } from 'vitest';
import { CairnError } from '../../src/errors.ts';
import { findQuestion, outputsOf, promptsOf, yamlBench, type YamlBench } from '../yaml-bench.ts';

const secrets = {
  read: (name: string) => (name === 'SHORT' ? 'ab1' : 'a-longer-secret'),
};

function faultOf(run: () => unknown): string {
  try {
    run();
    return '';
  } catch (error) {
    return CairnError.is(error) ? error.message : String(error);
  }
}

/** Answers everything that is open, then goes on in another process. */
async function answerAll(bench: YamlBench, runId: string, answer: (prompt: string) => unknown): Promise<YamlBench> {
  for (const { waitId, prompt = '' } of await bench.engine.waits(runId))
    await bench.engine.answer(runId, waitId, answer(prompt));
  return bench.afterDeath();
}

describe('questions side by side', () => {
  const wave = `
name: wave
inputs: { word: { type: str, default: x } }
blocks:
  - { id: one, type: Prompt, inputs: { prompt: One? } }
  - { id: two, type: Prompt, inputs: { prompt: Two? } }
  - { id: broken, type: EchoBlock, continue_on_error: true, inputs: { message: "\${int(word)}" } }
  - { id: needs_broken, type: EchoBlock, depends_on: [broken], inputs: { message: ran } }
  - { id: after, type: EchoBlock, depends_on: [one, two], inputs: { message: "\${one.response} \${two.response}" } }
outputs: { o: "\${after.echoed}", s: "\${blocks.needs_broken.status}" }
`;

  test('W2 both are asked, neither is lost over a resume, and what needs a failed one beside them never runs', async () => {
    const bench = yamlBench();
    const { runId, waits } = await bench.start(wave);
    expect(new Set(waits.map(({ prompt }) => prompt))).toEqual(new Set(['One?', 'Two?']));
    const half = await bench.answer(runId, 'a', 'one');
    expect(promptsOf(half)).toEqual(['Two?']);
    const done = await bench.afterDeath().answer(runId, 'b', 'two');
    expect(outputsOf(done)).toEqual({ o: 'Echo: a b', s: 'skipped' });
  });

  test('W6 two called workflows that ask at once are both asked', async () => {
    const bench = yamlBench();
    const kid =
      'name: kid\ninputs: { n: { type: str } }\nblocks: [{ id: q, type: Prompt, inputs: { prompt: "${n}?" } }]\noutputs: { r: "${q.response}" }';
    const { runId, waits } = await bench.start(
      `
name: x
blocks:
  - { id: a, type: Workflow, inputs: { workflow: kid, inputs: { n: first } } }
  - { id: b, type: Workflow, inputs: { workflow: kid, inputs: { n: second } } }
outputs: { o: "\${a.r} \${b.r}" }`,
      {},
      { others: { kid } },
    );
    expect(waits).toHaveLength(2);
    const next = await answerAll(bench, runId, (prompt) => (prompt.includes('first') ? 'A' : 'B'));
    expect(outputsOf(await next.resume(runId))).toEqual({ o: 'A B' });
  });

  test('Y10 a condition holds for each item after an answer, too', async () => {
    const bench = yamlBench();
    const paused = await bench.start(`
name: x
blocks:
  - id: l
    type: Prompt
    for_each: [a, b, c]
    for_each_mode: sequential
    condition: "\${each.value} != 'b'"
    inputs: { prompt: "\${each.value}?" }
outputs: { o: "\${l.iterations.map(i, i.status)}" }`);
    expect(promptsOf(paused)).toEqual(['a?']);
    const second = await bench.answer(paused.runId, 'x');
    expect(promptsOf(second)).toEqual(['c?']);
    expect(outputsOf(await bench.answer(paused.runId, 'y'))).toEqual({ o: ['completed', 'skipped', 'completed'] });
  });
});

describe('going back', () => {
  test('H2 an older checkpoint holds what was then, not what became of the run since', async () => {
    const bench = yamlBench();
    const text = `
name: x
blocks:
  - { id: q, type: Prompt, inputs: { prompt: "Name?" } }
  - { id: a, type: EchoBlock, depends_on: [q], inputs: { message: "\${q.response}" } }
outputs: { o: "\${a.echoed}" }`;
    const paused = await bench.start(text);
    const done = await bench.answer(paused.runId, 'Ada');
    const fork = await bench.engine.fork({ runId: paused.runId, seq: paused.seq });
    const other = await bench.answer(fork.runId, 'Bob');
    expect([outputsOf(done), outputsOf(other)]).toEqual([{ o: 'Echo: Ada' }, { o: 'Echo: Bob' }]);
    expect(outputsOf(await bench.resume(paused.runId))).toEqual({ o: 'Echo: Ada' });
  });

  test('W3 a finished run takes no second answer', async () => {
    const bench = yamlBench();
    const { runId } = await bench.start('name: x\nblocks: [{ id: q, type: Prompt, inputs: { prompt: "?" } }]');
    const { waitId } = await findQuestion(bench.engine, runId);
    await bench.answer(runId, 'yes');
    await expect(bench.engine.answer(runId, waitId, 'no')).rejects.toMatchObject({ code: 'WAIT_CLOSED' });
  });
});

describe('secrets', () => {
  test.each(['prompt', 'condition', 'outputs', 'inputs of a called workflow', 'path of a file'])(
    'T10 a secret in %s is refused when the file is read',
    (place) => {
      const blocks: Record<string, string> = {
        prompt: '{ id: a, type: Prompt, inputs: { prompt: "${secrets.K}" } }',
        condition: '{ id: a, type: EchoBlock, condition: "${secrets.K} == \'x\'", inputs: { message: x } }',
        outputs: '{ id: a, type: EchoBlock, inputs: { message: x } }',
        'inputs of a called workflow':
          '{ id: a, type: Workflow, inputs: { workflow: kid, inputs: { x: "${secrets.K}" } } }',
        'path of a file': '{ id: a, type: CreateFile, inputs: { path: "${secrets.K}", content: x } }',
      };
      const outputs = place === 'outputs' ? '\noutputs: { o: "${secrets.K}" }' : '';
      const kid =
        'name: kid\ninputs: { x: { type: str } }\nblocks: [{ id: z, type: EchoBlock, inputs: { message: "${x}" } }]';
      const text = `name: x\nsecrets: [K]\nblocks:\n  - ${blocks[place] ?? ''}${outputs}`;
      expect(faultOf(() => yamlBench().read(text, { kid }))).toMatch(/secret/);
    },
  );

  test('T10 a secret that nobody declared is refused, where others gave an empty text', () => {
    const text = 'name: x\nblocks:\n  - { id: a, type: Shell, inputs: { command: "echo ${secrets.NOPE}" } }';
    expect(faultOf(() => yamlBench().read(text))).toContain('is not declared');
  });

  test('N6 a short secret is masked, too, and one that outlives a pause is neither stored nor lost', async () => {
    const bench = yamlBench([], { secrets });
    const paused = await bench.start(
      `
name: x
secrets: [SHORT, LONG]
inputs: { equal: { type: str } }
blocks:
  - { id: before, type: Shell, effect: read, inputs: { command: "echo \${secrets.SHORT} \${secrets.LONG}" } }
  - { id: q, type: Prompt, depends_on: [before], inputs: { prompt: "said \${before.stdout}" } }
  - { id: after, type: Shell, effect: read, depends_on: [q], inputs: { command: "test \${secrets.LONG} = a-longer-secret; echo $?" } }
outputs: { o: "\${trim(after.stdout)}", e: "\${equal}" }`,
      { equal: 'a-longer-secret' },
    );
    expect(promptsOf(paused)[0]).not.toMatch(/ab1|a-longer-secret/);
    const done = await bench.afterDeath().answer(paused.runId, 'ok');
    // What the run was given before it knew the secret stays; what it gives afterwards holds none (N6.4).
    expect(done.state.input).toEqual({ equal: 'a-longer-secret' });
    expect(outputsOf(done)).toEqual({ o: '0', e: '[secret:LONG]' });
  });
});
