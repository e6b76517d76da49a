import { expect, expectTypeOf, test } from 'vitest';
import { z } from 'zod';
import { CairnError } from '../../errors.ts';
import { NodeFailure } from '../../graph/contracts/node-contract.ts';
import { SecretReference } from '../../graph/secret-reference.ts';
import { failBlock, runBlock } from '../../../test/support/run-block.ts';
import { defineBlock, type BlockDefinition } from './define-block.ts';

const greet = defineBlock({
  name: 'Greet',
  description: 'Greets.',
  inputs: z.object({
    who: z.string().min(2).describe('Whom.'),
    times: z.number().default(1),
    loud: z.boolean().optional(),
  }),
  outputs: z.object({ text: z.string() }),
  effect: 'pure',
  run: ({ who, times, loud }) => {
    expectTypeOf(who).toEqualTypeOf<string>();
    expectTypeOf(loud).toEqualTypeOf<boolean | undefined>();
    return { text: `hi ${who} `.repeat(times) };
  },
});

test('B25 a function and a schema make a block', async () => {
  expect(greet).toMatchObject({
    name: 'Greet',
    effect: 'pure',
    inputs: {
      who: { schema: { type: 'string', minLength: 2 }, description: 'Whom.', isRequired: true },
      times: { schema: { type: 'number' }, isRequired: false, default: 1 },
      loud: { isRequired: false },
    },
    outputs: { text: { schema: { type: 'string' } } },
  });
  expect(await runBlock(greet, { who: 'you' })).toEqual({ text: 'hi you ' });
});

test('B25 JSON Schema does as well', async () => {
  const block = defineBlock({
    name: 'Add',
    description: 'Adds.',
    inputs: { type: 'object', properties: { a: { type: 'number' }, b: { type: 'number' } }, required: ['a', 'b'] },
    outputs: { type: 'object', properties: { sum: { type: 'number' } }, required: ['sum'] },
    run: ({ a, b }) => ({ sum: Number(a) + Number(b) }),
  });
  expect(block.effect).toBe('external');
  expect(await runBlock(block, { a: 1, b: 2 })).toEqual({ sum: 3 });
  expect(await failBlock(block, { a: 1, b: 'x' })).toMatchObject({ code: 'INPUT_INVALID', applied: 'no' });
});

test('B26 inputs that do not fit fail before it runs, an output that does not fit fails after', async () => {
  let runs = 0;
  const block = defineBlock({
    name: 'Wrong',
    description: 'Returns the wrong thing.',
    inputs: z.object({ n: z.number() }),
    outputs: z.object({ n: z.number() }),
    run: () => ({ n: `${(runs += 1)}` }),
  });
  expect(await failBlock(block, { n: 'x' })).toMatchObject({ code: 'INPUT_INVALID', applied: 'no' });
  expect(runs).toBe(0);
  expect(await failBlock(block, { n: 1 })).toMatchObject({ code: 'OUTPUT_INVALID', applied: 'unknown' });
  expect(runs).toBe(1);
});

test('B27 secrets reach it by value, and leave it masked', async () => {
  const secrets = { API: 's3cret-value' };
  const token = new SecretReference([{ secret: 'API' }]);
  const define = (run: BlockDefinition['run']) =>
    defineBlock({
      name: 'Call',
      description: 'Calls.',
      inputs: { type: 'object', properties: { token: { type: 'string' } } },
      outputs: { type: 'object', properties: { said: {} } },
      secretInputs: ['token'],
      run,
    });
  const when = new Date(0);
  const said = define((inputs) => ({ said: [(inputs as { token: string }).token, { when }] }));
  expect(said.inputs['token']).toMatchObject({ takesSecrets: true });
  expect(await runBlock(said, { token }, { secrets })).toEqual({ said: ['[secret:API]', { when }] });
  const kept = define((inputs) => {
    const { token: value } = inputs as { token: string };
    return { said: { [value]: Buffer.from(value) } };
  });
  const bytes = new Uint8Array(Buffer.from('[secret:API]'));
  expect(await runBlock(kept, { token }, { secrets })).toEqual({ said: { '[secret:API]': bytes } });
  const failing = define(() => {
    throw new NodeFailure('no s3cret-value', { code: 'X', applied: 'no', data: { a: 's3cret-value' } });
  });
  const failure = await failBlock(failing, { token }, { secrets });
  expect(JSON.stringify([failure.message, failure.data])).not.toContain('s3cret-value');
  expect(failure).toMatchObject({ code: 'X', applied: 'no' });
  const throwing = define(() => {
    throw new TypeError('no s3cret-value');
  });
  expect((await failBlock(throwing, { token }, { secrets })).message).toBe('no [secret:API]');
});

test('B25 a definition that contradicts itself is refused where it is written', () => {
  const right = { name: 'A', description: 'd', inputs: z.object({}), outputs: z.object({}), run: () => ({}) };
  expect(() => defineBlock(right)).not.toThrow();
  for (const wrong of [
    { name: 'a b' },
    { run: 5 },
    { inputs: z.string() },
    { inputs: { type: 'string' } },
    { outputs: undefined },
    { secretInputs: ['x'] },
    { effekt: 'pure' },
    { inputs: { '~standard': { version: 1, vendor: 'other', validate: () => ({ value: {} }) } } },
  ])
    expect(() => defineBlock({ ...right, ...wrong } as never)).toThrow(CairnError);
});
