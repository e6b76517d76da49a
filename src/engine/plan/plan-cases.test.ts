import { describe, expect, it } from 'vitest';
import { emptyFrame } from '../../../test/plan/plan-driver.ts';
import { drive, finish, graphOf, idOf, type Joins, type Script } from '../../../test/plan/script.ts';
import { type GraphEdge, START } from '../../graph/graph.ts';
import { createPlan } from './plan.ts';

const run = (
  lines: readonly string[],
  script: Script = {},
  joins: Joins = {},
): { log: string; skipped: string; end: string } => {
  const driver = drive(lines, script, joins);
  const log = finish(driver).join(' ');
  expect(driver.plan.isDone).toBe(true);
  return { log, skipped: driver.plan.skippedNodes().join(' '), end: driver.plan.stateOf(1) };
};

describe('joins', () => {
  it('G3 a diamond with a skipped arm joins on the other', () => {
    const lines = ['START > a', 'a > b c', 'b > d', 'c > d', 'd > END'];
    expect(run(lines, { a: ['b'] })).toEqual({ log: 'a1 b1 d1', skipped: 'c', end: 'settled' });
    expect(run(lines, {})).toEqual({ log: 'a1 b1 c1 d1', skipped: '', end: 'settled' });
    expect(run(lines, { a: ['b'] }, { d: 'all' })).toEqual({ log: 'a1 b1', skipped: 'c d', end: 'skipped' });
  });

  it('G3 a skip runs down a chain and no descendant of skipped nodes alone runs', () => {
    expect(run(['START > a', 'a > b', 'b > c', 'c > d', 'd > END'], { a: ['-'] })).toEqual({
      log: 'a1',
      skipped: 'b c d',
      end: 'skipped',
    });
  });

  it('G3 a join of skipped and taken arms waits for the arm that is still running', () => {
    const driver = drive(['START > a', 'a > b c', 'b > b2', 'b2 > d', 'c > d', 'd > END'], { a: ['b'] });
    expect(finish(driver, ['b2'])).toEqual(['a1', 'b1']);
    expect(driver.plan.stateOf(driver.number('d'))).toBe('idle');
    expect(finish(driver)).toEqual(['b21', 'd1']);
  });

  it('G3 a node whose `when` is false is skipped with all its edges but the `always` ones', () => {
    const lines = ['START > a', 'a > b', 'b > c', 'b >! d'];
    expect(run(lines, { b: ['?'] })).toEqual({ log: 'a1 b1 d1', skipped: 'b c', end: 'idle' });
  });

  it('G3 an `always` edge fires over a skipped, an empty and a cancelled settling', () => {
    expect(run(['START > a', 'a > b', 'b >! c', 'c > END'], { a: ['-'] })).toEqual({
      log: 'a1 c1',
      skipped: 'b',
      end: 'settled',
    });
    expect(run(['START > a', 'a >! b'], { a: ['-'] }).log).toBe('a1 b1');
    const plan = drive(['START > a', 'a >! b']).plan;
    expect(plan.settledFields(0, [])).toEqual({ fired: [], epoch: 0, held: undefined });
  });

  it('G3 `first` starts as soon as that many have fired; later ones are ignored', () => {
    const lines = ['START > a b c', 'a > d', 'b > d', 'c > d', 'd > END'];
    const driver = drive(lines, {}, { d: { first: 2 } });
    driver.settle(0);
    driver.settle(driver.number('c'));
    const step = driver.settle(driver.number('a'));
    expect(step.start).toEqual([
      {
        node: driver.number('d'),
        visit: 1,
        took: [
          ['a', 'd'],
          ['c', 'd'],
        ],
      },
    ]);
    expect(finish(driver)).toEqual(['b1', 'd1']);
    expect(run(lines, { a: ['-'], b: ['-'] }, { d: { first: 2 } })).toEqual({
      log: 'a1 b1 c1',
      skipped: 'd',
      end: 'skipped',
    });
  });

  it('G3 what a `first` join took stays taken when the plan is built again', () => {
    const driver = drive(['START > a b', 'a > d', 'b > d', 'd > END'], {}, { d: { first: 1 } });
    driver.settle(0);
    driver.settle(driver.number('b'));
    driver.trace(driver.number('d'));
    driver.settle(driver.number('a'));
    expect(driver.reload().start).toEqual([{ node: driver.number('d'), visit: 1, took: [['b', 'd']] }]);
  });
});

describe('cancelRest', () => {
  const lines = ['START > a b c', 'a > d', 'b > d', 'c > c2', 'c2 > d', 'd > END'];
  const joins: Joins = { d: { first: 1, cancelRest: true } };

  it('G3 `cancelRest` cancels direct sources: those running at once, those that come later instead of running', () => {
    const driver = drive(lines, {}, joins);
    driver.settle(0);
    const step = driver.settle(driver.number('a'));
    expect(step.start.map(({ node }) => node)).toEqual([driver.number('d')]);
    expect(step.cancel).toEqual([driver.number('b')]);
    driver.settle(driver.number('b'));
    expect(driver.tree.nodes['b']).toMatchObject({ status: 'cancelled', fired: [] });
    const late = driver.settle(driver.number('c'));
    expect(late).toMatchObject({ start: [{ node: driver.number('c2') }], cancel: [driver.number('c2')] });
    expect(finish(driver)).toEqual(['d1', 'c21']);
    expect(driver.tree.nodes['c2']).toMatchObject({ status: 'cancelled', visits: 1 });
    expect(driver.plan.isDone).toBe(true);
  });

  it('E1 a plan built again cancels the same sources, traced or not', () => {
    for (const isTraced of [false, true]) {
      const driver = drive(lines, {}, joins);
      driver.settle(0);
      if (isTraced) driver.trace(driver.number('b'));
      driver.settle(driver.number('a'));
      const step = driver.reload();
      expect(step.cancel).toEqual([driver.number('b')]);
      expect(step.start.map(({ node }) => node)).toEqual(['b', 'c', 'd'].map(driver.number));
    }
  });
});

describe('loops', () => {
  it('G4 a loop whose exit is not taken at first leaves it in the round that takes it', () => {
    const lines = ['START > a', 'a > b', 'b > a c', 'c > END'];
    expect(run(lines, { b: ['a', 'a', 'c'] })).toEqual({ log: 'a1 b1 a2 b2 a3 b3 c1', skipped: '', end: 'settled' });
  });

  it('G4 an exit that stays untaken skips what follows', () => {
    expect(run(['START > a', 'a > b', 'b > a c', 'c > END'], { b: ['a', '-'] })).toEqual({
      log: 'a1 b1 a2 b2',
      skipped: 'c',
      end: 'skipped',
    });
  });

  it('G4 an exit that fired in an early round fires once, when the loop is done', () => {
    const lines = ['START > a', 'a > b', 'b > a', 'a > c', 'c > END'];
    expect(run(lines, { a: ['b c', 'b', '-'], b: ['a', 'a'] })).toEqual({
      log: 'a1 b1 a2 b2 a3 c1',
      skipped: 'b',
      end: 'settled',
    });
  });

  it('G4 two loops sharing a head are one loop of one head', () => {
    const lines = ['START > h', 'h > a b', 'a > h', 'b > h', 'h > x', 'x > END'];
    expect(graphOf(lines).loops.map(({ id, nodes }) => [id, nodes.length])).toEqual([['h', 3]]);
    expect(run(lines, { h: ['a b', 'b', 'x'] })).toEqual({
      log: 'h1 a1 b1 h2 b2 h3 x1',
      skipped: 'a b',
      end: 'settled',
    });
  });

  it('G4 a loop entered in the middle has two heads; a round starts those that were led back to', () => {
    const lines = ['START > a b', 'a > b', 'b > c', 'c > a b x', 'x > END'];
    expect(graphOf(lines).loops.map(({ id }) => id)).toEqual(['a,b']);
    expect(run(lines, { c: ['b', 'a', 'x'], a: ['b', 'b'] }).log).toBe('a1 b1 c1 b2 c2 a2 b3 c3 x1');
  });

  it('G4 a round waits for a parallel arm with a question in it', () => {
    const script = { a: ['b q', 'b'], b: ['a', 'x'], q: ['-'] };
    const driver = drive(['START > a', 'a > b q', 'b > a x', 'q > a x', 'x > END'], script);
    expect(finish(driver, ['q'])).toEqual(['a1', 'b1']);
    driver.trace(driver.number('q'));
    driver.reload();
    expect(driver.plan.isDone).toBe(false);
    expect(finish(driver)).toEqual(['q1', 'a2', 'b2', 'x1']);
  });

  it('G4 a supervisor runs two workers side by side and is asked again once both are settled', () => {
    const lines = ['START > s', 's > w1 w2 x', 'w1 > s', 'w2 > s', 'x > END'];
    const driver = drive(lines, { s: ['w1 w2', 'w2', 'x'] });
    expect(finish(driver, ['w2'])).toEqual(['s1', 'w11']);
    expect(finish(driver)).toEqual(['w21', 's2', 'w22', 's3', 'x1']);
  });

  it('G4 nested loops: the inner one is done before the outer round ends, and begins anew in the next', () => {
    const lines = ['START > o', 'o > i', 'i > j', 'j > i k', 'k > o x', 'x > END'];
    expect(graphOf(lines).loops.map(({ id, parent }) => [id, parent])).toEqual([
      ['o', undefined],
      ['i', 0],
    ]);
    const driver = drive(lines, { j: ['i', 'k', 'i', 'i', 'k'], k: ['o', 'x'] });
    expect(finish(driver).join(' ')).toBe('o1 i1 j1 i2 j2 k1 o2 i3 j3 i4 j4 i5 j5 k2 x1');
    expect(driver.tree.loops).toEqual({
      o: { since: 2, round: 2, heads: ['o'] },
      i: { since: 4, round: 3, heads: ['i'] },
    });
  });

  it('G4 a loop entered again by an outer round starts at round one, and its old record is deleted', () => {
    const driver = drive(['START > o', 'o > i', 'i > i k', 'k > o x', 'x > END'], {
      i: ['i', 'k', 'k'],
      k: ['o', 'x'],
    });
    expect(finish(driver, ['k'])).toEqual(['o1', 'i1', 'i2']);
    expect(driver.tree.loops).toHaveProperty('i');
    const step = driver.settle(driver.number('k'));
    expect(step.loops).toContainEqual({ id: 'i', record: undefined });
    expect(driver.tree.loops).toEqual({ o: { since: 2, round: 2, heads: ['o'] } });
    expect(finish(driver).join(' ')).toBe('o2 i3 k2 x1');
  });

  it('G4 a self loop is a loop', () => {
    expect(run(['START > a', 'a > a b', 'b > END'], { a: ['a', 'a', 'b'] })).toEqual({
      log: 'a1 a2 a3 b1',
      skipped: '',
      end: 'settled',
    });
  });

  it('G4 a token of an outer loop left in an early inner round survives later visits and a crash', () => {
    const lines = ['START > o', 'o > i', 'i > i o x', 'x > END'];
    const driver = drive(lines, { i: ['i o', 'i', '-', 'x'] });
    for (const seen of [['o1', 'i1'], ['i2'], ['i3']]) {
      for (const visit of seen) {
        const node = [...driver.open.keys()].find((open) => open !== 0) ?? 0;
        if (driver.open.has(0)) driver.settle(0);
        const next = node === 0 ? [...driver.open.keys()][0] : node;
        expect(`${idOf(driver.graph, next ?? 0)}${driver.open.get(next ?? 0)?.visit}`).toBe(visit);
        driver.trace(next ?? 0);
        driver.reload();
        driver.settle(next ?? 0);
      }
    }
    expect(driver.tree.nodes['i']).toMatchObject({ visits: 3, fired: [], held: [[driver.graph.edges[3]?.key, 0]] });
    expect(driver.tree.loops).toEqual({ o: { since: 3, round: 2, heads: ['o'] } });
    expect(finish(driver).join(' ')).toBe('o2 i4 x1');
  });

  it('G4 heads a round started are started again after a crash before they left a trace', () => {
    const driver = drive(['START > h g', 'h > a', 'g > a', 'a > h g', 'a > x'], { a: ['h', 'x'] });
    finish(driver, ['h']);
    driver.settle(driver.number('h'));
    finish(driver, ['h']);
    expect(driver.tree.nodes['h']).toMatchObject({ visits: 1, epoch: 0 });
    expect(driver.reload().start).toEqual([{ node: driver.number('h'), visit: 2, took: undefined }]);
    expect(driver.plan.stateOf(driver.number('g'))).toBe('skipped');
  });

  it('H2 a decision taken again forgets what only it had fired', () => {
    const lines = ['START > a', 'a > b', 'b > a x y', 'x > END', 'y > END'];
    const driver = drive(lines, { b: ['a x', 'x'], a: [] });
    finish(driver, ['x']);
    const toY = driver.graph.edges.filter((edge) => edge.key === 'y');
    expect(driver.tree.nodes['b']).toMatchObject({ visits: 2, epoch: 1, held: [['x', 0]] });
    expect(driver.plan.settledFields(driver.number('b'), toY)).toEqual({
      fired: ['y'],
      epoch: 1,
      held: [
        ['x', 0],
        ['y', 1],
      ],
    });
    const other = drive(lines, { b: ['a', 'x'] });
    finish(other, ['x']);
    expect(other.tree.nodes['b']).toMatchObject({ fired: ['x'], held: [['x', 1]] });
    const otherToY = other.graph.edges.filter((edge) => edge.key === 'y');
    const now = other.plan.settledFields(other.number('b'), otherToY);
    expect(now).toEqual({ fired: ['y'], epoch: 1, held: [['y', 1]] });
    Object.assign(other.tree.nodes['b'] ?? {}, { fired: now.fired, held: now.held });
    expect(other.reload().start.map(({ node }) => node)).toEqual([other.number('y')]);
  });

  it('C1 the back edge of a simple loop costs its record nothing but its key', () => {
    const driver = drive(['START > a', 'a > b', 'b > a x'], { b: ['a', 'x'] });
    finish(driver, ['x']);
    expect(Object.keys(driver.tree.nodes['b'] ?? {}).sort()).toEqual(['epoch', 'fired', 'held', 'status', 'visits']);
    expect(driver.tree.nodes['b']?.held).toEqual([['x', 1]]);
    expect(driver.tree.nodes['a']?.held).toBeUndefined();
  });
});

describe('the plan at its edges', { timeout: 60_000 }, () => {
  it('E1 an empty frame starts START alone', () => {
    const graph = graphOf(['START > a b']);
    expect(createPlan(graph, emptyFrame()).initial()).toEqual({
      start: [{ node: 0, visit: 1, took: undefined }],
      loops: [],
      epoch: undefined,
      cancel: [],
    });
  });

  it('E1 records of nodes and edges the graph does not know are passed over', () => {
    const frame = emptyFrame();
    frame.nodes[START] = { status: 'completed', fired: ['a', 'gone'] };
    frame.nodes['ghost'] = { status: 'completed', fired: [] };
    frame.loops = { ghost: { since: 3, round: 2, heads: ['ghost'] } };
    const plan = createPlan(graphOf(['START > a b']), frame);
    expect(plan.initial().start.map(({ node }) => node)).toEqual([2]);
    expect(plan.skippedNodes()).toEqual(['b']);
  });

  it('G1 ids such as `__proto__` are only ids', () => {
    const graph = graphOf(['START > __proto__', '__proto__ > constructor', 'constructor > END']);
    const frame = { ...emptyFrame(), nodes: {} };
    const plan = createPlan(graph, frame);
    expect(plan.initial().start).toEqual([{ node: 0, visit: 1, took: undefined }]);
    const fire = (node: number): readonly GraphEdge[] => graph.nodes[node]?.outgoing ?? [];
    expect(plan.settle(0, fire(0)).start).toEqual([{ node: 2, visit: 1, took: undefined }]);
    expect(plan.settle(2, fire(2)).start).toEqual([{ node: 3, visit: 1, took: undefined }]);
  });

  it('G4 a chain of 10,000 loops and a skip down 10,000 nodes need no deep stack', () => {
    const lines = Array.from({ length: 10_000 }, (_, index) => `n${index} > n${index} n${index + 1}`);
    const graph = graphOf(['START > n0', ...lines]);
    const plan = createPlan(graph, emptyFrame());
    plan.initial();
    plan.settle(0, []);
    expect(plan.isDone).toBe(true);
    expect(plan.skippedNodes()).toHaveLength(10_001);
    const run = createPlan(graph, emptyFrame());
    let step = run.initial();
    for (let next = step.start[0]; next !== undefined && next.node < graph.nodes.length - 1; next = step.start[0]) {
      step = run.settle(next.node, graph.nodes[next.node]?.outgoing.filter((edge) => edge.backOf === undefined) ?? []);
    }
    expect(run.isOrdered({ node: 'n0', epoch: 0 }, graph.nodes.length - 1)).toBe(true);
  });
});
