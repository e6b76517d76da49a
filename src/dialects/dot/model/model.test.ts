/** What a file says once defaults, classes and styles are worked in; conditions, stylesheets and labels. */
import { expect, test } from 'vitest';
import { DotFaults } from '../text/faults.ts';
import { parseDot } from '../text/parse-dot.ts';
import { durationMs } from './attributes.ts';
import { holds, parseCondition } from './edge-condition.ts';
import { acceleratorOf, normalLabel } from './edge-label.ts';
import type { Pipeline } from './pipeline.ts';
import { readPipeline } from './read-pipeline.ts';
import { parseStylesheet } from './stylesheet.ts';

function read(text: string): Pipeline {
  const faults = new DotFaults(text, 'p.dot');
  return readPipeline(parseDot(text, faults), faults);
}

const valueOf = (pipeline: Pipeline, id: string, name: string): string | undefined =>
  pipeline.stages.get(id)?.attributes.text(name);

test('11.1.2 11.1.4 11.12.2 attributes of the graph and of edges are taken', () => {
  const { attributes, edges } = read(
    'digraph p { graph [goal="g", label=L] model_stylesheet="* {}"\na -> b [label=x, condition="outcome=fail", weight=3] }',
  );
  expect(['goal', 'label', 'model_stylesheet'].map((name) => attributes.text(name))).toEqual(['g', 'L', '* {}']);
  expect(
    edges.map(({ from, to, attributes: own }) => [
      from,
      to,
      own.text('label'),
      own.text('condition'),
      own.integer('weight'),
    ]),
  ).toEqual([['a', 'b', 'x', 'outcome=fail', 3]]);
});

test('11.1.5 a chain gives an edge for each pair, all with its attributes', () => {
  expect(
    read('digraph p { a -> b -> c [weight=2] }').edges.map(({ from, to, attributes }) => [
      from,
      to,
      attributes.integer('weight'),
    ]),
  ).toEqual([
    ['a', 'b', 2],
    ['b', 'c', 2],
  ]);
});

test('11.1.6 defaults hold for what is declared after them in their scope, and what is written at a stage wins', () => {
  const pipeline = read(
    'digraph p { a; node [timeout=5s, max_retries=1]; b; subgraph s { node [timeout=9s]; c; d [timeout=1s] } e; a [class=x] }',
  );
  expect(['a', 'b', 'c', 'd', 'e'].map((id) => valueOf(pipeline, id, 'timeout'))).toEqual(['', '5s', '9s', '1s', '5s']);
  expect(valueOf(pipeline, 'c', 'max_retries')).toBe('1');
});

test('11.1.7 subgraphs are flattened, and their labels are classes of what is in them', () => {
  const pipeline = read(
    'digraph p { subgraph x { label="Loop A (1)"; a; subgraph y { label="Über uns"; b [class="own, two"] } } c }',
  );
  expect(['a', 'b', 'c'].map((id) => pipeline.stages.get(id)?.classes)).toEqual([
    ['loop-a-1'],
    ['loop-a-1', 'ber-uns', 'own', 'two'],
    [],
  ]);
  expect(pipeline.attributes.text('label')).toBe('');
});

test('11.10 11.12.18 11.1.8 styles: by all, shape, class, id, each over the one before; what a stage says itself wins; defaults do not', () => {
  const sheet = `* { llm_model: all; llm_provider: "p q" } /* comment { */ box { llm_model: shape; }
    .fast { llm_model: class1 } .slow { llm_model: class2; reasoning_effort: low } #e { llm_model: id }`;
  const pipeline = read(`digraph p { graph [model_stylesheet="${sheet.replaceAll('"', '\\"')}"]
    node [reasoning_effort=high]
    a [shape=hexagon]; b; c [class=fast]; d [class="slow,fast"]; e [class=fast]; f [class=fast, llm_model=own] }`);
  expect(['a', 'b', 'c', 'd', 'e', 'f'].map((id) => valueOf(pipeline, id, 'llm_model'))).toEqual([
    'all',
    'shape',
    'class1',
    'class2',
    'id',
    'own',
  ]);
  expect(['a', 'd'].map((id) => valueOf(pipeline, id, 'reasoning_effort'))).toEqual(['high', 'low']);
  expect(valueOf(pipeline, 'a', 'llm_provider')).toBe('p q');
});

test('11.10.1 faults of a stylesheet are told with their place, and the rules beside them are read', () => {
  const { rules, faults } = parseStylesheet('a b { } { } * { llm_model: x; color: red } .c { llm_model');
  expect(rules.map(({ selector, declarations }) => [selector, declarations])).toEqual([
    ['*', [['llm_model', 'x']]],
    ['class', []],
  ]);
  expect(faults).toEqual([
    { offset: 2, message: 'expected { after a' },
    { offset: 8, message: 'expected *, a shape, .class or #id' },
    {
      offset: 30,
      message: 'color cannot be set by a stylesheet: it sets llm_model, llm_provider, reasoning_effort, max_tokens',
    },
    { offset: 48, message: 'expected a property such as llm_model: name;' },
  ]);
});

const facts = {
  outcome: 'success',
  preferredLabel: 'Fix',
  context: (key: string) => ({ 'tests.failed': '3', 'context.odd': 'x', empty: '' })[key] ?? '',
};

test.each([
  ['', true],
  ['outcome=success', true],
  ['outcome = fail', false],
  ['outcome!=fail', true],
  ['outcome=success && preferred_label="Fix"', true],
  ['outcome=success && preferred_label=fix', false],
  ['context.tests.failed=3', true],
  ['context.tests.failed', true],
  ['context.empty', false],
  ['context.odd=x', true],
  ['context.gone=""', true],
  ['context.gone!=yes', true],
  ['tests.failed=3', true],
  ['preferred_label!="a && b != c"', true],
  [' && outcome=success && ', true],
])('11.9 the condition %j is %j', (text, expected) => {
  const { clauses } = parseCondition(text);
  expect(clauses !== undefined && holds(clauses, facts)).toBe(expected);
});

test.each([
  ['outcome=success or x', 16],
  ['context.ü=ä ? b', 12],
  ['outcome==success', 9],
  ['!outcome', 0],
  ['outcome=', 8],
  ['a=1 || b=2', 4],
  ['outcome="open', 8],
])('11.2.8 the condition %j is refused at %j', (text, offset) => {
  expect(parseCondition(text)).toMatchObject({ fault: expect.any(String) as string, offset });
});

test.each([
  ['[K] Keep it', 'K', 'keep it'],
  ['y) Yes', 'Y', 'yes'],
  ['N - No, stop', 'N', 'no, stop'],
  ['  Fix ', 'F', 'fix'],
  ['Re-run', 'R', 're-run'],
  ['', '', ''],
])('11.6.4 the label %j has the key %j and says %j', (label, key, saying) => {
  expect([acceleratorOf(label), normalLabel(label)]).toEqual([key, saying]);
});

test('DOT13 keys and values of conditions are of any script, as ids are', () => {
  expect(parseCondition('context.prüfung_2.größe=später && context.日本')).toEqual({
    clauses: [
      { key: 'context.prüfung_2.größe', operator: '=', value: 'später' },
      { key: 'context.日本', operator: 'set', value: '' },
    ],
  });
});

test('6.2.16 a duration has a unit, or counts seconds', () => {
  expect(
    ['250ms', '900s', '15m', '2h', '1d', '1200', '1.5s', '1.0006s', 'soon', '-1s'].map((text) => durationMs(text)),
  ).toEqual([250, 900_000, 900_000, 7_200_000, 86_400_000, 1_200_000, 1_500, 1_001, undefined, undefined]);
});

test('6.2.15 booleans and numbers may be quoted', () => {
  const pipeline = read('digraph p { graph [default_max_retry="3"] a [goal_gate="true", max_visits="2"] }');
  expect(pipeline.attributes.integer('default_max_retries')).toBe(3);
  expect([
    pipeline.stages.get('a')?.attributes.flag('goal_gate'),
    pipeline.stages.get('a')?.attributes.integer('max_visits'),
  ]).toEqual([true, 2]);
});
