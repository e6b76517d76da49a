/** SQL text as statements, placeholders and classes. */
import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { bindParams, type Params, readSql, type Engine } from './sql-job.ts';
import { isRawRead, sqlFaults } from './raw-work.ts';

const texts = (sql: string, engine: Engine = 'sqlite'): readonly string[] =>
  readSql(sql, engine).map(({ text }) => text);

test('B60 statements end at semicolons that stand in no string, comment, quoted name or body', () => {
  expect(texts('select 1; select \';\' ; -- a;b\n select `;`, ";", [;] /* ; */;;')).toEqual([
    'select 1',
    "select ';'",
    'select `;`, ";", [;]',
  ]);
  expect(texts("select $$;$$, $a$;$$;$a$, E'\\';'; /* a /* ; */ ; */ select 2", 'postgresql')).toEqual([
    "select $$;$$, $a$;$$;$a$, E'\\';'",
    'select 2',
  ]);
  const trigger =
    'create trigger t after insert on a begin update b set c = case when 1 then 2 end; delete from d; end';
  expect(texts(`${trigger}; select 1`)).toEqual([trigger, 'select 1']);
  const atomic = 'create function f() returns int begin atomic select 1; select 2; end';
  expect(texts(`${atomic};select 3`, 'postgresql')).toEqual([atomic, 'select 3']);
  expect(texts(' ; -- nothing\n')).toEqual([]);
});

test.each(["'a", '"a', '/* a', '$$ a', "select 'it''s", "E'\\'"])('B60 what is not closed is told: %s', (sql) => {
  expect(() => readSql(sql, 'postgresql')).toThrow('is not closed');
});

const bound = (sql: string, params: Params, engine: Engine): readonly [string, readonly unknown[]] => {
  const [statement] = readSql(sql, engine);
  if (statement === undefined) throw new Error('no statement');
  const { text, values } = bindParams(statement, params, engine);
  return [text, values];
};

test.each<[string, Params, Engine, string, readonly unknown[]]>([
  ['a = ? and b = ?', [1, 2], 'sqlite', 'a = ? and b = ?', [1, 2]],
  ['a = ? and b = ?', [1, 2], 'postgresql', 'a = $1 and b = $2', [1, 2]],
  ['a = $2 and b = $1 or $2', [1, 2], 'sqlite', 'a = ? and b = ? or ?', [2, 1, 2]],
  ['a = $2 and b = $1 or $2', [1, 2], 'postgresql', 'a = $2 and b = $1 or $2', [1, 2]],
  ['a = ?2 and b = ?1', [1, 2], 'sqlite', 'a = ? and b = ?', [2, 1]],
  ['a = %s', [1], 'postgresql', 'a = $1', [1]],
  ['a = %s', [1], 'sqlite', 'a = ?', [1]],
  ["j ? 'k' and a = %s", [1], 'postgresql', "j ? 'k' and a = $1", [1]],
  ["j ? 'k' and a = $1", [1], 'postgresql', "j ? 'k' and a = $1", [1]],
  ['a=:x and b=:y or :x', { x: 1, y: 2 }, 'sqlite', 'a=? and b=? or ?', [1, 2, 1]],
  ['a=:x and b=:y or :x', { x: 1, y: 2 }, 'postgresql', 'a=$1 and b=$2 or $1', [1, 2]],
  ['a = %(x)s', { x: 1 }, 'postgresql', 'a = $1', [1]],
  ['a = @x or $x', { x: 1 }, 'sqlite', 'a = ? or ?', [1, 1]],
  [
    "a::text = :a and b[1:n] and 'x:y' = :y",
    { a: 1, y: 2 },
    'postgresql',
    "a::text = $1 and b[1:n] and 'x:y' = $2",
    [1, 2],
  ],
  ["'?' || ? -- ?", ['v'], 'sqlite', "'?' || ?", ['v']],
  ['a$1 = $1', [1], 'postgresql', 'a$1 = $1', [1]],
])('B61 %s with %j on %s', (sql, params, engine, text, values) => {
  expect(bound(sql, params, engine)).toEqual([text, values]);
});

test.each<[string, Params, string]>([
  ['?', [], 'placeholders for 1 values, and params has 0'],
  ['?', [1, 2], 'params has 2'],
  ['$1 $3', [1, 2, 3], 'placeholders for 3'],
  ['$2', [1], 'placeholders for 2'],
  ['$1', [1, 2], 'placeholders for 1'],
  [':a', { b: 1 }, 'no a'],
  [':a', { a: 1, b: 1 }, 'no placeholder :b'],
  [':a', [1], 'have names'],
  ['? $1', [1, 2], 'mixes'],
  ['? %s', [1, 2], 'mixes'],
  [':toString', {}, 'no toString'],
])('B61 %s with %j is refused', (sql, params, reason) => {
  expect(() => bound(sql, params, 'sqlite')).toThrow(reason);
});

test('B61 SQLite would take a placeholder without a value for NULL, so it is refused', () => {
  for (const sql of ['?', '?1', ':a', '$a', '@a'])
    expect(() => bindParams(readSql(sql, 'sqlite')[0] as never, undefined, 'sqlite')).toThrow('no params');
});

test.each([
  ['select 1', true],
  ['  -- x\n SELECT replace(a, 1, 2) FROM t;', true],
  ['with x as (select 1) select * from x', true],
  ['values (1)', true],
  ['select 1; select 2', true],
  ["select 'insert into'", true],
  ['explain select 1', true],
  ['explain analyze delete from t', false],
  ['with x as (delete from t returning *) select * from x', false],
  ['select * into t from u', false],
  ['select * from t for update', false],
  ['select * from t for no key update', false],
  ['insert into t values (1)', false],
  ['select 1; delete from t', false],
  ['pragma user_version = 2', false],
  ['', false],
  ["select '", false],
])('B62 whether it only reads: %s', (sql, expected) => {
  expect(isRawRead(sql, 'postgresql')).toBe(expected);
});

test.each<[string, Engine, string | undefined]>([
  ['', 'sqlite', 'it has no statement'],
  ['begin; select 1; commit', 'sqlite', 'BEGIN is not for a block'],
  ['prepare transaction 1', 'postgresql', 'PREPARE is not for a block'],
  ["attach 'x' as y", 'sqlite', 'ATTACH reaches another file'],
  ["vacuum into 'x'", 'sqlite', 'VACUUM reaches another file'],
  ['copy t from stdin', 'postgresql', 'COPY has nothing to read from or write to'],
  ['pragma foreign_keys = off; select 1', 'sqlite', 'PRAGMA runs outside of transactions only'],
  ["pragma temp_store_directory = '/tmp'", 'sqlite', 'PRAGMA temp_store_directory reaches beyond the database'],
  ['pragma main.hard_heap_limit(1)', 'sqlite', 'PRAGMA hard_heap_limit reaches beyond the database'],
  ['pragma "temp_store_directory"', 'sqlite', 'PRAGMA is not followed by a plain name'],
  ['pragma/**/hard_heap_limit = 1', 'sqlite', 'PRAGMA is not followed by a plain name'],
  ['pragma user_version', 'sqlite', undefined],
  ['vacuum', 'sqlite', undefined],
  ['create index concurrently i on t (a)', 'postgresql', undefined],
])('B63 %s on %s: %s', (sql, engine, message) => {
  expect(sqlFaults('sql', sql, engine)[0]?.message).toBe(message);
});

test('B60 any text is read or refused, and pieces keep their order', () => {
  const piece = fc.constantFrom(
    "'",
    '"',
    '`',
    '[',
    ']',
    '$$',
    '$a$',
    '/*',
    '*/',
    '--',
    '\n',
    ';',
    '?',
    ':a',
    '%s',
    'E',
    'x ',
    '$1',
    '\\',
    '(',
  );
  fc.assert(
    fc.property(
      fc.array(piece, { maxLength: 12 }),
      fc.constantFrom<Engine>('sqlite', 'postgresql'),
      (pieces, engine) => {
        const sql = pieces.join('');
        let statements: readonly string[];
        try {
          statements = texts(sql, engine);
        } catch (error) {
          return (error as Error).message.endsWith('is not closed');
        }
        let at = 0;
        for (const text of statements) {
          const found = sql.indexOf(text, at);
          if (found < at || text === '') return false;
          at = found + text.length;
        }
        return true;
      },
    ),
  );
});
