/** Secrets as nodes ask for them, and what a run keeps of it: names. */
import { expect, test } from 'vitest';
import {
  afterCrash,
  createBench,
  edges,
  graphOf,
  node,
  resumeToRest,
  rowOf,
  runToRest,
} from '../../../test/engine-kit.ts';
import type { NodeContext } from '../../graph/contracts/node-contract.ts';
import { loadState } from '../../history/load/load.ts';
import type { Secrets } from '../../ports/secrets.ts';

/** A vault that answers later. */
function vaultOf(values: Map<string, string>): Secrets & { readonly asked: string[] } {
  const asked: string[] = [];
  const read = async (name: string): Promise<string | undefined> => {
    asked.push(name);
    await Promise.resolve();
    return values.get(name);
  };
  return { asked, read };
}

const graph = graphOf(
  'g',
  [
    node('a', 'read', async (ctx: NodeContext) => {
      const values = await Promise.all([ctx.secrets.get('B'), ctx.secrets.get('A'), ctx.secrets.get('B')]);
      return { length: values.join('').length, 'x-private-note': values[0], deep: { code: values[1], kept: 1 } };
    }),
    node('b', 'human', (ctx) => ctx.receive('go')),
  ],
  edges('> a', 'a > b', 'b >'),
);

test('N6.1 N6.2 a secret may come later; the run keeps its name, its history no value, and no value that a rule keeps out of the store', async () => {
  const secrets = vaultOf(
    new Map([
      ['A', 'planted-a'],
      ['B', 'planted-b'],
    ]),
  );
  const bench = createBench({
    secrets,
    redact: { store: ['x_private_note', 'outputs.a.deep.code', 'inputs.card.*.pin'] },
  });
  const given = {
    'X-Private-Note': 'hidden',
    deep: { code: 'kept' },
    card: [{ pin: 'hidden', no: 1 }],
    pin: 'kept',
    password: 'kept',
  };
  const { state } = await runToRest(bench.engine, graph, given, 'r');
  expect(state.outputs['a']).toEqual({
    length: 27,
    'x-private-note': '[redacted]',
    deep: { code: '[redacted]', kept: 1 },
  });
  expect(state.input).toEqual({ ...given, 'X-Private-Note': '[redacted]', card: [{ pin: '[redacted]', no: 1 }] });
  const run = await rowOf(bench, 'r');
  const { root } = await loadState(bench.store, bench.options.blobs, run);
  expect(root.secrets).toEqual(['A', 'B']);
  const rows = await bench.store.readCheckpoints({ tenant: 'default', runId: 'r' }, { from: 0, to: run.head });
  const stored = rows.map(({ body }) => Buffer.from(body).toString('latin1')).join('');
  expect(stored).toContain('"secrets"');
  expect(stored).not.toMatch(/planted|hidden/u);
});

test('N6.3 a resume looks up the secrets that the run has asked for, before anything else, and is refused without them', async () => {
  const values = new Map([
    ['A', 'planted-a'],
    ['B', 'planted-b'],
  ]);
  const secrets = vaultOf(values);
  const bench = createBench({ secrets });
  await runToRest(bench.engine, graph, {}, 'r');
  const seq = (await rowOf(bench, 'r')).head;
  values.delete('B');
  const engine = afterCrash(bench);
  await engine.signal('r', 'go', 1);
  await expect(engine.resume('r', { graph })).rejects.toMatchObject({ code: 'SECRET_MISSING', data: { name: 'B' } });
  expect(await rowOf(bench, 'r')).toMatchObject({ head: seq, status: 'paused' });
  expect((await rowOf(bench, 'r')).claim).toBeUndefined();
  values.set('B', 'another');
  secrets.asked.length = 0;
  expect((await resumeToRest(engine, 'r', graph)).status).toBe('completed');
  expect(secrets.asked).toEqual(['A', 'B']);
});

test('N6.1 a source that fails is told by the kind of its failure alone, and the attempt may be made again', async () => {
  let isUp = false;
  const read = (): string => {
    if (isUp) return 'value';
    throw Object.assign(new Error('vault says: planted-token'), { code: 'EVAULT' });
  };
  const bench = createBench({ secrets: { read } });
  const small = graphOf('s', [node('a', 'read', (ctx) => ctx.secrets.get('A'))], edges('> a', 'a >'));
  const failed = await runToRest(bench.engine, small, {}, 'r');
  const cause = failed.state.failures['a'];
  expect(cause).toMatchObject({ code: 'SECRET_UNAVAILABLE', data: { name: 'A', reason: 'EVAULT' } });
  expect(JSON.stringify([failed, cause?.message, cause?.cause])).not.toContain('planted');
  await expect(bench.engine.resume('r', { graph: small })).rejects.toMatchObject({ code: 'SECRET_UNAVAILABLE' });
  isUp = true;
  expect((await resumeToRest(bench.engine, 'r', small)).status).toBe('completed');
});
