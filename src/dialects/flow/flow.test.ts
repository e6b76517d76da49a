import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { flow, NodeFailure, type NodeContext } from '../../index.ts';
import { createMemoryStore } from '../../stores/memory/index.ts';
import { crashEverywhere } from '../../testing/crash-kit/crash-everywhere.ts';
import type { CrashProcess } from '../../testing/crash-kit/process-life.ts';

const violationsOf = (compile: () => unknown): readonly string[] => {
  try {
    compile();
  } catch (error) {
    const { violations } = (error as { data: { violations: readonly { message: string; fix: string; place: string }[] } }).data; // prettier-ignore
    return violations.map(({ message, fix, place }) => `${message}; ${fix}; ${/flow\.test\.ts:\d+$/.test(place)}`);
  }
  return [];
};
const throwing = (): never => {
  throw new NodeFailure('no disk', { code: 'DISK' });
};

describe('G13 what runs', () => {
  test('a node starts when all that it needs has ended, and gets the input with their outputs', async () => {
    const seen: unknown[] = [];
    const report = flow('report', {
      write: { run: ({ input }) => (seen.push(input), 'text'), needs: ['fetch', 'check'] },
      fetch: { run: () => [1, 2] },
      check: { run: ({ input }) => (seen.push(input), { ok: true }), needs: ['fetch'] },
    });
    const result = await report.compile().invoke({ topic: 'tides' });
    expect(seen).toEqual([
      { topic: 'tides', fetch: [1, 2] },
      { topic: 'tides', fetch: [1, 2], check: { ok: true } },
    ]);
    expect(result.status).toBe('completed');
    expect(result.nodes).toEqual({
      write: { status: 'completed', input: { topic: 'tides', fetch: [1, 2], check: { ok: true } }, output: 'text' },
      fetch: { status: 'completed', input: { topic: 'tides' }, output: [1, 2] },
      check: { status: 'completed', input: { topic: 'tides', fetch: [1, 2] }, output: { ok: true } },
    });
  });

  test('an input that is no object stands under `input`, and a node may say what its input is', async () => {
    const made = flow(
      'f',
      {
        a: { run: ({ input }) => input },
        b: { run: ({ input }) => input, needs: ['a'] },
        c: { run: ({ input }) => input, needs: ['b'], input: ({ state }) => state.outputs['a'] },
      },
      { input: z.string() },
    );
    const { nodes } = await made.compile().invoke('x');
    expect([nodes.a.output, nodes.b.output, nodes.c.output, nodes.c.input]).toEqual([
      'x',
      { input: 'x', a: 'x' },
      'x',
      'x',
    ]);
  });

  test('a need whose condition does not hold skips the node and what needs it', async () => {
    const made = flow('f', {
      a: { run: () => 5 },
      big: { run: () => 'big', needs: [{ node: 'a', when: ({ outcome }) => outcome.status === 'completed' && outcome.output > 10 }] }, // prettier-ignore
      after: { run: () => 'after', needs: ['big'] },
      small: { run: () => 'small', needs: [{ node: 'a', when: ({ outcome }) => outcome.status === 'completed' && outcome.output <= 10 }] }, // prettier-ignore
    });
    const { status, nodes } = await made.compile().invoke({});
    expect([status, nodes.big.status, nodes.after.status, nodes.small.output]).toEqual(['completed', 'skipped', 'skipped', 'small']); // prettier-ignore
  });
});

describe('G13 what fails', () => {
  test('a node’s error as JSON has code and message, also where the error thrown has no code', async () => {
    const lost = (): never => {
      throw new RangeError('lost', { cause: new Error('no route') });
    };
    const { nodes, state } = await flow('f', { a: { run: lost }, b: { run: throwing } })
      .compile()
      .invoke({});
    expect(nodes.a.error).toBeInstanceOf(Error);
    const error = { name: 'RangeError', code: 'NODE_FAILED', message: 'lost', cause: { name: 'Error', message: 'no route' } }; // prettier-ignore
    expect(JSON.parse(JSON.stringify(nodes))).toMatchObject({ a: { error }, b: { error: { code: 'DISK' } } });
    const { code: _, ...thrown } = error;
    expect(JSON.parse(JSON.stringify(state.failures)).a).toEqual(thrown);
  });

  test('a node that fails stops what needs it, the rest ends, the run fails, and a resume does only what is left', async () => {
    const ran: string[] = [];
    let isBroken = true;
    const made = flow('f', {
      a: { run: () => (isBroken ? throwing() : (ran.push('a'), 1)) },
      b: { run: () => ran.push('b'), needs: ['a'] },
      s1: { run: () => ran.push('s1') },
      s2: { run: () => ran.push('s2'), needs: ['s1'] },
    });
    const graph = made.compile({ store: createMemoryStore() });
    const failed = await graph.invoke({});
    expect(ran).toEqual(['s1', 's2']);
    expect(failed.status).toBe('failed');
    expect(failed.nodes.a).toMatchObject({ status: 'failed', input: {}, error: { message: 'no disk', code: 'DISK' } });
    expect(JSON.parse(JSON.stringify(failed.nodes.a))).toMatchObject({ error: { message: 'no disk', code: 'DISK' } });
    expect(JSON.parse(JSON.stringify(failed.state.failures))).toMatchObject({
      a: { message: 'no disk', code: 'DISK' },
    });
    expect(failed.nodes.b).toEqual({ status: 'pending' });
    isBroken = false;
    expect(await graph.resume()).toMatchObject({ status: 'completed', nodes: { a: { output: 1 } } });
    expect(ran).toEqual(['s1', 's2', 'a', 'b']);
  });

  test('a failure that is returned lets what needs the node start, and is no failure of the run', async () => {
    const made = flow('f', {
      a: { run: throwing, onFailure: 'return' },
      b: { run: ({ input, state }) => [input, state.failures['a']?.message], needs: ['a'] },
      good: { run: () => 1, needs: [{ node: 'a', when: ({ outcome }) => outcome.status === 'completed' }] },
      lonely: { run: throwing, onFailure: 'return' },
    });
    const { status, nodes } = await made.compile().invoke({ n: 1 });
    expect(status).toBe('completed');
    expect([nodes.a.status, nodes.lonely.status, nodes.good.status]).toEqual(['failed', 'failed', 'skipped']);
    expect(nodes.b.output).toEqual([{ n: 1 }, 'no disk']);
  });

  test('a node that needs the failure of another runs in its place', async () => {
    const made = flow('f', {
      a: { run: throwing },
      mend: { run: () => 'mended', needs: [{ node: 'a', on: 'failed' }] },
    });
    const { status, nodes } = await made.compile().invoke({});
    expect([status, nodes.mend.output]).toEqual(['completed', 'mended']);
  });

  test('a node is tried again as its retry says', async () => {
    let tries = 0;
    const made = flow('f', {
      a: { run: () => ((tries += 1) < 3 ? throwing() : tries), retry: { attempts: 3, delayMs: 1 } },
    });
    expect((await made.compile().invoke({})).nodes.a.output).toBe(3);
  });

  test('a node that gives nothing is completed all the same, while the run waits and after its end', async () => {
    const made = flow('f', {
      tidy: { run: () => undefined },
      after: { run: ({ input }) => Object.keys(input as object), needs: ['tidy'] },
      ask: { run: (ctx) => ctx.ask({ prompt: 'Go?' }), effectClass: 'human' },
      last: { run: () => undefined, needs: ['ask'] },
    }).compile();
    const paused = await made.invoke({});
    const tidied = { status: 'completed', input: {}, output: undefined };
    expect(paused.nodes).toMatchObject({ tidy: tidied, after: { output: [] }, last: { status: 'pending' } });
    expect((await made.inspect(paused.runId)).nodes.tidy).toEqual(tidied);
    const { status, nodes } = await made.resume(paused.runId, { answers: { ask: 'yes' } });
    expect([status, nodes.tidy, nodes.last.status]).toEqual(['completed', tidied, 'completed']);
  });

  test('a need whose condition gives no true or false is told by its two nodes', async () => {
    const made = flow('f', {
      a: { run: () => 1 },
      b: { run: () => 2, needs: [{ node: 'a', when: () => 'yes' as never }] },
    });
    const { error } = await made.compile().invoke({});
    expect(error?.message).toBe('node a failed: a condition of a -> b failed: a -> b gives string, not true or false');
  });

  test('a run that waits tells which nodes wait', async () => {
    const made = flow('f', {
      ask: { run: (ctx) => ctx.ask({ prompt: 'Go?' }), effectClass: 'human' },
      next: { run: () => 1, needs: ['ask'] },
    });
    const { status, nodes } = await made.compile().invoke({});
    expect([status, nodes.ask.status, nodes.next.status]).toEqual(['paused', 'waiting', 'pending']);
  });
});

describe('G13 what is refused, all at once, with place and fix', () => {
  test('an empty flow', () => {
    expect(violationsOf(() => flow('f', {}).compile())[0]).toBe(
      'flow f has no nodes; add one: { name: { run: work } }; true',
    );
  });

  test('a cycle, once, by its way', () => {
    const cyclic = flow('f', {
      a: { run: () => 1, needs: ['c'] },
      b: { run: () => 1, needs: ['a'] },
      c: { run: () => 1, needs: ['b'] },
      own: { run: () => 1, needs: ['own'] },
    });
    const reported = violationsOf(() => cyclic.compile());
    expect(reported).toHaveLength(2);
    expect(reported[0]).toMatch(/^flow f has a cycle: a needs c needs b needs a; take one of these needs away/);
    expect(reported[1]).toMatch(/^flow f has a cycle: own needs own/);
  });

  test('an unknown name, with the nearest; a name twice; an unknown option; no work', () => {
    const nodes: Record<string, object> = {
      fetch: { run: () => 1 },
      a: { run: () => 1, needs: ['fetsh'] },
      b: { run: () => 1, needs: ['fetch', 'fetch'], retri: {} },
      c: { run: 'text', onFailure: 'raise' },
      d: { run: () => 1, needs: [{ node: 'fetch', if: () => true }] },
    };
    const reported = violationsOf(() => flow('f', nodes as never).compile()).join('\n');
    expect(reported).toContain(
      'node a needs fetsh, which the flow does not have; did you mean fetch? it has fetch, a, b, c, d; true',
    );
    expect(reported).toContain('node b needs fetch twice');
    expect(reported).toContain('node b has no option retri; did you mean retry?');
    expect(reported).toContain('node c is neither a function nor what a node builder returns');
    expect(reported).toContain('node c: onFailure "raise" is not known');
    expect(reported).toContain('a need of node d has no option if');
  });

  test('a need of an outcome that cannot come', () => {
    const nodes: Record<string, object> = {
      a: { run: () => 1 },
      b: { run: () => 1, needs: [{ node: 'a', on: 'fail' }] },
      c: { run: () => 1, needs: [{ node: 'a', on: 'rejected' }] },
    };
    expect(violationsOf(() => flow('f', nodes as never).compile())).toEqual([
      'node b needs a on "fail", which is not known; use one of: completed, failed, any, rejected; true',
      "node c needs that a is rejected, and nobody is asked; give a an approval: { prompt: '…' }; true",
    ]);
  });

  test('a flow of ten thousand nodes in a line compiles', () => {
    const nodes = Object.fromEntries(
      Array.from({ length: 10_000 }, (_, at) => [`n${at}`, { run: () => 1, ...(at > 0 && { needs: [`n${at - 1}`] }) }]),
    );
    expect(flow('f', nodes as never).toGraph().nodes).toHaveLength(10_002);
  });
});

test('P1 killed at every point, a flow with effects and a node that fails ends the same way', async () => {
  const made = (process: CrashProcess) => {
    const acts = async (ctx: NodeContext): Promise<string> => {
      await process.sleep(1);
      process.oracle.apply({ key: ctx.idempotencyKey, place: ctx.nodeId, promise: 'once', output: ctx.nodeId });
      return ctx.nodeId;
    };
    const effect = {
      run: acts,
      effectClass: 'external',
      reconcile: ({ idempotencyKey }: { readonly idempotencyKey: string }) => process.oracle.reconcile(idempotencyKey),
    } as const;
    return flow('f', {
      bad: { run: throwing },
      never: { ...effect, needs: ['bad'] },
      returned: { run: throwing, onFailure: 'return' },
      one: { ...effect, needs: ['returned'] },
      two: { ...effect, needs: ['one'] },
      ask: { run: (ctx) => ctx.ask({ prompt: 'Go?' }), effectClass: 'human' },
      three: { ...effect, needs: ['ask', 'two'] },
    }).toGraph();
  };
  const report = await crashEverywhere(
    { graph: made, input: {}, mayFail: true, answer: () => 'yes' },
    { open: (now) => ({ store: createMemoryStore({ now }) }) },
  );
  expect(report.trials).toBeGreaterThan(10);
  expect(report.faults).toEqual([]);
});
