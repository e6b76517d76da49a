/** Any text becomes data with places, or faults; never a crash. */
import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { readDocument, textBytesMax } from './read-document.ts';

function faultsOf(text: string): readonly string[] {
  const { document, faults } = readDocument(text, 'f.yaml');
  expect(document === undefined || faults.length === 0).toBe(true);
  return faults.map(({ place, message }) => `${place.replace('f.yaml:', '')} ${message}`);
}

test.each<[what: string, text: string, place: string, message: RegExp]>([
  ['a list', '- a\n- b\n', '1:1', /a list, not a mapping/],
  ['a number', '12\n', '1:1', /the number 12, not a mapping/],
  ['nothing', '', '1:1', /empty/],
  ['only a comment', '# hello\n', '1:1', /empty/],
  ['a tab', 'a:\n\tb: 1\n', '2:1', /a tab stands in the indentation/],
  ['a key twice', 'a: 1\nb:\n  c: 1\n  c: 2\n', '4:3', /"c" stands here a second time/],
  ['a number as key', 'a:\n  1: x\n', '2:3', /a key is 1 \(number\)/],
  ['a null key', 'a:\n  ? \n  : x\n', '2:5', /a key is null/],
  ['a collection as key', '? [a, b]\n: x\n', '1:3', /a collection/],
  ['a merge key', 'a: &x {p: 1}\nb:\n  <<: *x\n', '3:3', /merge keys/],
  ['two documents', 'a: 1\n---\nb: 2\n', '3:1', /second document/],
  ['an unknown tag', 'a: !thing 3\n', '1:4', /!thing/],
  ['an unset anchor', 'a: *nothing\n', '1:4', /nothing/],
  ['an open quote', 'a: "b\n', '2:1', /quote/],
  ['a number too large', 'a: 123456789012345678901\n', '1:4', /too large to be kept exactly/],
  ['__proto__', '__proto__: 1\n', '1:1', /__proto__/],
  ['NUL', 'a: "\0"\n', '1:1', /NUL/],
])('Y1 %s is a fault with its place', (_, text, place, message) => {
  const [first = ''] = faultsOf(text);
  expect(first.split(' ')[0]).toBe(place);
  expect(first).toMatch(message);
});

test.each<[text: string, place: string]>([
  ['a: { m: echo ${who} }\nb:\n  - c: 1\n', '1:15'],
  ['a: [ ${who}, b ]\n', '1:7'],
  ['a: { m: {{ inputs.who }} }\n', '1:9'],
  ['a: {{ inputs.who }}\n', '1:4'],
  ['a: {{ inputs.who }} and more\n', '1:21'],
  ['a: {% if x %}b{% endif %}\n', '1:5'],
])('Y1 a reference without quotes is one fault that says so: %j', (text, place) => {
  const { faults } = readDocument(text, 'f.yaml');
  expect(faults).toEqual([
    expect.objectContaining({
      place: `f.yaml:${place}`,
      message: 'a reference stands in a text without quotes, so that its { begins a mapping',
      fix: "put the whole text into quotes: '… ${x} …', or '{{ x }} …'",
    }),
  ]);
});

test('Y1 a mapping in brackets with another fault is no reference', () => {
  for (const text of ['a: { @x: 1 }\n', 'a: { b: 1 } c\n', 'a: { b: [1 }\n'])
    expect(faultsOf(text).join()).not.toContain('a reference');
});

test('Y1 aliases of aliases that would fill the memory are a fault', () => {
  const lines = ['a0: &a0 [x, x, x, x, x, x, x, x, x, x]'];
  for (let depth = 1; depth <= 9; depth += 1) {
    lines.push(`a${depth}: &a${depth} [${Array.from({ length: 10 }, () => `*a${depth - 1}`).join(', ')}]`);
  }
  expect(faultsOf(lines.join('\n')).join()).toMatch(/more than 500000 values/);
}, 60_000);

test('Y1 an anchor within itself is a fault', () => {
  expect(faultsOf('a: &a\n  b: *a\n').join()).toMatch(/nested deeper than 100|anchor/);
});

test('Y1 nesting without end is a fault', () => {
  expect(faultsOf(`a: ${'['.repeat(20_000)}`)).not.toEqual([]);
  expect(faultsOf(`a: ${'['.repeat(200)}${']'.repeat(200)}`).join()).toMatch(/nested deeper/);
  expect(faultsOf(`a: ${'['.repeat(20_000)}${']'.repeat(20_000)}`).join()).toMatch(/nested too deep/);
}, 60_000);

test('Y1 a file of 50 MB is refused before it is parsed', () => {
  const [fault = ''] = faultsOf(`a: "${'x'.repeat(50 * 1024 * 1024)}"`);
  expect(fault).toMatch(new RegExp(`over the limit of ${textBytesMax}`));
}, 60_000);

test('Y1 YAML 1.2: yes, no, dates and octals are text or numbers, not surprises', () => {
  const { document } = readDocument('a: yes\nb: 2024-01-02\nc: 0o17\nd: 010\ne: 1.0\nf: ~\n', 'f');
  expect(document?.data).toEqual({ a: 'yes', b: '2024-01-02', c: 15, d: 10, e: 1, f: null });
  expect(document?.sourceOf(['e'])).toBe('1.0');
});

test('Y1 aliases of plain values are read', () => {
  const { document } = readDocument('a: &x [1, {b: 2}]\nc: *x\n', 'f');
  expect(document?.data).toEqual({ a: [1, { b: 2 }], c: [1, { b: 2 }] });
  expect(document?.placeOf(['c', 1, 'b'])).toBe('f:1:15');
});

test('Y1 places lead into texts of every style', () => {
  const text = ['plain: abcXdef', "single: 'it''sX'", 'double: "a\\tbX"', 'block: |', '  one', '  twoX', ''].join('\n');
  const { document } = readDocument(text, 'f');
  const data = document?.data as Record<string, string>;
  const at = (key: string): string =>
    document?.placeOf([key], { offset: data[key]?.indexOf('X') ?? 0 }).replace('f:', '') ?? '';
  expect(['plain', 'single', 'double', 'block'].map(at)).toEqual(['1:11', '2:15', '3:14', '6:6']);
  expect(document?.placeOf(['block'], { atKey: true })).toBe('f:4:1');
  expect(document?.placeOf(['nowhere', 3])).toBe('f:1:1');
});

test('Y1 no text crashes the reader', () => {
  const pieces = fc.constantFrom(
    'a',
    ': ',
    '\n',
    '  ',
    '- ',
    '[',
    ']',
    '{',
    '}',
    '&x',
    '*x',
    '!',
    '!!str',
    '|',
    '>',
    '"',
    "'",
    '#',
    '?',
    '\t',
    '---',
    '...',
    '<<',
    '%YAML',
    '\uFEFF',
    '\u2028',
    '\0',
    '${',
    '1',
    'é',
  );
  fc.assert(
    fc.property(
      fc.oneof(
        fc.array(pieces, { maxLength: 40 }).map((all) => all.join('')),
        fc.string({ unit: 'binary' }),
      ),
      (text) => {
        const { document, faults } = readDocument(text, 'f');
        return document === undefined ? faults.length > 0 : faults.length === 0;
      },
    ),
    { numRuns: 1000 },
  );
}, 60_000);
