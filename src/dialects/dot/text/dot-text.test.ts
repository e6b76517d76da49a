/** The text of DOT files: what is read, what is said of faults, and the canonical form. */
import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { DotFaults } from './faults.ts';
import { parseDot } from './parse-dot.ts';
import { printDot, type DotSyntax, type Syntax } from './print-dot.ts';

function parse(text: string): { readonly syntax: DotSyntax; readonly faults: readonly string[] } {
  const faults = new DotFaults(text, 'p.dot');
  const syntax = parseDot(text, faults);
  return { syntax, faults: faults.violations.map(({ severity, place, message }) => `${severity} ${place} ${message}`) };
}

/** What a file says, without places and comments. */
function plain(statements: readonly Syntax[]): unknown {
  const pairs = (attributes: readonly { key: string; value: string }[]): string[][] =>
    attributes.map(({ key, value }) => [key, value]);
  return statements.map((one) => {
    if (one.kind === 'subgraph') return { subgraph: one.id, of: plain(one.statements) };
    if (one.kind === 'edge') return { edge: one.ends.map(({ id }) => id), with: pairs(one.attributes) };
    if (one.kind === 'node') return { node: one.id, with: pairs(one.attributes) };
    return { defaults: one.of, with: pairs(one.attributes) };
  });
}

const whole = (text: string): unknown => plain(parse(text).syntax.statements);

test('11.1.1 the subset is read: graph, node and edge attributes, nodes, edges, subgraphs, assignments', () => {
  const { syntax, faults } = parse(`
    digraph Release {
      graph [goal="ship it", label=Release]
      rankdir=LR
      node [shape=box, timeout="900s"]; edge [weight=1]
      start [shape=Mdiamond]
      subgraph cluster_loop { label="Loop A"; work }
      start -> work [label="go"]
    }`);
  expect(faults).toEqual([]);
  expect([syntax.name, plain(syntax.statements)]).toEqual([
    'Release',
    [
      {
        defaults: 'graph',
        with: [
          ['goal', 'ship it'],
          ['label', 'Release'],
        ],
      },
      { defaults: 'graph', with: [['rankdir', 'LR']] },
      {
        defaults: 'node',
        with: [
          ['shape', 'box'],
          ['timeout', '900s'],
        ],
      },
      { defaults: 'edge', with: [['weight', '1']] },
      { node: 'start', with: [['shape', 'Mdiamond']] },
      {
        subgraph: 'cluster_loop',
        of: [
          { defaults: 'graph', with: [['label', 'Loop A']] },
          { node: 'work', with: [] },
        ],
      },
      { edge: ['start', 'work'], with: [['label', 'go']] },
    ],
  ]);
});

test('11.1.3 attributes may stand on several lines, and strings may hold line breaks', () => {
  expect(
    whole('digraph g {\n a [\n  prompt="one\ntwo\\nthree",\n  human.default_choice=b,\n  fidelity=summary:high\n ]\n}'),
  ).toEqual([
    {
      node: 'a',
      with: [
        ['prompt', 'one\ntwo\nthree'],
        ['human.default_choice', 'b'],
        ['fidelity', 'summary:high'],
      ],
    },
  ]);
});

test('DOT1 the line breaks of a file from Windows are those of any other in its strings, and nowhere else', () => {
  const { syntax, faults } = parse('digraph g {\r\n // one\r\n a [p="x\r\ny \\\r\nz\rq"]\r\n}\r\n');
  expect([plain(syntax.statements), faults]).toEqual([[{ node: 'a', with: [['p', 'x\ny z\rq']] }], []]);
});

test('11.1.9 values may be quoted or not: texts, numbers, durations, names with dots and dashes', () => {
  expect(whole('digraph g { a [w=-1, f=.5, d=250ms, m=gpt-5.2, t="x" + "y", u="a\\\nb"] a->b }')).toEqual([
    {
      node: 'a',
      with: [
        ['w', '-1'],
        ['f', '.5'],
        ['d', '250ms'],
        ['m', 'gpt-5.2'],
        ['t', 'xy'],
        ['u', 'ab'],
      ],
    },
    { edge: ['a', 'b'], with: [] },
  ]);
});

test('11.1.10 comments are left out, and marks of comments inside strings are text', () => {
  const text =
    '# first\ndigraph g { // one\n /* two\n lines */ a [label="see https://x.org/* b */ # c"] # no comment\n}';
  expect(whole(text.replace(' # no comment', ''))).toEqual([
    { node: 'a', with: [['label', 'see https://x.org/* b */ # c']] },
  ]);
});

test('DOT1 a syntax error names line and column and shows the source line with a caret below the place', () => {
  const { faults } = parse('digraph g {\n  a [label="x", =3]\n  b\n}');
  expect(faults).toEqual([
    'error p.dot:2:17 expected an attribute, found =\n  2 |   a [label="x", =3]\n                      ^',
  ]);
});

test('DOT1 all errors of a file are reported, and what stands beside them is read', () => {
  const { syntax, faults } = parse(
    'digraph g {\n a -- b\n c:north -> d\n {x y} -> z\n e [k=<b>]\n good\n 1st\n node -> q\n a -> {b c}\n ok\n}',
  );
  expect(faults.filter((line) => line.startsWith('error')).map((line) => line.split('\n')[0])).toEqual([
    'error p.dot:2:4 an edge without a direction',
    'error p.dot:3:2 c:north: ports are not part of the language',
    'error p.dot:4:8 an edge from a whole block is not part of the language',
    'error p.dot:5:7 HTML values are not part of the language',
    'error p.dot:7:2 1st cannot name a node',
    'error p.dot:8:2 node is a word of the language and names no node',
    'error p.dot:9:7 an edge to a whole block is not part of the language',
  ]);
  const nodes = syntax.statements
    .filter(({ kind }) => kind === 'node')
    .map((one) => (one.kind === 'node' ? one.id : ''));
  expect(nodes).toEqual(['e', 'good', 'ok']);
});

test.each([
  ['graph g {}', 'a graph without directions says no order'],
  ['strict digraph g {}', 'a strict graph is not part of the language'],
  ['digraph g {} digraph h {}', 'expected the end of the file after the graph, found digraph'],
  ['digraph g { a', 'the graph is not closed'],
  ['digraph g { a [x=1 }', 'the attributes are not closed: expected ], found }'],
  ['digraph g { a [x="1] }', 'the string does not end'],
  ['digraph g { /* a }', 'the comment does not end'],
  ['hello', 'expected digraph, found hello'],
  ['', 'expected digraph, found the end of the file'],
  ['digraph g { a [\\"x=1] }', '"\\\\" is not part of the language'],
])('DOT1 %j is refused: %s', (text, message) => {
  expect(parse(text).faults.map((line) => line.replace(/^\S+ \S+ /, '').split('\n')[0])).toContain(message);
});

test('DOT1 a bracket that is not closed is told where it stands, and what follows is read', () => {
  const { syntax, faults } = parse('digraph g {\n a [x=1, y=2\n b [z=3]\n c [x=1,\n c -> d\n}');
  expect(faults.map((line) => line.split('\n')[0])).toEqual([
    'error p.dot:2:5 the attributes are not closed: expected ], found b',
    'error p.dot:4:5 the attributes are not closed: expected ], found c',
  ]);
  expect(syntax.statements.map(({ kind }) => kind)).toEqual(['node', 'node', 'node', 'edge']);
});

test('DOT2 what real files are careless about is read with a warning each', () => {
  const { syntax, faults } = parse(
    'digraph "My flow" {\n "a" [x=1 y=2; bold]\n { b }\n b [p=1] [q=2]\n stack.child="c"\n c [l="\\l"]\n}',
  );
  expect(faults).toEqual([
    'warning p.dot:1:9 the name of the graph is quoted',
    'warning p.dot:2:2 the name of a node is quoted',
    'warning p.dot:2:11 there is no comma between the attributes',
    'warning p.dot:2:14 attributes are separated by a semicolon',
    'warning p.dot:2:16 bold has no value: it is taken as true',
    'warning p.dot:3:2 a block without a name',
    'warning p.dot:4:10 more than one block of attributes',
    'warning p.dot:5:2 a name with a dot, outside of brackets',
    'warning p.dot:6:8 \\l is no escape: the backslash stays',
  ]);
  expect([syntax.name, plain(syntax.statements)]).toEqual([
    'My flow',
    [
      {
        node: 'a',
        with: [
          ['x', '1'],
          ['y', '2'],
          ['bold', 'true'],
        ],
      },
      { subgraph: undefined, of: [{ node: 'b', with: [] }] },
      {
        node: 'b',
        with: [
          ['p', '1'],
          ['q', '2'],
        ],
      },
      { defaults: 'graph', with: [['stack.child', 'c']] },
      { node: 'c', with: [['l', '\\l']] },
    ],
  ]);
});

test('DOT2 what is said to write for a quoted name of a graph can be read', () => {
  const fixOf = (text: string): string | undefined => {
    const faults = new DotFaults(text, 'p.dot');
    parseDot(text, faults);
    return faults.violations[0]?.fix;
  };
  expect(fixOf('digraph "Flow" { a }')).toBe('write it without quotes');
  expect(fixOf('digraph "Release Train" { a }')).toBe('use letters, digits and _, without quotes');
  expect(fixOf('digraph Release_Train { a }')).toBe(undefined);
});

test('DOT3 the printed form: one statement a line, long attributes one a line, comments before what they stand at', () => {
  const text = `// what it is
digraph g{goal="x";a[shape=box,prompt="say
it"];a->b->c[label=go]// why
/* of c */ c; subgraph s{ // of s
d } // of d
}
// end`;
  expect(printDot(parse(text).syntax)).toBe(`// what it is
digraph g {
  graph [goal=x]
  a [
    shape=box,
    prompt="say
it"
  ]
  // why
  a -> b -> c [label=go]
  /* of c */
  c
  // of s
  // of d
  subgraph s {
    d
  }
  // end
}
`);
});

const word = fc.constantFrom('a', 'b', 'start', 'x_1', 'Ü');
const value = fc.oneof(
  fc.constantFrom('true', '3', '-2', '.5', '900s', 'gpt-5.2', 'a->b', '', 'node', '-', 'a--b', '\r'),
  fc.string(),
);
const attributes = fc.array(
  fc.record({
    key: fc.constantFrom('label', 'human.default_choice', 'x'),
    value,
    at: fc.constant(0),
    valueAt: fc.constant(0),
  }),
  { maxLength: 4 },
);
const comments = fc.array(fc.constantFrom('// c', '/* d\n e */', '# f'), { maxLength: 2 });
const more = { at: fc.constant(0), comments };
const statement: fc.Arbitrary<Syntax> = fc.letrec<{ one: Syntax }>((tie) => ({
  one: fc.oneof(
    { maxDepth: 3 },
    fc.record({ kind: fc.constant('node' as const), id: word, attributes, ...more }),
    fc.record({
      kind: fc.constant('defaults' as const),
      of: fc.constantFrom('graph' as const, 'node', 'edge'),
      attributes,
      ...more,
    }),
    fc.record({
      kind: fc.constant('edge' as const),
      ends: fc.array(fc.record({ id: word, at: fc.constant(0) }), { minLength: 2, maxLength: 4 }),
      attributes,
      ...more,
    }),
    fc.record({
      kind: fc.constant('subgraph' as const),
      id: fc.option(fc.oneof(word, fc.string()), { nil: undefined }),
      statements: fc.array(tie('one'), { maxLength: 3 }),
      closing: comments,
      ...more,
    }),
  ),
})).one;

test('DOT3 what is printed is read as it was, and printed again the same', () => {
  const file = fc.record({
    name: fc.oneof(word, fc.string({ minLength: 1 })),
    comments,
    statements: fc.array(statement, { maxLength: 6 }),
    closing: comments,
  });
  fc.assert(
    fc.property(file, (syntax: DotSyntax) => {
      const text = printDot(syntax);
      const again = parse(text);
      expect(again.faults.filter((line) => line.startsWith('error'))).toEqual([]);
      expect([again.syntax.name, plain(again.syntax.statements)]).toEqual([syntax.name, plain(syntax.statements)]);
      expect(printDot(again.syntax)).toBe(text);
    }),
    { numRuns: 300 },
  );
});

test('DOT1 no text crashes the parser, whatever bytes it is made of', () => {
  const piece = fc.oneof(
    fc.constantFrom(
      'digraph g {',
      '}',
      '[',
      ']',
      '->',
      '--',
      '"',
      '\\',
      '/*',
      '//',
      '#',
      '=',
      ';',
      'subgraph',
      'a',
      '{',
      '\n',
      '<',
      '+',
      ':',
    ),
    fc.string({ unit: 'binary' }),
  );
  fc.assert(
    fc.property(fc.array(piece, { maxLength: 60 }), (pieces) => {
      const { syntax, faults } = parse(pieces.join(''));
      expect(typeof syntax.name).toBe('string');
      expect(faults.every((line) => /^(error|warning) p\.dot:\d+:\d+ /.test(line))).toBe(true);
    }),
    { numRuns: 500 },
  );
});

test('DOT1 subgraphs nest 100 deep and no deeper; a deep file overflows no stack', () => {
  const nested = (depth: number): string => `digraph g { ${'subgraph { '.repeat(depth)} a ${'}'.repeat(depth)} }`;
  expect(parse(nested(100)).faults).toEqual([]);
  expect(parse(nested(101)).faults.map((line) => line.split('\n')[0])).toEqual([
    'error p.dot:1:1113 subgraphs are nested deeper than 100',
  ]);
  expect(parse(nested(100_000)).faults).toHaveLength(1);
});
