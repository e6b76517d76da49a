import { expect, test } from 'vitest';
import { failBlock, runBlock } from '../../../test/support/run-block.ts';
import { createNodeTypes } from './index.ts';
import { echoBlock } from './echo-block.ts';

test('B14 it says what it is told', async () => {
  expect(await runBlock(echoBlock, { message: 'hello', delay_ms: '1' })).toEqual({
    echoed: 'Echo: hello',
    execution_time_ms: expect.any(Number),
  });
  expect(await runBlock(echoBlock, { message: 5 })).toMatchObject({ echoed: 'Echo: 5' });
});

test('N5 it ends when it is aborted', async () => {
  const abort = new AbortController();
  const failed = failBlock(echoBlock, { message: 'x', delay_ms: 600_000 }, { signal: abort.signal });
  abort.abort(new Error('over'));
  expect(await failed).toMatchObject({ name: 'AbortError' });
});

test('B1 every built-in block has a name of its own, a description, and described fields', () => {
  const types = createNodeTypes();
  expect(new Set(types.map(({ name }) => name)).size).toBe(types.length);
  for (const { name, description, inputs, outputs } of types) {
    expect(name).toMatch(/^[A-Z][A-Za-z]+$/);
    const texts = [description, ...Object.values(inputs).map((field) => field.description)];
    expect([...texts, ...Object.values(outputs).map((field) => field.description)]).not.toContain('');
  }
});
