import { isDeepStrictEqual } from 'node:util';
import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { keys, objectOf, stateValues } from '../../test/state/arbitrary-value.ts';
import { admit, FrameBench } from '../../test/state/frame-bench.ts';
import { decodeJson } from './values/revive.ts';
import { encodeValue } from './values/encode.ts';
import { plainState, type OpenView } from './frame.ts';
import { getOwn, setOwn } from './values/plain-object.ts';
import type { FrameTree, NodeRecord } from './tree.ts';

/** The state a tree stands for, written down independently of the frame. */
function stateOf(tree: FrameTree): Record<string, unknown> {
  const outputs: Record<string, unknown> = {};
  const failures: Record<string, unknown> = {};
  for (const [id, record] of Object.entries(tree.nodes)) {
    if (record.status === 'failed') setOwn(failures, id, record.error);
    if (record.outputOfSteps === true && record.status === 'completed') {
      const done = Object.values(record.steps ?? {}).filter(({ status }) => status === 'done');
      setOwn(
        outputs,
        id,
        done.map(({ output }) => output),
      );
    } else if (record.outputOfSteps !== true && 'output' in record && record.status !== 'failed') {
      setOwn(outputs, id, record.output);
    }
  }
  const { scratch, artifacts, diagnostics } = tree.channels;
  const named = Object.hasOwn(outputs, 'n1') ? { report: outputs['n1'] } : {};
  const state = {
    input: tree.input,
    scratch,
    artifacts: { ...artifacts, ...(Object.hasOwn(artifacts ?? {}, 'report') ? {} : named) },
    diagnostics,
    outputs,
    failures,
  };
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
  fc.tuple(
    fc.constant('obj'),
    fc.dictionary(keys, fc.oneof(fc.integer(), fc.dictionary(keys, fc.constantFrom('s', 1), { maxKeys: 2 })), {
      maxKeys: 2,
    }),
  ),
  fc.tuple(fc.constant('sum'), fc.integer({ min: -3, max: 3 })),
  fc.tuple(
    fc.constant('nest'),
    fc.record(
      {
        items: fc.oneof(fc.array(fc.integer(), { maxLength: 2 }), fc.integer()),
        mean: fc.integer(),
        other: stateValues,
      },
      { requiredKeys: [] },
    ),
  ),
  fc.tuple(fc.constant('custom'), stateValues),
  fc.tuple(fc.constantFrom('plain', '__proto__', 'toString', 'report'), stateValues),
);

const nodeIds = fc.constantFrom('n1', 'n2', '__proto__', '$');
type Command = (bench: FrameBench, views: Map<OpenView, Record<string, unknown>>) => void;

const records: fc.Arbitrary<NodeRecord> = fc.oneof(
  fc.record(
    { status: fc.constantFrom('completed', 'failed', 'waiting', 'started'), output: stateValues },
    { requiredKeys: ['status'] },
  ),
  stateValues.map((error): NodeRecord => ({ status: 'failed', error })),
  fc.constant({}).map((): NodeRecord => ({ status: 'started', steps: {} })),
);

const commands: fc.Arbitrary<Command> = fc.oneof(
  {
    weight: 5,
    arbitrary: fc
      .tuple(fc.constantFrom('scratch', 'artifacts', 'diagnostics'), fc.array(updates, { maxLength: 3 }))
      .map(([partition, given]): Command => (bench) => {
        bench.apply(partition, partition === 'scratch' ? [...new Map(given)] : given);
      }),
  },
  {
    weight: 2,
    arbitrary: fc.tuple(nodeIds, records).map(([id, record]): Command => (bench) => {
      bench.setNode(id, {
        ...record,
        ...('output' in record ? { output: admit(record.output).value } : {}),
        ...('error' in record ? { error: admit(record.error).value } : {}),
        ...(record.steps === undefined ? {} : { steps: {} }),
      });
    }),
  },
  {
    weight: 3,
    arbitrary: fc.tuple(nodeIds, keys, stateValues).map(([id, step, output]): Command => ({ frame }) => {
      const record = getOwn(frame.tree.nodes, id) as NodeRecord | undefined;
      if (record?.steps === undefined) return;
      const done = { kind: 'step', status: 'done', output: admit(output).value };
      frame.setNodeField(id, ['steps', step], done, encodeValue(done));
      if (Object.keys(record.steps).length < 3) return;
      frame.setNodeField(id, 'outputOfSteps', true, 'true');
      frame.setNodeField(id, 'status', 'completed', '"completed"');
      frame.deleteNodeField(id, ['steps', step]);
    }),
  },
  {
    weight: 1,
    arbitrary: fc
      .tuple(fc.constantFrom('loops', 'writers', 'aux'), keys, stateValues)
      .map(([field, key, value]): Command => ({ frame }) => {
        const { value: own, json } = admit(value);
        frame.setField(field, [key, 'in'], own, json);
        frame.setField('epoch', [], 3, '3');
        frame.deleteField('loops', [key]);
      }),
  },
  {
    weight: 3,
    arbitrary: fc.constant<Command>(({ frame }, views) => {
      views.set(frame.openView(), stateOf(frame.tree));
    }),
  },
  {
    weight: 2,
    arbitrary: fc.nat().map((pick): Command => (_bench, views) => {
      const view = [...views.keys()][pick % Math.max(views.size, 1)];
      if (view === undefined) return;
      views.delete(view);
      view.close();
    }),
  },
  {
    weight: 2,
    arbitrary: fc.nat().map((pick): Command => (_bench, views) => {
      const entry = [...views][pick % Math.max(views.size, 1)];
      if (entry !== undefined && !isDeepStrictEqual(shownBy(entry[0]), entry[1])) throw new Error('a view has changed');
    }),
  },
);

describe('C4 E9 the live frame against a model', () => {
  test('C4 the recorded ops lead from the tree before to the tree after', () => {
    fc.assert(
      fc.property(fc.array(fc.array(commands, { maxLength: 8 }), { maxLength: 4 }), (groups) => {
        const bench = new FrameBench();
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
        let bench = new FrameBench();
        const views = new Map<OpenView, Record<string, unknown>>();
        all.forEach((run, index) => {
          if (isLoaded && index === 10) bench = new FrameBench(bench.fold());
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
    const names = [
      'scratch.list',
      'scratch.union',
      'scratch.nest',
      'scratch.__proto__',
      'scratch.custom',
      'artifacts.report',
      'outputs.n1',
      'outputs.$',
      'failures.n1',
      'failures.__proto__',
      'input.list',
      'scratch.nothing',
    ];
    fc.assert(
      fc.property(fc.array(commands, { maxLength: 20 }), (all) => {
        const bench = new FrameBench();
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
        const loaded = new FrameBench(bench.fold()).frame;
        for (const name of [...names, 'scratch', 'outputs', 'failures', 'artifacts', 'input'])
          expect(loaded.versionOf(name)).toBe(bench.frame.versionOf(name));
      }),
      { numRuns: 200 },
    );
  });
});
