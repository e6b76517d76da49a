/** All that is wrong with a file is said at once, with place and fix. */
import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { thrown } from '../../../../test/support/thrown.ts';
import { ask, faultsOf, optionsOf, read } from '../../../../test/yaml-kit.ts';
import type { CairnError } from '../../../errors.ts';
import type { NodeType } from '../../../graph/contracts/node-type.ts';
import { checkWorkflow, readWorkflow } from '../index.ts';

const head = 'name: w\ndescription: d\n';
/** A workflow with one block, whose lines begin at line 4, column 5. */
const block = (...lines: readonly string[]): string =>
  `${head}blocks:\n  - id: a\n    type: Note\n${lines.map((line) => `    ${line}\n`).join('')}`;

test('Y2 every fault of a file is reported at once, in the order of the file', () => {
  const text = `name: "no good"
description: 3
verison: "1"
flush_memory_on_complete: true
inputs:
  who: { type: strng }
  size: { type: int, default: "x" }
blocks:
  - id: a
    type: Nope
    depends_on: [b]
  - id: b
    type: Note
    inputs: { vlaue: 1, size: -1 }
    depends_on: [a, c, zz]
    timeout: soon
  - id: b
    type: Note
  - id: c
    type: Note
    max_parallel: 3
    inputs: { value: "\${a.value}", text: "\${whoo}" }
  - type: Note
    retry: { attempts: 0 }
outputs:
  x: "\${zz.value}"
`;
  expect(faultsOf(text)).toEqual([
    '1:7 `name` is "no good" | give a name of letters, digits, -, _ and ., such as release-checklist',
    '2:14 `description` is 3 | give a text',
    '3:1 there is no field `verison` | did you mean `version`? There are: name, description, version, author, tags, inputs, blocks, outputs, secrets, bounds, limits, limit, webhooks, budget, on_budget, time_limit, title, on_cancel, on_run_failure, checkpoint, retention',
    '4:1 `flush_memory_on_complete` has no effect here | remove it; there is no memory to flush',
    expect.stringMatching(/^6:16 `type` is "strng" \| did you mean string\? use one of:/),
    '7:31 the default is string, not integer ("x") | give a default that fits, or correct the type',
    '10:11 there is no block type Nope | did you mean Note? There are: Workflow, ExecuteWorkflow, Note, Ask, Effect',
    '14:15 Note has no input `vlaue` | did you mean `value`? There are: value, text, size, fail, mode, token',
    expect.stringMatching(/^14:31 `size` is below 0 \(Note\) \| give a size/),
    '15:18 blocks wait for each other: a -> b -> a (each waits for the next) | take one of these out of depends_on',
    expect.stringMatching(/^15:24 block b depends on zz, which is not there \| /),
    '16:14 `timeout` is "soon" | give a duration: seconds, or a text such as 500ms, 30s, 5m, 2h',
    '17:9 block b is there already, as item 2 | give each block an id of its own',
    '21:5 `max_parallel` has no effect without `for_each` | remove it, or add `for_each:`',
    '22:25 block c reads a, which need not be over by then | add a to depends_on of c',
    expect.stringMatching(/^22:45 no input or block "whoo" \| write who/),
    '23:5 item 5 of blocks has no `id` | add `id:`: Names the block within the workflow.',
    '24:24 `attempts` is 0 | give a whole number from 1 to 1000',
    expect.stringMatching(/^26:9 no input or block "zz"/),
  ]);
});

test.each<[what: string, text: string, fault: RegExp]>([
  ['no blocks', `${head}blocks: []\n`, /^3:9 there are no blocks/],
  ['no name', 'description: d\nblocks:\n  - {id: a, type: Note}\n', /^1:1 the workflow has no `name`/],
  ['blocks as a mapping', `${head}blocks:\n  a: {type: Note}\n`, /^4:3 `blocks` is a mapping \| give a list/],
  ['a bare depends_on', block('depends_on: b'), /^6:17 `depends_on` is "b" \| give a list/],
  ['an input of another kind', block('inputs: [1]'), /^6:13 `inputs` is a list \| give a mapping/],
  ['a field of other formats', block('when: x'), /^6:5 `when` has no effect here \| write `condition:`/],
  [
    'two spellings',
    block('for_each: [1]', 'continue_on_error: true', 'continue-on-error: true'),
    /^8:5 continue-on-error says the same/,
  ],
  ['itself', block('depends_on: [a]'), /^6:18 block a depends on itself/],
  [
    'a dependency twice',
    `${head}blocks:\n  - {id: b, type: Note}\n  - {id: a, type: Note, depends_on: [b, b]}\n`,
    /^5:41 block a names b twice/,
  ],
  ['a reserved id', `${head}blocks:\n  - {id: outputs, type: Note}\n`, /^4:10 `outputs` cannot be the id/],
  ['an id of ours', `${head}blocks:\n  - {id: __proto__, type: Note}\n`, /^4:10 `__proto__` cannot be the id/],
  [
    'an id with a hyphen',
    `${head}blocks:\n  - {id: a-b, type: Note}\n`,
    /^4:10 `id` is "a-b" \| give a name of letters/,
  ],
  ['a number for a text', block('inputs: {text: 3}'), /^6:20 `text` is integer, not string/],
  ['a rule over inputs', block('inputs: {text: x, size: 1}'), /^6:29 text and size exclude each other \| give one/],
  [
    'a computed literal',
    `${head}inputs: {m: {type: str}}\nblocks:\n  - id: a\n    type: Note\n    inputs: {mode: "\${m}"}\n`,
    /must be written out/,
  ],
  [
    'a missing input',
    `${head}blocks:\n  - {id: a, type: Ask}\n`,
    /^4:5 Ask needs the input `prompt` \| add `prompt:`: what is asked/,
  ],
  ['a block that reads itself', block('inputs: {value: "${a.value}"}'), /block a reads itself/],
  [
    'a field that is not there',
    `${head}blocks:\n  - {id: b, type: Note}\n  - {id: a, type: Note, depends_on: [b], inputs: {value: "\${b.valu}"}}\n`,
    /"valu" \| write value/,
  ],
  ['each outside for_each', block('inputs: {value: "${each.value}"}'), /each is known only in a block with for_each/],
  ['a secret that is not declared', block('inputs: {token: "${secrets.T}"}'), /T/],
  [
    'a secret where it would be kept',
    `secrets: [T]\n${block('inputs: {value: "${secrets.T}"}')}`,
    /a secret \(T\) cannot stand here/,
  ],
  ['an effect in doubt that never is', block('on_in_doubt: fail'), /^6:5 a block of effect pure is never in doubt/],
  ['an idempotent block without effect', block('idempotent: true'), /^6:5 a block of effect pure is never in doubt/],
  [
    'a time limit on a question',
    `${head}blocks:\n  - {id: a, type: Ask, timeout: 5, inputs: {prompt: p}}\n`,
    /a question has no time limit/,
  ],
  [
    'an effect of a question',
    `${head}blocks:\n  - {id: a, type: Ask, effect: read, inputs: {prompt: p}}\n`,
    /the effect of Ask is that of what it asks/,
  ],
  ['files of a block that reads none', block('outputs: {f: {type: str, path: x}}'), /Note reads no files as outputs/],
  [
    'a validation of a file',
    `${head}blocks:\n  - {id: a, type: Effect, outputs: {f: {type: str, path: x, validation: y}}}\n`,
    /`validation` has no effect here/,
  ],
  ['for_each over a number', block('for_each: "3"'), /for_each gives "3", not a list or a mapping/],
  ['an expression that fails whatever is read', block('inputs: {value: ["${1 / 0}"]}'), /^6:22 .*cannot be evaluated/],
  ['a bad condition', block('condition: "1 +"'), /^6:1\d /],
  [
    'a condition about the run',
    block('condition: "metadata.run_id == \'x\'"'),
    /metadata.run_id is not known to conditions/,
  ],
  [
    'a pattern that is none',
    `${head}inputs: {x: {type: str, pattern: "("}}\nblocks:\n  - {id: a, type: Note}\n`,
    /schema of input x/,
  ],
  [
    'an unknown workflow',
    `${head}blocks:\n  - {id: a, type: Workflow, inputs: {workflow: nobody}}\n`,
    /there is no workflow nobody \| no workflows are known here/,
  ],
])('Y2 %s is a fault', (_, text, fault) => {
  const faults = faultsOf(text);
  expect(faults.join('\n')).toMatch(new RegExp(fault.source, 'm'));
  expect(checkWorkflow(text, optionsOf()).workflow).toBeUndefined();
});

test('Y5 a required input that is empty is missing, under its other names too', () => {
  const aliased: NodeType = {
    ...ask,
    inputs: { prompt: { schema: { type: 'string' }, description: 'a prompt', isRequired: true, aliases: ['message'] } },
  };
  const text = `${head}blocks:\n  - {id: a, type: Ask, inputs: {message: }}\n`;
  expect(faultsOf(text, { nodeTypes: [aliased] })).toEqual([
    expect.stringMatching(/^4:32 Ask needs the input `prompt` \| /),
  ]);
});

test('Y3 the way round a circle of many blocks is shown, wherever the file begins', () => {
  const text = `${head}blocks:\n  - {id: x, type: Note, depends_on: [a]}\n  - {id: a, type: Note, depends_on: [c]}\n  - {id: b, type: Note, depends_on: [a]}\n  - {id: c, type: Note, depends_on: [b]}\n`;
  expect(faultsOf(text)).toEqual([expect.stringMatching(/^6:38 blocks wait for each other: a -> c -> b -> a/)]);
});

test('Y3 a chain of thousands of blocks is no circle, and overflows nothing', () => {
  const lines = Array.from(
    { length: 2000 },
    (_, i) => `  - {id: b${i}, type: Note${i < 1999 ? `, depends_on: [b${i + 1}]` : ''}}`,
  );
  const { waves } = read(`${head}blocks:\n${lines.join('\n')}\n`);
  expect([waves.length, waves[0], waves.at(-1)]).toEqual([2000, ['b1999'], ['b0']]);
}, 60_000);

test('Y3 without an inputs section, unknown names in texts are inputs, and a warning names them', () => {
  const text = block('inputs: {text: "${who} and ${inputs.what}"}', 'condition: "${where} == 1"');
  expect(faultsOf(text)).toEqual([
    '1:7 warning: there is no `inputs` section, so these names are inputs of any type: what, who, where | declare them under `inputs:`',
  ]);
  expect(read(text).inputs.map(({ name, type, isRequired }) => [name, type, isRequired])).toEqual([
    ['what', 'any', true],
    ['who', 'any', true],
    ['where', 'any', true],
  ]);
});

test('Y3 a name that only the shell knows is no input', () => {
  const command = 'command: "for f in *; do echo ${f} ${HOME} ${who} $${x}; done; y=1; echo ${y} ${z:-1}"';
  const text = `${head}blocks:\n  - id: a\n    type: Effect\n    inputs:\n      ${command}\n`;
  expect(read(text).inputs.map(({ name }) => name)).toEqual(['who']);
});

test('Y1 what cannot be read is GRAPH_PARSE, what is wrong is GRAPH_INVALID, each with every violation', () => {
  const caught = (text: string): CairnError => thrown(() => readWorkflow(text, optionsOf()));
  expect(caught('a: 1\na: 2\nb: 1\nb: 2\n')).toMatchObject({ code: 'GRAPH_PARSE', data: { file: 'f.yaml', line: 2 } });
  expect(caught('a: 1\na: 2\nb: 1\nb: 2\n').data['violations']).toHaveLength(2);
  expect(caught(`${head}blocks: []\nx: 1\n`)).toMatchObject({ code: 'GRAPH_INVALID', data: { graphId: 'f.yaml' } });
});

test.each([
  '{"blocks":[{"type":{"toString":""}}]}',
  '{"blocks":[{"id":{"toString":1},"type":[]}],"name":{"toString":""}}',
])(
  'Y2 a document whose values are no texts, though they look like some to the language, crashes nothing: %s',
  (text) => {
    const { workflow, violations } = checkWorkflow(text, optionsOf({}));
    expect([workflow, violations.length > 0]).toEqual([undefined, true]);
  },
);

test('Y2 no document crashes the checker', () => {
  const key = fc.constantFrom(
    'name',
    'description',
    'inputs',
    'blocks',
    'outputs',
    'secrets',
    'limits',
    'checkpoint',
    'id',
    'type',
    'depends_on',
    'condition',
    'for_each',
    'retry',
    'timeout',
    'block',
    'required',
    'value',
    'default',
    'enum',
    'items',
    'properties',
    'pattern',
    'constructor',
    'toString',
    'workflow',
    'on_in_doubt',
  );
  const leaf = fc.oneof(
    fc.constantFrom<unknown>(
      'a',
      'b',
      'Note',
      'Ask',
      'Effect',
      'Workflow',
      'w',
      '${a.value}',
      '${',
      '${each.value}',
      '${{}}',
      '((',
      'str',
      'int',
      'constructor',
      '',
      null,
      true,
      0,
      -1,
      1e300,
    ),
    fc.string(),
  );
  const { value } = fc.letrec((tie) => ({
    value: fc.oneof(
      { maxDepth: 5, withCrossShrink: true },
      leaf,
      fc.array(tie('value'), { maxLength: 3 }),
      fc.dictionary(key, tie('value'), { maxKeys: 5 }),
    ),
  }));
  const blocks = fc.array(
    fc.record(
      {
        id: leaf,
        type: leaf,
        inputs: value,
        depends_on: value,
        condition: value,
        for_each: value,
        retry: value,
        timeout: value,
        outputs: value,
        effect: leaf,
      },
      { requiredKeys: ['id', 'type'] },
    ),
    { maxLength: 4 },
  );
  const file = fc.record(
    {
      name: leaf,
      blocks: fc.oneof(blocks, value),
      inputs: value,
      outputs: value,
      secrets: value,
      limits: value,
      checkpoint: value,
    },
    { requiredKeys: ['blocks'] },
  );
  fc.assert(
    fc.property(fc.oneof(file, value), (data) => {
      const { workflow, violations } = checkWorkflow(
        JSON.stringify(data),
        optionsOf({ others: { w: 'name: w\nblocks: [{id: a, type: Note}]' } }),
      );
      return (workflow === undefined) === violations.some(({ severity }) => severity === 'error');
    }),
    { numRuns: 500 },
  );
}, 60_000);

test('T13 expressions of a file that take too much are its faults, and all of them share one budget', () => {
  const nested = '${range(1000).map(a, range(1000).map(b, range(1000)))}';
  expect(faultsOf(block('inputs:', `  value: "${nested}"`))).toEqual([
    expect.stringMatching(/^7:14 .*it makes over 64 MiB \| correct the expression$/),
  ]);
  const third = '"${range(30000).all(a, range(10).all(b, b >= 0))}"';
  expect(faultsOf(block('inputs:', `  value: ${third}`))).toEqual([]);
  const faults = faultsOf(block('inputs:', `  value: [${Array.from({ length: 200 }, () => third).join(', ')}]`));
  expect(faults.length).toBeGreaterThan(190);
  for (const fault of faults) expect(fault).toMatch(/it takes over 5,000,000 steps/);
});
