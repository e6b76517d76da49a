/** Files of other engines: each of their habits is told with what the engine means by it, and with what says it here. */
import { expect, test } from 'vitest';
import { digraph, dotOptions } from '../../../../test/dot-kit.ts';
import { checkDot } from '../index.ts';

/** Findings as `severity: message → fix`, of lines that name another engine. */
const toldOf = (body: string, attributes = ''): readonly string[] =>
  checkDot(digraph(`start -> a -> exit\n${body}`, attributes), dotOptions())
    .violations.map(({ severity, message, fix }) => `${severity}: ${message} → ${fix}`)
    .filter((line) => /Fabro|Kilroy|Tracker|Mammoth|Amplifier|semport|samueljklee|several engines/u.test(line));

test.each([
  ['a [shape=tab, prompt=x]', 'Fabro reads it as a prompt that is asked once → write shape=box'],
  ['a [shape=octagon, prompt=x]', 'Mammoth reads it as a verification → write shape=parallelogram with a tool_command'],
  ['a [shape=folder, prompt=x]', 'Amplifier reads it as a pipeline that is run → write shape=house'],
  ['a [shape=trapezium, prompt=x]', 'Kilroy reads it as the beginning of a loop → write an edge that leads back'],
  ['a [shape=insulator, prompt=x]', 'Fabro reads it as a wait → write shape=hexagon'],
  ['a [shape=circle, prompt=x]', 'semport file reads it as the start → write shape=Mdiamond'],
  [
    'a [prompt=x, retry_preset=patient]',
    'samueljklee/attractor reads it as the name of a retry policy → write retry_policy',
  ],
  ['a [prompt=x, mode=freeform]', 'Tracker reads it as the form of a question → write human.type'],
  [
    'a [prompt=x]\na -> exit [freeform=true]',
    'Fabro reads it as an edge that any text takes → write human.type=freeform',
  ],
  [
    'a [prompt=x]\na -> exit [condition="outcome=failed"]',
    'Fabro reads it as fail; here failed is an outcome of your own',
  ],
  ['a [prompt=x]\na -> exit [condition="outcome=ok"]', 'Kilroy reads it as success'],
])('DOT36 %s', (body, told) => {
  const lines = toldOf(body);
  expect(lines).toEqual([expect.stringContaining(told)]);
  expect(lines[0]).toMatch(/^warning/u);
});

test.each([
  ['outcome=fail || outcome=retry', '|| is of Fabro and Tracker; write an edge for each alternative'],
  ['!outcome=fail', '! is of Fabro and Tracker; write !='],
  ['context.n < 3', '< is of Fabro and Tracker; let the stage before decide it'],
  ['context.log contains "x"', 'contains is of Fabro and Tracker; let the stage before decide it'],
  ['outcome=success and context.n=1', 'and is of Fabro and Tracker; write &&'],
])('DOT36 the condition %s is refused with its way out', (condition, told) => {
  const [line] = toldOf(`a [prompt=x]\na -> exit [condition=${JSON.stringify(condition)}]`);
  expect(line).toContain(told);
  expect(line).toMatch(/^error/u);
});

test('DOT36 a graph attribute is told of too, and what is of this format is not', () => {
  expect(toldOf('a [prompt=x]', 'graph [context_thread_default=t]')).toEqual([
    expect.stringContaining('Kilroy reads it as the thread of all stages → write default_thread'),
  ]);
  expect(toldOf('a [prompt=x]\na -> exit [condition="outcome!=success && context.in=1"]')).toEqual([]);
});
