/** Texts of the `{{ }}` form, as texts of this one. */
import { describe, expect, it, test } from 'vitest';
import { names as textNames, scope } from '../../../../test/text-scope.ts';
import { parseCommand } from '../shell/parse-command.ts';
import { parseCondition } from '../expression/parse-condition.ts';
import { parseText } from '../expression/parse-text.ts';
import { dollarRule } from './translate-document.ts';
import { translateText, type TextKind, type TextNames } from './translate-text.ts';

const names: TextNames = {
  typeOf: (input) => ({ flag: 'bool' })[input],
  isInput: (name) => name !== 'absent',
  variables: new Map(),
  isDollarOurs: dollarRule,
};
const translate = (text: string, kind: TextKind = 'text'): string => {
  const { text: written, faults } = translateText(text, kind, names);
  expect(faults).toEqual([]);
  return written;
};
const faultOf = (text: string, kind: TextKind = 'text'): unknown => {
  const [fault] = translateText(text, kind, names).faults;
  return fault && [fault.offset, fault.message, fault.fix];
};

describe('T11 what is written', () => {
  it.each([
    ['{{inputs.name}}', '${inputs.name}'],
    ['a {{ inputs.name }} b', 'a ${inputs.name} b'],
    ['a {{- inputs.name -}} b', 'a${inputs.name}b'],
    ["{{ inputs['a-b'] }}", '${inputs["a-b"]}'],
    ['{{blocks.build.outputs.stdout | trim}}', '${trim(blocks.build.outputs.stdout)}'],
    ["{{ inputs.name | default('x') | upper }}", "${upper(default(inputs.name, 'x'))}"],
    ["{{ inputs.name | default('x', true) }}", "${default(inputs.name, 'x', true)}"],
    ["{{ inputs.name or 'x' }}", "${default(inputs.name, 'x', true)}"],
    ["{{ 'yes' if inputs.flag else 'no' }}", "${inputs.flag ? 'yes' : 'no'}"],
    [
      "{{ 'yes' if inputs.name and not inputs.flag else 'no' }}",
      "${truthy(inputs.name) and not inputs.flag ? 'yes' : 'no'}",
    ],
    ["{{ inputs.n > 1 and 'a' not in inputs.list }}", "${inputs.n > 1 and 'a' not in inputs.list}"],
    ['{{ not (inputs.n == 1 or inputs.flag) }}', '${not (inputs.n == 1 or inputs.flag)}'],
    ['{{ (1 + inputs.n) * 2 - -inputs.n % 3 }}', '${(1 + inputs.n) * 2 - -inputs.n % 3}'],
    ['{{ inputs.n - (1 - 2) }}', '${inputs.n - (1 - 2)}'],
    ["{{ inputs.list | join(', ') }}", "${join(inputs.list, ', ')}"],
    ['{{ inputs.list | length }}', '${size(inputs.list)}'],
    ['{{ inputs.config | tojson }}', '${json(inputs.config)}'],
    ['{{ inputs.config | prettyjson }}', '${json(inputs.config, 2)}'],
    ['{{ inputs.config | tojson(indent=4) }}', '${json(inputs.config, 4)}'],
    ['{{ (blocks.build.outputs.stdout | fromjson).items }}', '${fromjson(blocks.build.outputs.stdout).items}'],
    ["{{ inputs.name | replace('a', \"b'c\") }}", "${replace(inputs.name, 'a', 'b\\'c')}"],
    ["{{ inputs.config.get('host', 'h') }}", '${default(inputs.config["host"], \'h\')}'],
    ["{{ inputs.name.split(',')[-1] }}", "${split(inputs.name, ',')[size(split(inputs.name, ',')) - 1]}"],
    ["{{ inputs.name.startswith('A') }}", "${inputs.name.startsWith('A')}"],
    ["{{ get(inputs.config, 'a.0.b', 1) }}", '${default(inputs.config["a"][0]["b"], 1)}'],
    ["{{ 'v' ~ inputs.n ~ '-' ~ inputs.name | lower }}", "${'v${inputs.n}-${lower(inputs.name)}'}"],
    ['{{ inputs.name is defined and inputs.n is not none }}', '${has(inputs.name) and inputs.n != null}'],
    ['{{ inputs.name is undefined }}', '${not has(inputs.name)}'],
    ['{{ .a }}{{inputs.n}}', '{{ .a }}${inputs.n}'],
    ["{{ {'a': [inputs.n, true, None], 'b': {}} }}", "${{'a': [inputs.n, true, null], 'b': {}}}"],
    ['{{ blocks.b.outcome }} {{metadata.execution_id}}', '${blocks.b.metadata.outcome} ${metadata.run_id}'],
    ['{{tmp}}/out.json', '${metadata.tmp}/out.json'],
    ["{{ tmp ~ '/x' }}", "${'${metadata.tmp}/x'}"],
    ['{{ inputs.n / 2 + len(inputs.list) / 2 }}', '${inputs.n / 2 + double(size(inputs.list)) / 2}'],
    ['{{true}} {{ "a\\nb" }}', "${true} ${'a\\nb'}"],
    [
      "{% if inputs.flag %}A{{inputs.n}}{% elif inputs.name == 'x' %}B's{% else %}C\n{% endif %}!",
      "${inputs.flag ? 'A${inputs.n}' : inputs.name == 'x' ? 'B\\'s' : 'C\\n'}!",
    ],
    ['{% if inputs.list %}{{inputs.list | tojson}}{% endif %}', "${truthy(inputs.list) ? json(inputs.list) : ''}"],
    ['{%- if inputs.flag -%} a {%- endif -%} b', "${inputs.flag ? 'a' : ''}b"],
    [
      '{% if inputs.flag %}{% if inputs.n %}x{% endif %}y{% endif %}',
      "${inputs.flag ? '${truthy(inputs.n) ? 'x' : ''}y' : ''}",
    ],
    ['{% raw %}{{.Names}} {{ inputs.x }}{% endraw %} {{inputs.n}}', '{{.Names}} {{ inputs.x }} ${inputs.n}'],
    ['docker ps --format {{.Names}} {{json .}} {{inputs.n}}', 'docker ps --format {{.Names}} {{json .}} ${inputs.n}'],
    ['a {# inputs.n #} b {{inputs.n}}', 'a  b ${inputs.n}'],
    ['${HOME} $${x} ${inputs.name} ${#a}', '$${HOME} $${x} ${inputs.name} $${#a}'],
    ["{{ 'costs ${x}' }}", "${'costs $${x}'}"],
  ])('T11 %s', (text, written) => {
    expect(translate(text)).toBe(written);
  });

  it.each([
    ['{{inputs.flag}}', 'inputs.flag'],
    [' {{ blocks.a.succeeded and inputs.n == 5 }}\n', 'blocks.a.succeeded and inputs.n == 5'],
    ['{{inputs.name and inputs.flag}}', 'truthy(inputs.name) and inputs.flag'],
    ['{{ a.exit_code }} == 0', undefined],
    ['{{blocks.a.exit_code}} == 0 and not {{inputs.flag}}', '${blocks.a.exit_code} == 0 and not ${inputs.flag}'],
  ])('T11 condition %s', (text, written) => {
    expect(translateText(text, 'condition', names).faults.length === 0 ? translate(text, 'condition') : undefined).toBe(
      written,
    );
  });

  it.each([
    ['echo {{inputs.name | quote}} "{{inputs.n}}"', 'echo ${inputs.name} "${inputs.n}"'],
    ['ls {% if inputs.flag %}-la {% else %}-l {% endif %}.', "ls ${raw(inputs.flag ? '-la ' : '-l ')}."],
    [
      'docker build -t app{% if inputs.name %}:{{inputs.name}}{% endif %} .',
      "docker build -t app${truthy(inputs.name) ? ':${inputs.name}' : ''} .",
    ],
    [
      'for f in a b; do echo "${f}" $f ${f%.x}; done; echo {{inputs.n}}',
      'for f in a b; do echo "$${f}" $f $${f%.x}; done; echo ${inputs.n}',
    ],
  ])('T11 command %s', (text, written) => {
    expect(translate(text, 'command')).toBe(written);
  });
});

describe('T11 what it gives', () => {
  it.each([
    ["{{ inputs.missing | default('d') }} {{ inputs.missing or 'e' }} {{ inputs.config.get('zz', 3) }}", 'd e 3'],
    ['{{ inputs.missing | default(inputs.name, true) | lower }}', 'ann'],
    ["{{ '' | default('x', true) }} {{ [] or 'y' }} {{ 0 or inputs.n }} {{ inputs.n and inputs.name }}", 'x y 5 Ann'],
    ["{{ 'big' if inputs.n > 3 and inputs.list else 'small' }}{{ '!' if inputs.missing }}", 'big'],
    ['{{ inputs.n is defined }} {{ inputs.config.zz is defined }} {{ inputs.missing is none }}', 'true false true'],
    ['{{ inputs.list | tojson }} {{ inputs.list | string }} {{ inputs.n | string | length }}', '[1,2,3] [1,2,3] 1'],
    ['{{ inputs.config.ports | prettyjson }}', '[\n  80,\n  443\n]'],
    ['{{ \'{"a": [1, 2]}\' | fromjson }}', { a: [1, 2] }],
    ['{{ (\'{"a": [1, 2]}\' | fromjson).a[-1] }}', 2],
    ["{{ 'a-b-a' | replace('a', '$&') }} {{ -3 | abs }} {{ inputs.n | abs }}", '$&-b-$& 3 5'],
    ["{{ 'a,b'.split(',') | join('+') }} {{ ', '.join(inputs.list) }}", 'a+b 1, 2, 3'],
    ["{{ inputs.name.startswith('A') and inputs.name.endswith('n') }}", true],
    ['{{ inputs.missing | default(false) }}', false],
    ['{{ 7 / 2 }} {{ inputs.n / 2 }} {{ inputs.n % 2 }} {{ 2 * (inputs.n + 1) }}', '3.5 2.5 1 12'],
    ["{{ 'n' ~ inputs.n ~ '\\n' }}", 'n5\n'],
    [
      "{{ 1 < inputs.n <= 5 }} {{ 'a' in 'abc' }} {{ 'host' in inputs.config }} {{ 9 not in inputs.list }}",
      'true true true true',
    ],
    ["{% if inputs.n == 4 %}four{% elif inputs.missing %}none{% else %}it's {{ inputs.n }}\n{% endif %}", "it's 5\n"],
    ['{{ (inputs.config.ports if inputs.n else []) | length }}', 2],
    ["{{ blocks.skipped.stdout | default('none') }} {{ blocks.build.stdout | trim | upper }}", 'none DONE'],
    [
      "{{ blocks.each_item['a'].f }} {{ blocks.each_item.metadata.count_failed }} {{ blocks.build.outcome }}",
      '1 1 success',
    ],
    ['{{ inputs.missing }}', null],
    ['{{ true | lower }} {{ none | string }}|', 'true |'],
  ])('T11 %s', (text, value) => {
    const { template, faults } = parseText(translate(text), textNames);
    expect(faults).toEqual([]);
    expect(template.evaluate(scope)).toEqual(value);
  });

  it.each([
    ['{{ inputs.n == 5 and inputs.name }}', true],
    ['{{ not inputs.missing }}', true],
    ["{{ inputs.name in ['Ann', 'Bob'] and blocks.build.succeeded }}", true],
    ['{{ blocks.skipped.skipped or blocks.skipped.stdout == "x" }}', true],
    ['{{inputs.n}} == 5 and not {{blocks.build.exit_code}} != 0', true],
    ['{{inputs.name}} == "Ann" or false', true],
  ])('T11 condition %s', (text, value) => {
    const { template, faults } = parseCondition(translate(text, 'condition'), textNames);
    expect(faults).toEqual([]);
    expect(template.evaluate(scope)).toBe(value);
  });

  it('T11 T8 a value in a command is data, in a quoted here-document too', () => {
    const text = "python3 <<'EOF'\nprint('{{ inputs.name }}', $x)\nEOF\necho {{ inputs.n | quote }} ${a[@]}";
    const { template, faults } = parseCommand(translate(text, 'command'), textNames);
    expect(faults.filter(({ severity }) => severity !== 'warning')).toEqual([]);
    expect(template.evaluate(scope)).toEqual({
      script: 'python3 <<EOF\nprint(\'${CAIRN_V1}\', \\$x)\nEOF\necho "${CAIRN_V2}" ${a[@]}',
      env: { CAIRN_V1: 'Ann', CAIRN_V2: '5' },
    });
  });
});

test.each([
  ['{% for x in inputs.list %}{{x}}{% endfor %}', [0, 'there is no {% for %} here', /for_each/]],
  ['a{% set x = inputs.n %}', [1, 'there is no {% set %} here', /where the name is read/]],
  ["{{ render('x', inputs) }}", [3, 'there is no function render here', /give the text as an input/]],
  ["a {{ read_file('x') }}", [5, 'there is no function read_file here', /ReadFiles block/]],
  ['{{ inputs.x | selectattr("a") }}', [3, 'there is no filter selectattr here', /for_each/]],
  ['{{ inputs.x | first }}', [3, 'there is no filter first here', /list\[0\]/]],
  ['{{ inputs.x | sort | join("-") }}', [3, 'there is no filter sort here', /Shell block/]],
  ['{{ inputs.x | trimm }}', [3, 'there is no filter trimm here', /did you mean trim/]],
  ['{{ inputs.x | constructor }}', [3, 'there is no filter constructor here', /use one of/]],
  ['{{ inputs.x.items() }}', [3, 'there is no method items here', /for_each over the mapping/]],
  ['{{ memory.x }}', [3, 'there is no memory here', /in a block/]],
  ['{{ inputs.a + zz }}', [14, 'there is no zz here', /inputs\.zz or blocks\.zz/]],
  ['{{ inputs.a', [2, '{{ is not closed', /}}/]],
  ['{{ inputs.a b }}', [12, 'the expression goes on where it should end', /correct/]],
  ['{{ inputs.a[1:2] }}', [3, expect.stringMatching(/from:to/), /block/]],
  ['{{ inputs.a // 2 }}', [3, 'there is no // here', /int/]],
  ['{% if inputs.a %}x', [0, '{% if %} is not closed', /endif/]],
  ['x{% endif %}', [1, '{% endif %} without {% if %}', /before/]],
  ['{% if inputs.a %}{% else %}{% else %}{% endif %}', [27, 'else stands in the wrong place', /order/]],
  ['cost: ${{ inputs.a }}', [6, '${{ … }} is the form of another system', /without the \$/]],
])('T11 %s is refused, with the way out', (text, [offset, message, fix]) => {
  expect(faultOf(text)).toEqual([offset, message, expect.stringMatching(fix as RegExp)]);
});

test.each([
  ['cmd {% if inputs.a %}--x {{inputs.a}}{% endif %}', 4],
  ['cmd {% if inputs.a %}{{inputs.a}}{% endif %} y', 4],
  ['{% if inputs.a %}echo "{{inputs.a}}"{% else %}true{% endif %}', 0],
])('T11 a branch of a command with a value that would be syntax is refused: %s', (text, offset) => {
  expect(faultOf(text, 'command')).toMatchObject([offset, expect.stringMatching(/values are data/), expect.anything()]);
});

test('T11 what no text means as ours is left, with a warning where it looks like a name', () => {
  const left = ['{{.Names}} {{json .}} {{ range .Items }} {{ .inputs.x }} {{', '{%- bogus %}', '$}} }}'];
  expect(left.map((text) => translate(text))).toEqual(left);
  expect(translateText('a {{ nmae }}', 'text', names)).toMatchObject({
    text: 'a {{ nmae }}',
    faults: [{ offset: 2, severity: 'warning', fix: 'write {{ inputs.nmae }} if the input is meant' }],
  });
  expect(translateText('{{ input.name }}', 'text', names).faults).toMatchObject([
    { severity: 'warning', fix: 'write {{ inputs.name }} if the input is meant' },
  ]);
});

test('T11 every character of what is written has its place in the text', () => {
  const text = 'ab {{ inputs.name }} cd {{ inputs.zz | trim }}';
  const { text: written, offsetOf } = translateText(text, 'text', names);
  expect(written).toBe('ab ${inputs.name} cd ${trim(inputs.zz)}');
  expect([0, 5, 18, written.indexOf('inputs.zz')].map(offsetOf)).toEqual([0, 6, 21, 27]);
});

test('T11 hostile texts end, and throw nothing', () => {
  const texts = ['{{'.repeat(5000), '{% if inputs.a %}'.repeat(500), `{{ ${'('.repeat(500)}inputs.a }}`, `{{ ${'not '.repeat(500)}inputs.a }}`,
    `{{ inputs.a${'|trim'.repeat(1500)} }}`, `{{ ${'inputs.a or '.repeat(300)}1 }}`, '{% raw %}'.repeat(2000), '{#'.repeat(5000)]; // prettier-ignore
  for (const text of texts) expect(translateText(text, 'text', names).text.length).toBeLessThan(text.length * 4 + 100);
});
