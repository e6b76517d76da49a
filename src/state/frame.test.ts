import { inspect } from 'node:util';
import { describe, expect, test } from 'vitest';
import { admit, emptyTree, FrameBench } from '../../test/state/frame-bench.ts';
import { compileChannels } from './channels/run-reducer.ts';
import { DeltaBuilder } from './delta.ts';
import { Frame, plainState, type OpenView } from './frame.ts';

describe('E9 views', () => {
  const bench = (): FrameBench => {
    const made = new FrameBench();
    made.apply('scratch', [
      ['a', { deep: [1] }],
      ['list', [1, 2]],
      ['b', 1],
    ]);
    made.apply('artifacts', [['file', 'f']]);
    made.setNode('n1', { status: 'completed', output: admit('r').value });
    return made;
  };

  test('E9 what is read is recorded: by key, or whole when it is enumerated', () => {
    const { frame } = bench();
    const read = (look: (state: OpenView['state']) => unknown): readonly string[] => {
      const view = frame.openView();
      look(view.state);
      return view.reads();
    };
    expect(read(() => 0)).toEqual([]);
    expect(read(({ scratch }) => [scratch['list'], scratch['a'], 'gone' in scratch])).toEqual([
      'scratch.a',
      'scratch.gone',
      'scratch.list',
    ]);
    expect(read(({ scratch, outputs }) => [scratch['a'], { ...scratch }, outputs['n1']])).toEqual([
      'outputs.n1',
      'scratch',
    ]);
    expect(read(({ artifacts }) => Object.keys(artifacts))).toEqual(['artifacts']);
    expect(read(({ input }) => (input as { topic: string }).topic)).toEqual(['input.topic']);
    expect(read(({ input }) => JSON.stringify(input))).toEqual(['input']);
    expect(read((state) => JSON.stringify(state))).toEqual([
      'artifacts',
      'diagnostics',
      'failures',
      'input',
      'outputs',
      'scratch',
    ]);
    const plain = new Frame(
      { ...emptyTree(), input: [1] },
      ['frame'],
      new DeltaBuilder(),
      compileChannels({}),
      new Map(),
    ).openView();
    expect([plain.state.input, plain.reads()]).toEqual([[1], ['input']]);
  });

  test('E9 a view behaves as a plain frozen object', () => {
    const { frame } = bench();
    const { state } = frame.openView();
    const { scratch } = state;
    expect(JSON.parse(JSON.stringify(state))).toEqual(JSON.parse(JSON.stringify(plainState(frame))));
    expect(scratch).toEqual({ text: '', $: '', a: { deep: [1] }, list: [1, 2], b: 1 });
    expect(Object.keys({ ...state.artifacts })).toEqual(['file', 'report']);
    expect([
      Object.hasOwn(scratch, 'a'),
      'a' in scratch,
      'toString' in scratch,
      Object.hasOwn(scratch, 'toString'),
    ]).toEqual([true, true, true, false]);
    expect([Object.getPrototypeOf(scratch), scratch === state.scratch]).toEqual([Object.prototype, true]);
    expect(inspect(state)).toBe(inspect(plainState(frame)));
    expect(admit({ copy: scratch }).value).toEqual({ copy: { ...scratch } });
    const writable = scratch as Record<string, unknown> & { a: { deep: number[] }; list: number[] };
    for (const write of [
      () => (writable['b'] = 2),
      () => delete writable['b'],
      () => Object.defineProperty(writable, 'b', { value: 1 }),
      () => Object.setPrototypeOf(writable, null),
      () => Object.freeze(writable),
      () => writable.a.deep.push(2),
      () => writable.list.push(2),
      () => ((state as { scratch: unknown }).scratch = {}),
      () => ((state.input as { topic: string }).topic = 'y'),
    ]) {
      expect(write).toThrow(TypeError);
    }
  });

  test('E9 what a load gives is frozen when it is first read', () => {
    const { scratch } = new FrameBench(bench().fold()).frame.openView().state;
    expect(Object.isFrozen((scratch['a'] as { deep: unknown }).deep)).toBe(true);
    expect(Object.isFrozen(scratch['list'])).toBe(true);
  });

  test('E9 a view that is closed is not read again', () => {
    const view = bench().frame.openView();
    const { scratch } = view.state;
    const list = scratch['list'];
    view.close();
    view.close();
    expect(list).toEqual([1, 2]);
    expect(view.reads()).toEqual(['scratch.list']);
    expect(() => scratch['list']).toThrow(expect.objectContaining({ code: 'NODE_CALL_REFUSED' }));
  });

  test('E9 a list read at the same length is the same object', () => {
    const made = bench();
    const [one, two] = [made.frame.openView(), made.frame.openView()];
    const first = one.state.scratch['list'];
    expect(two.state.scratch['list']).toBe(first);
    made.apply('scratch', [['list', 3]]);
    expect(one.state.scratch['list']).toBe(first);
    expect(made.frame.openView().state.scratch['list']).toEqual([1, 2, 3]);
  });

  test('E9 a list that grows in place does not grow in a view that has not read it yet', () => {
    const made = bench();
    for (let i = 3; i < 6; i++) made.apply('scratch', [['list', i]]);
    const views = [6, 7, 8].map((item) => {
      const view = made.frame.openView();
      made.apply('scratch', [['list', item]]);
      return view;
    });
    expect(views.map(({ state }) => (state.scratch['list'] as unknown[]).length)).toEqual([5, 6, 7]);
    expect(new Set(views.map((view) => view.versions(['scratch.list'])[0]?.[1])).size).toBe(3);
  });

  test('P3 nothing is kept of the past once no view needs it', () => {
    const made = bench();
    const oldest = made.frame.openView();
    for (let i = 0; i < 3_000; i++) {
      const view = made.frame.openView();
      made.apply('scratch', [['b', i]]);
      expect(view.state.scratch['b']).toBe(i === 0 ? 1 : i - 1);
      view.close();
    }
    expect(oldest.state.scratch['b']).toBe(1);
    oldest.close();
    const next = made.frame.openView();
    made.apply('scratch', [['b', 'new']]);
    expect(next.state.scratch['b']).toBe(2_999);
  });
});

describe('X5 versions', () => {
  test('X5 a version is of the value, however it came to be', () => {
    const whole = new FrameBench();
    whole.apply('scratch', [
      ['list', [1, { a: 2 }, 3]],
      ['plain', [1, { a: 2 }, 3]],
    ]);
    const grown = new FrameBench();
    for (const item of [1, { a: 2 }, 3]) {
      grown.frame.versionOf('scratch.list');
      grown.apply('scratch', [['list', item]]);
    }
    expect(grown.frame.versionOf('scratch.list')).toBe(whole.frame.versionOf('scratch.list'));
    expect(whole.frame.versionOf('scratch.plain')).toBe(whole.frame.versionOf('scratch.list'));
  });

  test('X5 what is known of a value goes with the value', () => {
    const made = new FrameBench();
    const { frame } = made;
    const versionOf = (value: unknown): string => {
      made.apply('scratch', [['plain', value]]);
      return frame.versionOf('scratch.plain');
    };
    expect(new Set([[1, 2], [3, 4], [1], [], 'x'].map(versionOf)).size).toBe(5);
    const step = (key: string, output: number): void =>
      frame.setNodeField(
        'n2',
        ['steps', key],
        { kind: 'step', status: 'done', output },
        JSON.stringify({ kind: 'step', status: 'done', output }),
      );
    made.setNode('n2', { status: 'completed', outputOfSteps: true, steps: {} });
    const seen = new Set([frame.versionOf('outputs'), frame.versionOf('outputs.n2')]);
    for (const output of [1, 2]) {
      step('a', output);
      expect(plainState(frame).outputs).toEqual({ n2: [output] });
      seen.add(frame.versionOf('outputs')).add(frame.versionOf('outputs.n2'));
    }
    made.setNode('n3', { status: 'completed', output: 1 });
    expect(seen.add(frame.versionOf('outputs')).size).toBe(7);
  });

  test('X5 places inside channels, names with dots and whole partitions have versions', () => {
    const made = new FrameBench();
    const { frame } = made;
    const absent = frame.versionOf('scratch.stats.count');
    expect(frame.versionOf('outputs.nobody')).toBe(absent);
    made.apply('scratch', [['stats', { count: 1, other: 1 }]]);
    const whole = frame.versionOf('scratch');
    const count = frame.versionOf('scratch.stats.count');
    expect(count).not.toBe(absent);
    made.apply('scratch', [['stats', { count: 1, other: 2 }]]);
    expect(frame.versionOf('scratch.stats.count')).toBe(count);
    expect(frame.versionOf('scratch')).not.toBe(whole);
    made.apply('scratch', [['stats.count', 1]]);
    expect(frame.versionOf('scratch.stats.count')).toBe(count);
    expect(frame.versionOf('input.topic')).toBe(new FrameBench().frame.versionOf('input.topic'));
    for (const name of ['nothing', 'nothing.a', '']) {
      expect(() => frame.versionOf(name)).toThrow(expect.objectContaining({ code: 'STATE_UNKNOWN_CHANNEL' }));
    }
  });

  test('X5 an output under its artifact name has the output’s version, and a written artifact goes before it', () => {
    const made = new FrameBench();
    made.setNode('n1', { status: 'completed', output: 'r' });
    expect(made.frame.versionOf('artifacts.report')).toBe(made.frame.versionOf('outputs.n1'));
    expect(plainState(made.frame).artifacts).toEqual({ report: 'r' });
    made.apply('artifacts', [['report', 'written']]);
    expect(plainState(made.frame).artifacts).toEqual({ report: 'written' });
  });

  test('C1 the output of a failed visit is not shown, that of a map node is put together from its steps', () => {
    const made = new FrameBench();
    made.setNode('n1', { status: 'failed', output: 1 });
    expect(plainState(made.frame).outputs).toEqual({});
    made.setNode('n1', { status: 'started', steps: {} });
    for (const key of ['1', '0'])
      made.frame.setNodeField(
        'n1',
        ['steps', key],
        { kind: 'step', status: 'done', output: key },
        `{"kind":"step","status":"done","output":"${key}"}`,
      );
    made.frame.setNodeField(
      'n1',
      ['steps', '2'],
      { kind: 'step', status: 'failed' },
      '{"kind":"step","status":"failed"}',
    );
    expect(plainState(made.frame).outputs).toEqual({});
    made.frame.setNodeField('n1', 'outputOfSteps', true, 'true');
    made.frame.setNodeField('n1', 'status', 'completed', '"completed"');
    expect(plainState(made.frame).outputs).toEqual({ n1: ['0', '1'] });
  });

  test('C1 a failure is the error of a last visit that failed, as an Error, and what was seen of it stays', () => {
    const made = new FrameBench();
    const before = made.frame.openView();
    const error = Object.assign(new Error('no disk'), { code: 'DISK' });
    made.setNode('n1', { status: 'failed', error: admit(error).value });
    made.setNode('n2', { status: 'cancelled', error: admit(error).value });
    const after = made.frame.openView();
    made.setNode('n1', { status: 'completed', visits: 2, output: 1 });
    expect([Object.keys(before.state.failures), 'n1' in after.state.failures]).toEqual([[], true]);
    expect(after.state.failures['n1']).toEqual(expect.objectContaining({ message: 'no disk', code: 'DISK' }));
    expect(after.state.failures['n1']).toBeInstanceOf(Error);
    expect(Object.keys(after.state.failures)).toEqual(['n1']);
    expect(plainState(made.frame).failures).toEqual({});
    expect(after.reads()).toEqual(['failures']);
    expect(before.versions(['failures.n1'])).not.toEqual(after.versions(['failures.n1']));
  });

  test('C4 places that are not there are refused, or left alone when they are to go', () => {
    const { frame, delta } = new FrameBench();
    const missing = expect.objectContaining({ code: 'INTERNAL' }) as Error;
    expect(() => frame.setNodeField('n1', 'status', 1, '1')).toThrow(missing);
    frame.setNode('n1', { status: 'started' }, '{"status":"started"}');
    expect(() => frame.setNodeField('n1', ['steps', '0'], 1, '1')).toThrow(missing);
    expect(() => frame.deleteNodeField('constructor', 'name')).toThrow(missing);
    delta.take();
    frame.deleteNodeField('n1', 'retryAt');
    frame.deleteField('loops', ['l']);
    frame.deleteField('epoch');
    expect(delta.take()).toBe('[]');
    const bare = new FrameBench({ input: null, channels: {}, nodes: {} });
    bare.apply('scratch', [['list', [1]]]);
    expect(bare.fold()).toEqual({ input: null, channels: { scratch: { list: [1] } }, nodes: {} });
  });
});
