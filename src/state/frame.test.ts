import { isDeepStrictEqual } from 'node:util';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { keys, objectOf, stateValues } from '../../test/arbitraries/state-value.ts';
import type { Reducer } from '../graph/graph.ts';
import { compileChannels } from './channel-table.ts';
import { admitValue, decodeJson, encodeValue, type Admitted } from './codec.ts';
import { applyDelta, DeltaBuilder, reviveTree } from './delta.ts';
import { Frame, plainState, type OpenView } from './frame.ts';
import { getOwn, setOwn } from './plain.ts';
import type { FrameTree, NodeRecord } from './tree.ts';

const limits = { valueBytes: 1_000_000, valueDepth: 100 };
const admit = (value: unknown): Admitted => admitValue(value, [], limits);

const reducers: Readonly<Record<string, Reducer>> = {
  'scratch.list': 'append',
  'scratch.text': 'append',
  'scratch.union': 'union',
  'scratch.obj': 'merge',
  'scratch.sum': 'sum',
  'scratch.$': 'append',
  'scratch.nest.items': 'append',
  'scratch.nest.mean': 'avg',
  'scratch.custom': { name: 'add', reduce: (current, update) => [...((current ?? []) as unknown[]), update] },
  'artifacts.log': 'append',
};
const outputNames = new Map([['report', 'n1']]);
const path = ['frame', 'nodes', 'a', 'children', '$', 'x'];

/** A frame deep in a run's tree, and the same tree as a load would fold it from the deltas. */
class Bench {
  readonly delta = new DeltaBuilder();
  readonly frame: Frame;
  readonly #folded: Record<string, unknown>;
  #hasTags = false;

  constructor(tree: FrameTree = emptyTree()) {
    this.frame = new Frame(tree, path, this.delta, compileChannels(reducers), outputNames);
    this.#folded = JSON.parse(encodeValue(rooted(tree))) as Record<string, unknown>;
    this.#hasTags = true;
  }

  apply(partition: string, entries: readonly (readonly [string, unknown])[]): void {
    this.frame.applyUpdates({ [partition]: objectOf(entries.map(([key, value]) => [key, admit(value)])) as Record<string, Admitted> }); // prettier-ignore
  }

  setNode(nodeId: string, record: NodeRecord): void {
    this.frame.setNode(nodeId, record, encodeValue(record));
  }

  /** The tree as it is read back from the store. */
  fold(): FrameTree {
    const text = this.delta.take();
    if (text.includes('"$":')) this.#hasTags = true;
    applyDelta(this.#folded, JSON.parse(text) as readonly unknown[]);
    let at: unknown = reviveTree(structuredClone(this.#folded), this.#hasTags);
    for (const key of path) at = (at as Record<string, unknown>)[key];
    return at as FrameTree;
  }
}

function emptyTree(): FrameTree {
  return {
    input: { topic: 'x', list: [1] },
    channels: { scratch: { text: '', $: '' }, artifacts: {}, diagnostics: {} },
    nodes: {},
  };
}

function rooted(tree: FrameTree): unknown {
  return [...path].reverse().reduce<unknown>((inner, key) => ({ [key]: inner }), tree);
}

/** The state a tree stands for, written down independently of the frame. */
function stateOf(tree: FrameTree): Record<string, unknown> {
  const outputs: Record<string, unknown> = {};
  for (const [id, record] of Object.entries(tree.nodes)) {
    if (record.outputOfSteps === true && record.status === 'completed') {
      const done = Object.values(record.steps ?? {}).filter(({ status }) => status === 'done');
      setOwn(outputs, id, done.map(({ output }) => output)); // prettier-ignore
    } else if (record.outputOfSteps !== true && 'output' in record && record.status !== 'failed') {
      setOwn(outputs, id, record.output);
    }
  }
  const { scratch, artifacts, diagnostics } = tree.channels;
  const named = Object.hasOwn(outputs, 'n1') ? { report: outputs['n1'] } : {};
  const state = { input: tree.input, scratch, artifacts: { ...artifacts, ...(Object.hasOwn(artifacts ?? {}, 'report') ? {} : named) }, diagnostics, outputs }; // prettier-ignore
  return decodeJson(encodeValue(state)) as Record<string, unknown>;
}

/** All that a view shows, by its own keys. */
function shownBy({ state }: OpenView): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(state).map(([name, part]) => [
      name,
      name === 'input' ? part : objectOf(Object.entries(part as object)),
    ]),
  );
}

const updates = fc.oneof(
  fc.tuple(fc.constant('list'), fc.oneof(fc.array(stateValues, { maxLength: 3 }), fc.integer())),
  fc.tuple(fc.constantFrom('text', '$'), fc.constantFrom('a', '"b', '')),
  fc.tuple(fc.constant('union'), fc.array(fc.integer({ min: 0, max: 4 }), { maxLength: 3 })),
  fc.tuple(fc.constant('obj'), fc.dictionary(keys, fc.oneof(fc.integer(), fc.dictionary(keys, fc.constantFrom('s', 1), { maxKeys: 2 })), { maxKeys: 2 })), // prettier-ignore
  fc.tuple(fc.constant('sum'), fc.integer({ min: -3, max: 3 })),
  fc.tuple(fc.constant('nest'), fc.record({ items: fc.oneof(fc.array(fc.integer(), { maxLength: 2 }), fc.integer()), mean: fc.integer(), other: stateValues }, { requiredKeys: [] })), // prettier-ignore
  fc.tuple(fc.constant('custom'), stateValues),
  fc.tuple(fc.constantFrom('plain', '__proto__', 'toString', 'report'), stateValues),
);

const nodeIds = fc.constantFrom('n1', 'n2', '__proto__', '$');
type Command = (bench: Bench, views: Map<OpenView, Record<string, unknown>>) => void;

const records: fc.Arbitrary<NodeRecord> = fc.oneof(
  fc.record({ status: fc.constantFrom('completed', 'failed', 'waiting', 'started'), output: stateValues }, { requiredKeys: ['status'] }), // prettier-ignore
  fc.constant({}).map((): NodeRecord => ({ status: 'started', steps: {} })),
) as fc.Arbitrary<NodeRecord>;

const commands: fc.Arbitrary<Command> = fc.oneof(
  { weight: 5, arbitrary: fc.tuple(fc.constantFrom('scratch', 'artifacts', 'diagnostics'), fc.array(updates, { maxLength: 3 })).map(([partition, given]): Command => (bench) => { // prettier-ignore
    bench.apply(partition, partition === 'scratch' ? [...new Map(given)] : given);
  }) }, // prettier-ignore
  { weight: 2, arbitrary: fc.tuple(nodeIds, records).map(([id, record]): Command => (bench) => {
    bench.setNode(id, { ...record, ...('output' in record ? { output: admit(record.output).value } : {}), ...(record.steps === undefined ? {} : { steps: {} }) }); // prettier-ignore
  }) }, // prettier-ignore
  { weight: 3, arbitrary: fc.tuple(nodeIds, keys, stateValues).map(([id, step, output]): Command => ({ frame }) => {
    const record = getOwn(frame.tree.nodes, id) as NodeRecord | undefined;
    if (record?.steps === undefined) return;
    const done = { kind: 'step', status: 'done', output: admit(output).value };
    frame.setNodeField(id, ['steps', step], done, encodeValue(done));
    if (Object.keys(record.steps).length < 3) return;
    frame.setNodeField(id, 'outputOfSteps', true, 'true');
    frame.setNodeField(id, 'status', 'completed', '"completed"');
    frame.deleteNodeField(id, ['steps', step]);
  }) }, // prettier-ignore
  { weight: 1, arbitrary: fc.tuple(fc.constantFrom('loops', 'writers', 'aux'), keys, stateValues).map(([field, key, value]): Command => ({ frame }) => { // prettier-ignore
    const { value: own, json } = admit(value);
    frame.setField(field as 'loops', [key, 'in'], own, json);
    frame.setField('epoch', [], 3, '3');
    frame.deleteField('loops', [key]);
  }) }, // prettier-ignore
  { weight: 3, arbitrary: fc.constant<Command>(({ frame }, views) => {
    views.set(frame.openView(), stateOf(frame.tree));
  }) }, // prettier-ignore
  { weight: 2, arbitrary: fc.nat().map((pick): Command => (_bench, views) => {
    const view = [...views.keys()][pick % Math.max(views.size, 1)];
    if (view === undefined) return;
    views.delete(view);
    view.close();
  }) }, // prettier-ignore
  { weight: 2, arbitrary: fc.nat().map((pick): Command => (_bench, views) => {
    const entry = [...views][pick % Math.max(views.size, 1)];
    if (entry !== undefined) expect(isDeepStrictEqual(shownBy(entry[0]), entry[1])).toBe(true);
  }) }, // prettier-ignore
);

describe('C4 E9 the live frame against a model', () => {
  test('C4 the recorded ops lead from the tree before to the tree after', () => {
    fc.assert(
      fc.property(fc.array(fc.array(commands, { maxLength: 8 }), { maxLength: 4 }), (groups) => {
        const bench = new Bench();
        for (const group of groups) {
          for (const run of group) run(bench, new Map());
          expect(encodeValue(bench.fold())).toBe(encodeValue(bench.frame.tree));
        }
        expect(isDeepStrictEqual(plainState(bench.frame), stateOf(bench.frame.tree))).toBe(true);
      }),
      { numRuns: 300 },
    );
  });

  test('E9 a view shows the state as it was when it opened, whatever happens since', () => {
    fc.assert(
      fc.property(fc.array(commands, { maxLength: 40 }), fc.boolean(), (all, isLoaded) => {
        let bench = new Bench();
        const views = new Map<OpenView, Record<string, unknown>>();
        all.forEach((run, index) => {
          if (isLoaded && index === 10) bench = new Bench(bench.fold());
          run(bench, views);
        });
        for (const [view, expected] of views) expect(isDeepStrictEqual(shownBy(view), expected)).toBe(true);
      }),
      { numRuns: 400 },
    );
  });

  test('X5 versions are equal exactly when the encodings are: now, in views, after a load', () => {
    const versions = new Map<string, string>();
    const encodings = new Map<string, string>();
    const check = (name: string, version: string, part: unknown, key: string): void => {
      const encoding = Object.hasOwn(part as object, key) ? encodeValue(getOwn(part as object, key)) : 'absent';
      expect([name, versions.get(encoding) ?? version]).toEqual([name, version]);
      expect([name, encodings.get(version) ?? encoding]).toEqual([name, encoding]);
      versions.set(encoding, version);
      encodings.set(version, encoding);
    };
    const names = ['scratch.list', 'scratch.union', 'scratch.nest', 'scratch.__proto__', 'scratch.custom', 'artifacts.report', 'outputs.n1', 'outputs.$', 'input.list', 'scratch.nothing']; // prettier-ignore
    fc.assert(
      fc.property(fc.array(commands, { maxLength: 20 }), (all) => {
        const bench = new Bench();
        const views = new Map<OpenView, Record<string, unknown>>();
        const checkAll = (state: Record<string, unknown>, versionOf: (name: string) => string): void => {
          for (const name of names) {
            const [area, key] = name.split('.') as [string, string];
            check(name, versionOf(name), state[area], key);
          }
        };
        for (const run of all) {
          run(bench, views);
          checkAll(stateOf(bench.frame.tree), (name) => bench.frame.versionOf(name));
        }
        for (const [view, state] of views) checkAll(state, (name) => view.versions([name])[0]?.[1] as string);
        const loaded = new Bench(bench.fold()).frame;
        for (const name of [...names, 'scratch', 'outputs', 'artifacts', 'input'])
          expect(loaded.versionOf(name)).toBe(bench.frame.versionOf(name));
      }),
      { numRuns: 200 },
    );
  });
});

describe('E9 views', () => {
  const bench = (): Bench => {
    const made = new Bench();
    made.apply('scratch', [['a', { deep: [1] }], ['list', [1, 2]], ['b', 1]]); // prettier-ignore
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
    expect(read(({ scratch }) => [scratch['list'], scratch['a'], 'gone' in scratch])).toEqual(['scratch.a', 'scratch.gone', 'scratch.list']); // prettier-ignore
    expect(read(({ scratch, outputs }) => [scratch['a'], { ...scratch }, outputs['n1']])).toEqual([
      'outputs.n1',
      'scratch',
    ]);
    expect(read(({ artifacts }) => Object.keys(artifacts))).toEqual(['artifacts']);
    expect(read(({ input }) => (input as { topic: string }).topic)).toEqual(['input.topic']);
    expect(read(({ input }) => JSON.stringify(input))).toEqual(['input']);
    expect(read((state) => JSON.stringify(state))).toEqual(['artifacts', 'diagnostics', 'input', 'outputs', 'scratch']);
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
    expect([Object.hasOwn(scratch, 'a'), 'a' in scratch, 'toString' in scratch, Object.hasOwn(scratch, 'toString')]).toEqual([true, true, true, false]); // prettier-ignore
    expect([Object.getPrototypeOf(scratch), `${String(scratch)}`, scratch === state.scratch]).toEqual([
      Object.prototype,
      '[object Object]',
      true,
    ]);
    expect(admitValue({ copy: scratch }, [], limits).value).toEqual({ copy: { ...scratch } });
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
    const { scratch } = new Bench(bench().fold()).frame.openView().state;
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
    const whole = new Bench();
    whole.apply('scratch', [['list', [1, { a: 2 }, 3]], ['plain', [1, { a: 2 }, 3]]]); // prettier-ignore
    const grown = new Bench();
    for (const item of [1, { a: 2 }, 3]) {
      grown.frame.versionOf('scratch.list');
      grown.apply('scratch', [['list', item]]);
    }
    expect(grown.frame.versionOf('scratch.list')).toBe(whole.frame.versionOf('scratch.list'));
    expect(whole.frame.versionOf('scratch.plain')).toBe(whole.frame.versionOf('scratch.list'));
  });

  test('X5 places inside channels, names with dots and whole partitions have versions', () => {
    const made = new Bench();
    const { frame } = made;
    const absent = frame.versionOf('scratch.stats.count');
    expect(frame.versionOf('outputs.nobody')).toBe(absent);
    made.apply('scratch', [['stats', { count: 1, other: 1 }]]); // prettier-ignore
    const whole = frame.versionOf('scratch');
    const count = frame.versionOf('scratch.stats.count');
    expect(count).not.toBe(absent);
    made.apply('scratch', [['stats', { count: 1, other: 2 }]]); // prettier-ignore
    expect(frame.versionOf('scratch.stats.count')).toBe(count);
    expect(frame.versionOf('scratch')).not.toBe(whole);
    made.apply('scratch', [['stats.count', 1]]);
    expect(frame.versionOf('scratch.stats.count')).toBe(count);
    expect(frame.versionOf('input.topic')).toBe(new Bench().frame.versionOf('input.topic'));
    for (const name of ['nothing', 'nothing.a', '']) {
      expect(() => frame.versionOf(name)).toThrow(expect.objectContaining({ code: 'STATE_UNKNOWN_CHANNEL' }));
    }
  });

  test('X5 an output under its artifact name has the output’s version, and a written artifact goes before it', () => {
    const made = new Bench();
    made.setNode('n1', { status: 'completed', output: 'r' });
    expect(made.frame.versionOf('artifacts.report')).toBe(made.frame.versionOf('outputs.n1'));
    expect(plainState(made.frame).artifacts).toEqual({ report: 'r' });
    made.apply('artifacts', [['report', 'written']]);
    expect(plainState(made.frame).artifacts).toEqual({ report: 'written' });
  });

  test('C1 the output of a failed visit is not shown, that of a map node is put together from its steps', () => {
    const made = new Bench();
    made.setNode('n1', { status: 'failed', output: 1 });
    expect(plainState(made.frame).outputs).toEqual({});
    made.setNode('n1', { status: 'started', steps: {} });
    for (const key of ['1', '0']) made.frame.setNodeField('n1', ['steps', key], { kind: 'step', status: 'done', output: key }, `{"kind":"step","status":"done","output":"${key}"}`); // prettier-ignore
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

  test('C4 places that are not there are refused, or left alone when they are to go', () => {
    const { frame, delta } = new Bench();
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
    const bare = new Bench({ input: null, channels: {}, nodes: {} });
    bare.apply('scratch', [['list', [1]]]);
    expect(bare.fold()).toEqual({ input: null, channels: { scratch: { list: [1] } }, nodes: {} });
  });
});
