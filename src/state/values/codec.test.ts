import { isDeepStrictEqual } from 'node:util';
import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { stateValues } from '../../../test/state/arbitrary-value.ts';
import { thrown } from '../../../test/support/thrown.ts';
import { CairnError } from '../../errors.ts';
import { admitValue, maskedText, type CodecLimits } from './admit.ts';
import { BlobRef, registerCodec } from './value-codec.ts';
import { decodeJson } from './revive.ts';
import { encodeValue } from './encode.ts';
import { isPlainObject } from './plain-object.ts';

const limits: CodecLimits = { valueBytes: 1_000_000, valueDepth: 100 };

const refusalOf = (value: unknown, given: CodecLimits = limits): CairnError =>
  thrown(() => admitValue(value, ['out'], given));

function isFrozenInDepth(value: unknown): boolean {
  if (typeof value !== 'object' || value === null || value instanceof Uint8Array) return true;
  if (!Object.isFrozen(value)) return false;
  if (value instanceof Map) return [...value].every(([key, item]) => isFrozenInDepth(key) && isFrozenInDepth(item));
  if (value instanceof Set) return [...value].every(isFrozenInDepth);
  if (value instanceof Error)
    return isFrozenInDepth((value as { data?: unknown }).data) && isFrozenInDepth(value.cause);
  return Object.values(value).every(isFrozenInDepth);
}

describe('C2 round trip', () => {
  test('C2 every storable value comes back as it was', () => {
    fc.assert(
      fc.property(stateValues, (value) => {
        const admitted = admitValue(value, [], limits);
        expect(isDeepStrictEqual(admitted.value, value)).toBe(true);
        expect(isDeepStrictEqual(decodeJson(admitted.json), value)).toBe(true);
      }),
      { numRuns: 2_000 },
    );
  });

  test('C2 what is held and what was written have one encoding, and only tags set the flag', () => {
    fc.assert(
      fc.property(stateValues, (value) => {
        const { value: copy, json, hasTags } = admitValue(value, [], limits);
        expect(encodeValue(copy)).toBe(json);
        expect(encodeValue(decodeJson(json))).toBe(json);
        expect(hasTags || !json.includes('"$":')).toBe(true);
      }),
    );
  });

  test('C2 the copy is frozen in depth and shares nothing with the original', () => {
    fc.assert(
      fc.property(stateValues, (value) => {
        expect(isFrozenInDepth(admitValue(value, [], limits).value)).toBe(true);
      }),
    );
    const bytes = Buffer.from([1, 2]);
    const given = { list: [1], map: new Map([['a', [1]]]), set: new Set([1]), date: new Date(0), bytes };
    const { value } = admitValue(given, [], limits);
    given.list.push(2);
    given.map.get('a')?.push(2);
    given.set.add(2);
    given.date.setTime(1);
    bytes[0] = 9;
    const kept = { list: [1], map: new Map([['a', [1]]]), set: new Set([1]), date: new Date(0) };
    expect(value).toStrictEqual({ ...kept, bytes: new Uint8Array([1, 2]) });
  });

  test('C2 what cannot be frozen refuses to be changed', () => {
    const given = { map: new Map([[1, 2]]), set: new Set([1]), date: new Date(0), url: new URL('http://a.test/?q=1') };
    const { map, set, date, url } = admitValue(given, [], limits).value as typeof given;
    for (const change of [
      () => map.set(1, 3),
      () => map.delete(1),
      () => map.clear(),
      () => set.add(2),
      () => set.delete(1),
      () => set.clear(),
      () => date.setTime(5),
      () => date.setUTCFullYear(1999),
      () => {
        url.pathname = '/b';
      },
    ]) {
      expect(change).toThrow(TypeError);
    }
    url.searchParams.set('q', '2');
    expect(url.href).toBe('http://a.test/?q=1');
    expect([...map]).toEqual([[1, 2]]);
  });

  test('C2 an object without a prototype is plain data, and own __proto__ keys survive without harm', () => {
    const bare = Object.assign(Object.create(null) as Record<string, unknown>, { a: 1 });
    expect(isPlainObject(admitValue(bare, [], limits).value)).toBe(true);
    const evil: unknown = JSON.parse('{"__proto__":{"isAdmin":true},"constructor":{"prototype":{"isAdmin":true}}}');
    const { value, json } = admitValue({ evil, at: new Date(1) }, [], limits);
    for (const back of [value, decodeJson(json)] as { evil: Record<string, unknown> }[]) {
      expect(Object.keys(back.evil)).toEqual(['__proto__', 'constructor']);
      expect(Object.getPrototypeOf(back.evil)).toBe(Object.prototype);
    }
    expect(({} as { isAdmin?: boolean }).isAdmin).toBeUndefined();
  });

  test('C2 errors come back as errors: name, message, code, data, cause, and no stack', () => {
    class HttpError extends Error {
      override readonly name = 'HttpError';
      readonly code = 503;
      readonly data = { url: new URL('http://a.test/') };
      readonly socket = () => 0;
    }
    const given = new HttpError('down', { cause: new TypeError('inner') });
    const { value, json } = admitValue(given, [], limits);
    for (const back of [value, decodeJson(json)] as HttpError[]) {
      expect(back).toBeInstanceOf(Error);
      expect([back.name, back.message, back.code, back.data]).toEqual(['HttpError', 'down', 503, given.data]);
      expect(back.cause).toMatchObject({ name: 'TypeError', message: 'inner' });
      expect(Object.hasOwn(back, 'stack') || Object.hasOwn(back, 'socket')).toBe(false);
    }
    expect(json).not.toContain('codec.test');
    const failure = new CairnError('RUN_NOT_FOUND', { runId: 'r1' });
    expect(decodeJson(admitValue(failure, [], limits).json)).toMatchObject({
      code: 'RUN_NOT_FOUND',
      data: { runId: 'r1' },
    });
  });

  test('C2 a shared part is no cycle', () => {
    const part = { a: 1 };
    expect(decodeJson(admitValue([part, { part }, part], [], limits).json)).toEqual([part, { part }, part]);
  });

  test('C5 a blob reference is kept as one', () => {
    const blob = new BlobRef('ab'.repeat(32), 5);
    const { json } = admitValue({ blob }, [], limits);
    expect(json).toBe(`{"blob":${blob.json}}`);
    expect(decodeJson(json)).toStrictEqual({ blob });
  });
});

describe('C2 refusals', () => {
  const self: Record<string, unknown> = { list: [] };
  (self['list'] as unknown[]).push({ self });
  const table = new Map<unknown, unknown>();
  table.set('me', table);
  class Point {
    readonly x = 1;
  }
  class Tree extends Map<string, string> {}
  const cases: readonly (readonly [string, unknown, readonly string[], RegExp])[] = [
    ['a function', { a: [1, () => 1] }, ['a', '1'], /function/],
    ['a symbol', [Symbol('s')], ['0'], /symbol/],
    ['a symbol key', { a: { [Symbol('s')]: 1 } }, ['a'], /symbol/],
    ['a class instance', { a: { p: new Point() } }, ['a', 'p'], /Point/],
    ['a class of Map', [new Tree()], ['0'], /Tree/],
    ['a class of Array', { a: new (class List extends Array<number> {})() }, ['a'], /List/],
    ['a promise', { p: Promise.resolve() }, ['p'], /Promise/],
    ['a regular expression', /x/, [], /RegExp/],
    ['another typed array', new Float64Array(1), [], /Float64Array/],
    ['a cycle', self, ['list', '0', 'self'], /cycle/],
    ['a cycle through a map', table, ['me'], /cycle/],
    // oxlint-disable-next-line no-sparse-arrays -- the point
    ['a hole', { a: [1, , 3] }, ['a', '1'], /hole/],
    ['an array with properties', { m: 'ab'.match(/b/) }, ['m'], /index/],
    ['a getter', Object.defineProperty({}, 'now', { get: () => 1, enumerable: true }), ['now'], /computed/],
    ['a function in a map', new Map([['f', () => 1]]), ['f'], /function/],
    ['a function in a set', new Set([() => 1]), ['#0'], /function/],
    ['a function in an error', Object.assign(new Error('e'), { data: { f: () => 1 } }), ['data', 'f'], /function/],
  ];
  test.each(cases)('C2 %s is refused with its path', (_name, value, path, reason) => {
    const error = refusalOf(value);
    expect(error.code).toBe('VALUE_UNSTORABLE');
    expect(error.data['path']).toEqual(['out', ...path]);
    expect(error.data['reason']).toMatch(reason);
  });

  test('C2 a value that throws when it is read is refused with what it threw', () => {
    const trap = new Proxy(
      {},
      {
        ownKeys: () => {
          throw new RangeError('no keys here');
        },
      },
    );
    expect(refusalOf(trap).data['reason']).toContain('no keys here');
  });

  test('E8 nesting is bounded, whatever the depth given', () => {
    let deep: unknown = 1;
    for (let i = 0; i < 100_000; i++) deep = i % 2 === 0 ? [deep] : { deep };
    expect(refusalOf(deep).data['reason']).toBe('nested deeper than 100');
    expect(refusalOf(deep, { valueBytes: 1_000_000, valueDepth: 1_000_000 }).code).toBe('VALUE_UNSTORABLE');
    const nest = (levels: number): unknown => (levels === 0 ? [] : [nest(levels - 1)]);
    expect(admitValue(nest(99), [], limits).json).toHaveLength(200);
    expect(refusalOf(nest(100)).code).toBe('VALUE_UNSTORABLE');
    const held = admitValue(nest(99), [], limits).value;
    expect(refusalOf([held]).code).toBe('VALUE_UNSTORABLE');
  });

  test('E8 a value over the limit is refused as soon as it is seen, and the part is named', () => {
    const tooLarge = (value: unknown, valueBytes = 1_000): CairnError =>
      refusalOf(value, { valueBytes, valueDepth: 10 });
    expect(tooLarge({ a: { text: 'x'.repeat(1_001) } }).toJSON()).toMatchObject({
      code: 'VALUE_TOO_LARGE',
      data: { path: ['out', 'a', 'text'], limitBytes: 1_000 },
    });
    expect(tooLarge({ list: Array.from({ length: 200 }, () => 'x'.repeat(10)) }).data['path']).toEqual(['out']);
    expect(tooLarge(new Uint8Array(2_000)).code).toBe('VALUE_TOO_LARGE');
    expect(tooLarge('é'.repeat(600)).data).toMatchObject({ sizeBytes: 1_202, limitBytes: 1_000 });
    // As JSON, each of these takes six bytes, and the quotes two.
    expect(tooLarge('\0'.repeat(167)).data).toMatchObject({ sizeBytes: 1_004, limitBytes: 1_000 });
    expect(admitValue('\0'.repeat(166), [], { valueBytes: 1_000, valueDepth: 10 }).json).toHaveLength(998);
    expect(tooLarge(Array.from({ length: 100 }, () => 1_234_567_890)).code).toBe('VALUE_TOO_LARGE');
    // A value that is small in memory and endless when written out.
    let bomb: unknown = 'boom';
    for (let i = 0; i < 60; i++) bomb = [bomb, bomb];
    expect(tooLarge(bomb, 100_000).code).toBe('VALUE_UNSTORABLE');
    expect(refusalOf(bomb, { valueBytes: 100_000, valueDepth: 100 }).code).toBe('VALUE_TOO_LARGE');
  });
});

describe('C2 tags', () => {
  test.each([
    ['{"$":"date","v":5}', 'date'],
    ['{"a":{"$":"codec","name":"x","v":1}}', 'a codec'],
    ['{"$":"text","v":"$"}', 'text'],
  ])('C2 user data that looks like the tag %s survives', (json) => {
    const value: unknown = JSON.parse(json);
    expect(decodeJson(admitValue(value, [], limits).json)).toStrictEqual(value);
    expect(decodeJson(admitValue({ text: json, [json]: value }, [], limits).json)).toStrictEqual({
      text: json,
      [json]: value,
    });
  });

  test.each([
    '{"$":"nope"}',
    '{"$":"toString"}',
    '{"$":"bigint","v":"1x"}',
    '{"$":"map","v":{}}',
    '{"$":"number","v":"4"}',
    '{"$":"url","v":"x"}',
    '{"$":"error","v":null}',
    '{',
    '',
  ])('P6 the damaged text %s is a typed error', (json) => {
    expect(() => decodeJson(json)).toThrow(expect.objectContaining({ code: 'VALUE_UNSTORABLE' }));
  });
});

describe('C2 registered classes', () => {
  class Money {
    readonly amount: bigint;
    readonly currency: string;
    constructor(amount: bigint, currency: string) {
      this.amount = amount;
      this.currency = currency;
    }
  }
  const codec = {
    name: 'money',
    isInstance: (value: object) => value instanceof Money,
    toData: (value: object) => ({ amount: (value as Money).amount, currency: (value as Money).currency }),
    fromData: (data: unknown) => new Money((data as Money).amount, (data as Money).currency),
  };

  test('C2 an instance with a codec round trips, frozen', () => {
    registerCodec(codec);
    registerCodec(codec);
    const given = { price: new Money(5n, 'EUR') };
    const { value, json } = admitValue(given, [], limits);
    expect(value).toStrictEqual(given);
    expect(decodeJson(json)).toStrictEqual(given);
    expect(Object.isFrozen((value as typeof given).price)).toBe(true);
    expect(() => registerCodec({ ...codec })).toThrow(expect.objectContaining({ code: 'CONFIG_INVALID' }));
  });

  test('C2 a codec that this process does not know is named', () => {
    expect(() => decodeJson('{"$":"codec","name":"gone","v":1}')).toThrow(/"gone"/);
  });
});

describe('C2 redaction and ownership', () => {
  const redact = (key: string): boolean => key === 'password';

  test('C2 redaction replaces the values of named keys at any depth', () => {
    const given = {
      password: { deep: 1 },
      list: [{ password: 'p', user: 'u' }],
      map: new Map([['password', 'p']]),
      passwords: 1,
    };
    const { value, json } = admitValue(given, [], limits, { keepsOut: redact });
    expect(value).toStrictEqual({
      password: maskedText,
      list: [{ password: maskedText, user: 'u' }],
      map: new Map([['password', maskedText]]),
      passwords: 1,
    });
    expect(decodeJson(json)).toStrictEqual(value);
  });

  test('C2 a value of ours is not copied again, alone or inside another', () => {
    const { value, json } = admitValue({ list: [{ a: 1 }], at: new Date(0) }, [], limits);
    expect(admitValue(value, [], limits)).toMatchObject({ value, json, hasTags: true });
    expect(admitValue(value, [], limits).value).toBe(value);
    expect((admitValue({ value }, [], limits).value as { value: unknown }).value).toBe(value);
    const list = admitValue([{ a: 1 }, { b: 2 }], [], limits).value as readonly unknown[];
    const longer = admitValue([...list, { c: 3 }], [], limits).value as readonly unknown[];
    expect(longer[0]).toBe(list[0]);
  });

  test('C2 a value of ours that was not redacted is redacted when it comes back', () => {
    const { value } = admitValue({ password: 'p' }, [], limits);
    expect(admitValue({ value }, [], limits, { keepsOut: redact }).value).toEqual({ value: { password: maskedText } });
  });

  test('C2 a frozen value of somebody else is copied', () => {
    const inner = { a: 1 };
    const { value } = admitValue(Object.freeze([inner]), [], limits);
    inner.a = 2;
    expect(value).toEqual([{ a: 1 }]);
  });
});
