/** Functions of the package that V8 compiles with their file: marked where they stand, with the same meaning. */
import { Script } from 'node:vm';
import { expect, test } from 'vitest';
import { compileEarly, type FunctionPlace } from '../scripts/build/compile-early.ts';

const body = Array.from({ length: 40 }, (_, index) => `  sum += value * ${index};`).join('\n');
const code = `
const early = first(2);
function first(value) {
  return second(value);
}
function second(value) {
  return value + 1;
}
function late(value) { // many lines
  let sum = 0;
${body}
  return sum;
}
class Sum {
  static of(value) { return fromClass(value); }
  late(value) { return late(value); }
}
const ofClass = Sum.of(3);
function fromClass(value) {
  return value * 10;
}
function* counts(value) { for (let at = 0; at < value; at += 1) yield at; }
const twice = (value) => [value].map((one) => ({ one, late: (two) => two * one }))[0].late(2);
({ early, ofClass, name: late.name, late: late(1), sum: new Sum().late(2), twice: twice(4), counts: [...counts(3)] });
`;

/** Where these texts stand in the code. */
function placesOf(...texts: readonly string[]): readonly FunctionPlace[] {
  return texts.map((text) => ({ start: code.indexOf(text), end: code.indexOf(text) + text.length }));
}

const from = (start: string, end: string): string =>
  code.slice(code.indexOf(start), code.indexOf(end, code.indexOf(start)) + end.length);

const called = placesOf(
  from('function first', '\n}'),
  from('function second', '\n}'),
  from('function late', '\n}'),
  from('of(value)', '; }'),
  from('function fromClass', '\n}'),
  from('function* counts', 'at; }'),
  from('(value) =>', '(2)'),
  from('(two) =>', '* one'),
);

test('P6 marked functions mean the same, stand in the same lines, and are compiled with their file', () => {
  const marked = compileEarly(code, called);
  expect(new Script(marked).runInNewContext()).toEqual(new Script(code).runInNewContext());
  expect(marked.split('\n')).toHaveLength(code.split('\n').length);
  expect(marked).toContain('var late = (function late(value) {');
  expect(marked).toContain('late: ((two) => two * one)');
  // Code that has run already is known to V8, functions and all; a new line makes it another.
  const compiledBytes = (text: string): number => new Script(`${text}\n`).createCachedData().length;
  expect(compiledBytes(marked)).toBeGreaterThan(1.5 * compiledBytes(code));
});

test('P6 a function that is called while its file is loaded, before its place, stays as it is; and so do methods and what is never called', () => {
  const marked = compileEarly(code, called);
  for (const text of ['\nfunction first', '\nfunction second', '\nfunction fromClass', '  static of(value) { return'])
    expect(marked).toContain(text);
  expect(compileEarly(code, [])).toBe(code);
});
