import { expect, test } from 'vitest';
import type { NodeFailure } from '../../graph/contracts/node-contract.ts';
import { createFakeContext } from '../../testing/node-suite/fake-context.ts';
import { fileNode, httpNode, shellNode, toolNode, type NodeDraft } from '../builders.ts';

const breaks = (): never => {
  throw new RangeError('not yet');
};
const drafts: readonly NodeDraft[] = [
  toolNode({ name: 't', execute: () => 1 }, { args: { a: breaks } }),
  shellNode({ command: ['true', breaks] }),
  httpNode({ method: 'POST', url: breaks }),
  fileNode({ action: 'write', path: 'x', content: breaks }),
];

test.for(drafts)('X3 what fails while the configuration is read had no effect: $type', async (draft) => {
  const failure = await Promise.resolve(draft.implementation.run(createFakeContext())).catch(
    (error: unknown) => error as NodeFailure,
  );
  expect(failure).toMatchObject({
    applied: 'no',
    code: 'ARGUMENT_INVALID',
    message: 'not yet',
    cause: expect.any(RangeError) as unknown,
  });
});
