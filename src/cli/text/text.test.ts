import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { printable } from '../../operations/format/terminal.ts';
import { plain } from './tone.ts';
import { formatTable } from './text-table.ts';
import { formatAge, formatDuration } from '../../operations/format/time.ts';
import { formatBlock, formatInline, toJson } from './value.ts';
import { fit, widthOf, wrap } from './width.ts';

const character = fc.constantFrom(
  ...'ab 日é😀—\u0301\u001b\u0007\u009b\u202e\n\r\t\ud800'.split(''),
  '😀',
  '\u001b[2J',
);

// oxlint-disable-next-line no-control-regex
const control = /[\u0000-\u001f\u007f-\u009f\u2028\u2029\u202a-\u202e\u2066-\u2069]/;

test('P6 no text of a value reaches the terminal with a control character in it', () => {
  fc.assert(
    fc.property(fc.string({ unit: character, maxLength: 60 }), (text) => {
      expect(printable(text)).not.toMatch(control);
      expect(formatInline({ [text]: text })).not.toMatch(control);
      expect(formatBlock({ [text]: [text] }).replaceAll('\n', '')).not.toMatch(control);
      expect(formatBlock(text).replaceAll('\n', '')).not.toMatch(control);
    }),
  );
  expect(printable('a\u001b[2Jb\u009b\u202ec\u061c\n')).toBe(String.raw`a\x1b[2Jb\x9b\u202ec\u061c\n`);
});

test('H1 a text is cut and broken to the width it has, wide characters counted as two', () => {
  fc.assert(
    fc.property(fc.string({ unit: character, maxLength: 80 }), fc.integer({ min: 2, max: 40 }), (text, width) => {
      const shown = printable(text);
      expect(widthOf(fit(shown, width))).toBeLessThanOrEqual(width);
      for (const line of wrap(shown, width)) expect(widthOf(line)).toBeLessThanOrEqual(width);
      expect(wrap(shown, width).join('').replaceAll(' ', '')).toBe(shown.replaceAll(' ', ''));
    }),
  );
  expect(widthOf('日本')).toBe(4);
  expect(fit('abcdef', 4)).toBe('abc…');
});

test('H1 what a line is indented by stays, so that JSON in a question can be read', () => {
  expect(wrap('{\n  "to": "ada",\n  "text": "It is late."\n}', 18)).toEqual([
    '{',
    '  "to": "ada",',
    '  "text": "It is',
    '  late."',
    '}',
  ]);
});

test('H1 an emoji of several code points is one character of two columns, and is not cut in two', () => {
  const [family, flag, accent] = ['👨‍👩‍👧', '🇳🇴', 'e\u0301'];
  expect([family, flag, accent].map(widthOf)).toEqual([2, 2, 1]);
  expect(fit(`${family}${family}${family}`, 5)).toBe(`${family}${family}…`);
  expect(wrap(flag.repeat(3), 4)).toEqual([flag.repeat(2), flag]);
});

test('H1 a table gives way in its widest column', () => {
  const columns = [{ title: 'ID' }, { title: 'TEXT', canShrink: true }, { title: 'N', isRight: true }];
  const rows = [
    ['a', 'x'.repeat(100), '7'],
    ['bb', 'short', '12'],
  ];
  const lines = formatTable(columns, rows, { rowWidth: 40, paint: plain });
  expect(lines).toEqual([
    `ID  TEXT${' '.repeat(28)}   N`,
    `a   ${'x'.repeat(31)}…   7`,
    `bb  short${' '.repeat(27)}  12`,
  ]);
  for (const line of lines) expect(widthOf(line)).toBe(40);
});

test('H1 every storable value has a JSON form', () => {
  const value = {
    date: new Date(0),
    big: 12n,
    bytes: new Uint8Array([1, 2]),
    map: new Map([['k', 1n]]),
    set: new Set([1]),
    url: new URL('https://x.test/'),
    nan: Number.NaN,
    none: undefined,
    error: new TypeError('no'),
  };
  expect(JSON.parse(JSON.stringify(toJson(value)))).toEqual({
    date: '1970-01-01T00:00:00.000Z',
    big: '12',
    bytes: 'AQI=',
    map: [['k', '1']],
    set: [1],
    url: 'https://x.test/',
    nan: 'NaN',
    error: { name: 'TypeError', message: 'no' },
  });
  expect(JSON.stringify(toJson(JSON.parse('{"__proto__":1}')))).toBe('{"__proto__":1}');
});

test('H1 times are short', () => {
  expect([0, 59_999, 60_000, 7_200_000, 200_000_000].map(formatAge)).toEqual(['0 s', '59 s', '1 min', '2 h', '2 d']);
  expect([12, 1_450, 125_000, 12_000_000].map(formatDuration)).toEqual(['12 ms', '1.4 s', '2 min 5 s', '3 h 20 min']);
});
