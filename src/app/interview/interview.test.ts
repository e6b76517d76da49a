/** Interviewers: each form, answers that do not fit, and answers that outlive whoever asked. */
import { PassThrough } from 'node:stream';
import { expect, test } from 'vitest';
import { digraph, dotOptions, seen } from '../../../test/dot-kit.ts';
import { dyingEngine, settleDown } from '../../../test/dying-engine.ts';
import { afterCrash, createBench, runToRest, type Bench } from '../../../test/engine-kit.ts';
import { readDot } from '../../dialects/dot/index.ts';
import type { RunResult } from '../../engine/api.ts';
import {
  interview,
  autoApprove,
  callbackInterviewer,
  consoleInterviewer,
  queueInterviewer,
  recordingInterviewer,
  type Interviewer,
} from './interview.ts';

const text = digraph(`start -> ship -> name -> sure -> exit
ship -> exit [label="[N] No"]
ship [shape=hexagon, label="Ship it?"]
name [shape=hexagon, human.type=freeform, label="Under which name?"]
sure [shape=hexagon, human.type=confirmation, label="Sure?"]`).replace(
  'start -> ship -> name',
  'start -> ship\nship -> name [label="[Y] Yes"]\nname',
);

async function interviewed(interviewer: Interviewer, bench: Bench = createBench()): Promise<RunResult> {
  const { graph } = readDot(text, dotOptions());
  await runToRest(bench.engine, graph, {}, 'r');
  return interview(bench.engine, 'r', interviewer, { graph });
}

test('11.8.3 auto-approve takes the first choice, says yes, and any text', async () => {
  const result = await interviewed(autoApprove());
  expect(result.status).toBe('completed');
  expect(seen(result).context).toMatchObject({ 'human.gate.text': 'auto-approved', 'human.gate.label': 'Yes' });
  expect(seen(result).history).toEqual(['start', 'ship', 'name', 'sure']);
});

test('11.8.5 a callback answers, or leaves the question open', async () => {
  const asked: (string | undefined)[] = [];
  const result = await interviewed(
    callbackInterviewer(({ prompt }) => {
      asked.push(prompt);
      return prompt === 'Ship it?' ? 'y' : undefined;
    }),
  );
  expect([result.status, asked]).toEqual(['paused', ['Ship it?', 'Under which name?']]);
});

test('11.8.6 a queue gives its answers in turn, and leaves what is beyond them open', async () => {
  expect((await interviewed(queueInterviewer(['Yes', 'ada', 'no']))).error?.message).toContain('it was not confirmed');
  expect((await interviewed(queueInterviewer(['Yes']))).status).toBe('paused');
});

test('11.8 recording keeps what was asked and answered, whoever answered', async () => {
  const recording = recordingInterviewer(queueInterviewer(['n']));
  expect((await interviewed(recording)).status).toBe('completed');
  expect(recording.records.map(({ question: { prompt }, answer }) => [prompt, answer])).toEqual([['Ship it?', 'n']]);
});

test('11.8.4 the console shows question and choices without control characters, asks again what does not fit, and takes lines', async () => {
  const [input, output] = [new PassThrough(), new PassThrough()];
  const shown: string[] = [];
  const lines = ['maybe', 'y', 'ada', 'yes'];
  output.on('data', (bytes: Buffer) => {
    shown.push(String(bytes));
    if (String(bytes).endsWith('> ')) input.write(`${lines.shift() ?? ''}\n`);
  });
  const result = await interviewed(consoleInterviewer({ input, output }));
  expect([result.status, lines]).toEqual(['completed', []]);
  expect(shown.join('')).toContain('Ship it?\n  [Y] Yes\n  [N] No\n> ');
  expect(shown.join('')).toContain('does not fit');
  const [typed, screen] = [new PassThrough(), new PassThrough()];
  const asked = consoleInterviewer({ input: typed, output: screen }).ask({
    prompt: 'a\u001b[31mb',
    waitId: 'w',
    runId: 'r',
    graphId: 'g',
    kind: 'question',
    name: 'question',
    node: [],
  });
  typed.write('\n');
  expect([await asked, String(screen.read())]).toEqual([undefined, 'a\\x1b[31mb\n> ']);
});

test('W5.2 the console stops asking when the deadline passes, and the run goes on without an answer', async () => {
  const output = new PassThrough();
  const question = { waitId: 'w', runId: 'r', graphId: 'g', kind: 'question', name: 'question', node: [] } as const;
  let resumed = 0;
  const engine = {
    resume: () => {
      resumed += 1;
      const waits = resumed > 2 ? [] : [{ ...question, dueAt: Date.now() + 20 }];
      return Promise.resolve({ result: async () => ({ status: resumed > 2 ? 'completed' : 'paused', waits }) });
    },
    answer: () => Promise.reject(new Error('nobody answered')),
  } as unknown as Parameters<typeof interview>[0];
  const result = await interview(engine, 'r', consoleInterviewer({ input: new PassThrough(), output }));
  expect([result.status, resumed]).toEqual(['completed', 3]);
  expect(String(output.read())).toMatch(/^\n> [\r\n]*The time to answer is over\.\n/);
});

test('11.8 P1 killed at every commit, no answer is asked for twice once it was given, and none is lost', async () => {
  let trials = 0;
  for (let commits = 1; commits < 40; commits += 1) {
    const bench = createBench();
    const { graph } = readDot(text, dotOptions());
    const given: string[] = [];
    const durable: string[] = [];
    const engine = dyingEngine(bench, commits);
    const answers: Readonly<Record<string, string>> = { 'Ship it?': 'y', 'Under which name?': 'ada', 'Sure?': 'yes' };
    const interviewer = callbackInterviewer(({ prompt = '' }) => {
      given.push(prompt);
      return answers[prompt];
    });
    const watched = {
      resume: engine.resume.bind(engine),
      answer: async (...args: Parameters<typeof engine.answer>) => {
        const value = await engine.answer(...args);
        durable.push(given.at(-1) ?? '');
        return value;
      },
    };
    const whole = (async () => {
      await runToRest(engine, graph, {}, 'r');
      return interview(watched, 'r', interviewer, { graph });
    })();
    const first = await Promise.race([whole, settleDown().then(settleDown).then(settleDown)]);
    if (first !== undefined) break;
    const before = durable.length;
    const again: string[] = [];
    const next = afterCrash(bench);
    const result = await interview(
      next,
      'r',
      callbackInterviewer(({ prompt = '' }) => (again.push(prompt), answers[prompt])),
      { graph },
    );
    expect([commits, result.status, seen(result).context['human.gate.text']]).toEqual([commits, 'completed', 'ada']);
    expect([commits, again]).toEqual([commits, Object.keys(answers).slice(before)]);
    trials += 1;
  }
  expect(trials).toBeGreaterThan(3);
});
