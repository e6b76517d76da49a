/**
 * Defects that engines of this kind of format have had in reading files and texts, each shown not to be here. More: traps-running.test.ts,
 * traps-pauses.test.ts. Shown elsewhere:
 * - keys given twice, `yes` and dates as surprises, circles of anchors: src/dialects/yaml/file/read-document.test.ts
 * - files that are no workflows skipped in silence, deleted files kept, files of one name: src/app/workflows/workflow-catalog.test.ts
 * - values in commands that become syntax, in every place: src/dialects/yaml/shell/command-values.test.ts
 * - inputs whose types nobody looks at: src/dialects/yaml/block-nodes/runs.test.ts (Y3, Y5)
 * Does not apply: memory blocks, filters and templates of Jinja, `read_file()` in expressions, the formatting of another language:
 * the expressions are another language, and forms of the old one are faults (T11).
 */
import { describe, expect, test } from 'vitest';
import { CairnError } from '../../src/errors.ts';
import { outputsOf, yamlBench } from '../yaml-bench.ts';

const { read } = yamlBench();
const echo = '  - { id: a, type: EchoBlock, inputs: { message: hi } }';

function messagesOf(text: string): readonly string[] {
  try {
    read(text);
    return [];
  } catch (error) {
    const violations = CairnError.is(error) ? (error.data['violations'] as { message: string; place: string }[]) : [];
    return violations.map(({ place, message }) => `${place.replace('f.yaml:', '')} ${message}`);
  }
}

/** The output `o` of a workflow with these blocks. */
async function outputOf(value: string, inputs: object = {}, blocks = echo): Promise<unknown> {
  const declared = Object.keys(inputs).map((name) => `  ${name}: { type: any }`);
  const head = declared.length === 0 ? '' : `inputs:\n${declared.join('\n')}\n`;
  const result = await yamlBench().start(`name: x\n${head}blocks:\n${blocks}\noutputs:\n  o: ${value}\n`, inputs);
  expect(result.error).toBeUndefined();
  return (outputsOf(result) as { o: unknown }).o;
}

describe('what is wrong is said when the file is read', () => {
  test.each([
    ['an unknown block type', '{ id: b, type: Shel }', 'there is no block type Shel'],
    ['an unknown input', '{ id: b, type: EchoBlock, inputs: { message: x, mesage: y } }', 'has no input `mesage`'],
    ['an input of a wrong type', '{ id: b, type: EchoBlock, inputs: { message: [x] } }', '`message` is array'],
    ['a reference in a condition', '{ id: b, type: Shell, condition: "zz.y == 1", inputs: { command: ls } }', '"zz"'],
    ['a reference in for_each', '{ id: b, type: EchoBlock, for_each: "${zz}", inputs: { message: x } }', '"zz"'],
    [
      'a reference in the path of an output',
      '{ id: b, type: Shell, inputs: { command: ls }, outputs: { f: { type: str, path: "${zz}" } } }',
      '"zz"',
    ],
    ['a reference with spaces in it', '{ id: b, type: EchoBlock, inputs: { message: "${ inputs.zz }" } }', '"zz"'],
    ['a reference in an operation', '{ id: b, type: EchoBlock, inputs: { message: "${1 + size(zz)}" } }', '"zz"'],
    ['a reading of what need not be over', '{ id: b, type: EchoBlock, inputs: { message: "${a.echoed}" } }', 'reads a'],
    [
      'a setting that is parsed and never used',
      '{ id: b, type: Shell, validation: x, inputs: { command: ls } }',
      'no field',
    ],
    [
      'each outside of for_each',
      '{ id: b, type: EchoBlock, inputs: { message: "${each.key}" } }',
      'each is known only',
    ],
  ])('Y2 %s', (_what, block, message) => {
    const faults = messagesOf(`name: x\ninputs: {}\nblocks:\n${echo}\n  - ${block}\n`);
    expect(faults.join('\n')).toContain(message);
    expect(faults[0]).toMatch(/^5:\d+ /);
  });

  test('Y2 a reference in an output of the workflow', () => {
    expect(messagesOf(`name: x\ninputs: {}\nblocks:\n${echo}\noutputs: { o: "\${zz}" }`)[0]).toContain('"zz"');
  });
});

describe('what is right is read', () => {
  test.each(['1.0', '"1"', '1', '"1.0.0-rc.1"'])('Y2 version: %s, also as a number and short', (version) => {
    expect(messagesOf(`name: x\nversion: ${version}\nblocks:\n${echo}`)).toEqual([]);
  });

  test('Y3 inputs without a description, outputs without a mapping', () => {
    const text = `name: x\ninputs: { n: { type: num } }\nblocks:\n${echo}\noutputs: { o: "\${a.echoed}", p: 5 }`;
    expect(messagesOf(text)).toEqual([]);
  });

  test('T7 what a shell and its tools write, such as ${#x} and {{.Names}}, is theirs', async () => {
    const command = `x=abc; echo "\${#x} \${y:-d} $((1 + 1)) {{.Names}} eval(1) __import__"`;
    const blocks = `  - { id: a, type: Shell, effect: read, inputs: { command: ${JSON.stringify(command)} } }`;
    expect(await outputOf('"${trim(a.stdout)}"', {}, blocks)).toBe('3 d 2 {{.Names}} eval(1) __import__');
  });
});

describe('values', () => {
  test('Y3 an input that is not required and not given is null, not absent', async () => {
    const text = `name: x\ninputs: { s: { type: str, required: false } }\nblocks:\n${echo}\noutputs: { o: "\${s}", p: "<\${s}>" }`;
    expect(outputsOf(await yamlBench().start(text))).toEqual({ o: null, p: '<>' });
  });

  test('T2 values keep their types, where others made texts of them', async () => {
    const d = { list: [1, 2.5, 'é', true, null, { a: "it's" }], nothing: null, no: false, zero: 0 };
    expect(await outputOf('"${d}"', { d })).toEqual(d);
    expect(await outputOf('"${d.list} ${d.no} ${d.nothing}."', { d })).toBe(
      '[1,2.5,"é",true,null,{"a":"it\'s"}] false .',
    );
  });

  test('T3 a key of a map is that key, not a method of maps', async () => {
    const d = { items: 1, keys: 2, size: 3, get: 4, toString: 5 };
    const value = '"${[d.items, d.keys, d.size, d.get, d[\'toString\']]}"';
    expect(await outputOf(value, { d })).toEqual([1, 2, 3, 4, 5]);
  });

  test('T2 text stays as it is: words of conditions, names of blocks, forbidden words, a last newline', async () => {
    const said = 'x == 1 and not blocks.some-name __import__ eval(1) {% raw %}\\n';
    expect(await outputOf(`"\${s}${said.replace('{% raw %}', '')}"`, { s: '' })).toBe(
      'x == 1 and not blocks.some-name __import__ eval(1) \n',
    );
  });

  test('T5 a value in a condition is a value, whatever quotes and operators it holds', async () => {
    const s = "x' or True or '1' == '1";
    const blocks = `  - { id: a, type: EchoBlock, condition: "\${s} == 'x'", inputs: { message: hi } }`;
    expect(await outputOf('"${blocks.a.status}"', { s }, blocks)).toBe('skipped');
    expect(await outputOf('"${s == \'abc\'}"', { s: 'abc' })).toBe(true);
    expect(await outputOf("\"${'${s}' == 'abc'}\"", { s: 'abc' })).toBe(true);
  });

  test('T6 the side of `or` and `and` that is not needed is not read', async () => {
    const blocks = `
  - { id: z, type: EchoBlock, condition: "1 == 2", inputs: { message: x } }
  - id: a
    type: EchoBlock
    depends_on: [{ block: z, required: false }]
    condition: "\${blocks.z.skipped} or \${z.echoed} == 'x'"
    inputs: { message: hi }`;
    expect(await outputOf('"${a.echoed}"', {}, blocks)).toBe('Echo: hi');
  });

  test('T4 arithmetic, unary minus and choices work in conditions', async () => {
    expect(await outputOf("\"${n * 2 - 1 > -5 ? 'more' : 'less'}\"", { n: 1 })).toBe('more');
  });

  test('Y9 str of null, of whole and other numbers is their text, not that of another language', async () => {
    const text = `name: x\ninputs: { n: { type: any, required: false } }\nblocks:\n${echo}
outputs:
  nothing: { value: "\${n}", type: str }
  two: { value: "\${2.0}", type: str }
  list: { value: "\${[1, true]}", type: str }`;
    const outputs = outputsOf(await yamlBench().start(text)) as Record<string, unknown>;
    expect(outputs).toMatchObject({ list: '[1,true]', two: '2' });
    expect(outputs['nothing']).not.toBe('None');
  });

  test('Y9 a faulty output fails the run and is named; it does not replace all outputs while the run succeeds', async () => {
    const text = `name: x\nblocks:\n${echo}\noutputs: { good: "\${a.echoed}", bad: { value: "\${a.echoed}", type: "num" } }`;
    const result = await yamlBench().start(text);
    expect(result).toMatchObject({ status: 'failed', failed: ['outputs'], error: { code: 'NODE_FAILED' } });
    expect(result.error?.message).toContain('bad');
    expect(result.state.outputs['a']).toMatchObject({ echoed: 'Echo: hi' });
  });

  test('B8 nothing of the environment is put into a URL: ${HOME} is no input', () => {
    const block = '{ id: b, type: HttpCall, inputs: { url: "http://h/${HOME}" } }';
    expect(messagesOf(`name: x\ninputs: {}\nblocks:\n  - ${block}`)[0]).toContain('"HOME"');
  });

  test('Y5 a computed number is text where text is wanted', async () => {
    const blocks = '  - { id: a, type: EchoBlock, inputs: { message: "${n}" } }';
    expect(await outputOf('"${a.echoed}"', { n: 5 }, blocks)).toBe('Echo: 5');
  });
});
