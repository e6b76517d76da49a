/** Values of every kind that may be stored (C2), for property tests. */
import * as fc from 'fast-check';
import { FileRef } from '../../src/graph/file-ref.ts';
import { setOwn } from '../../src/state/values/plain-object.ts';

/** Keys that go wrong where code is careless, among ordinary ones. */
export const keys: fc.Arbitrary<string> = fc.oneof(
  fc.constantFrom(
    'a',
    'b',
    'c',
    '$',
    'v',
    '__proto__',
    'constructor',
    'toString',
    'length',
    '0',
    '1',
    '',
    'a.b',
    'é\0',
  ),
  fc.string({ maxLength: 4, unit: 'binary' }),
);

/** An object of these entries; a later entry of the same key wins. */
export function objectOf(entries: Iterable<readonly [string, unknown]>): Record<string, unknown> {
  const object: Record<string, unknown> = {};
  for (const [key, value] of entries) setOwn(object, key, value);
  return object;
}

interface ErrorParts {
  readonly name: string;
  readonly message: string;
  readonly code: unknown;
  readonly data: unknown;
  readonly cause: unknown;
}

function errorOf({ name, message, code, data, cause }: ErrorParts): Error {
  const error = new Error(message, cause === undefined ? undefined : { cause });
  if (name !== 'Error') Object.defineProperty(error, 'name', { value: name, configurable: true, writable: true });
  return Object.assign(error, code === undefined ? {} : { code }, data === undefined ? {} : { data });
}

const plain = fc.oneof(
  fc.constantFrom(null, true, false, undefined, Number.NaN, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY, -0, 0),
  fc.constantFrom<unknown>('date', 'undefined', 'blob', 'file', 'text', '\ud800', '{"$":"date","v":1}'),
  fc.integer(),
  fc.double(),
  fc.string({ maxLength: 8, unit: 'binary' }),
  fc.bigInt(),
);

const leaf = fc.oneof(
  { weight: 4, arbitrary: plain },
  { weight: 1, arbitrary: fc.date({ noInvalidDate: false }) },
  { weight: 1, arbitrary: fc.uint8Array({ maxLength: 5 }) },
  {
    weight: 1,
    arbitrary: fc
      .record({ name: fc.string({ maxLength: 8, unit: 'binary' }), sizeBytes: fc.nat() })
      .map(({ name, sizeBytes }) => new FileRef({ hash: 'f'.repeat(64), type: 'text/plain', name, sizeBytes })),
  },
  { weight: 1, arbitrary: fc.webUrl().map((href) => new URL(href)) },
);

/** Any value that may be stored. */
export const stateValues: fc.Arbitrary<unknown> = fc.letrec((tie) => ({
  value: fc.oneof({ maxDepth: 4, withCrossShrink: true }, leaf, tie('list'), tie('object'), tie('special')),
  list: fc.array(tie('value'), { maxLength: 4 }),
  object: fc.array(fc.tuple(keys, tie('value')), { maxLength: 4 }).map(objectOf),
  special: fc.oneof(
    fc.array(fc.tuple(tie('value'), tie('value')), { maxLength: 3 }).map((entries) => new Map(entries)),
    fc.array(tie('value'), { maxLength: 3 }).map((items) => new Set(items)),
    fc
      .record({
        name: fc.constantFrom('Error', 'TypeError', 'MyFault'),
        message: fc.string({ maxLength: 6 }),
        code: fc.constantFrom(undefined, 'E_CODE', 7),
        data: tie('value'),
        cause: tie('value'),
      })
      .map(errorOf),
  ),
})).value;
