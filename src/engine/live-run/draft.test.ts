/** What a draft tells the store of a run's waits. */
import { expect, test } from 'vitest';
import type { RunTree, WaitRecord } from '../../state/tree.ts';
import { Draft } from './draft.ts';

const wait: WaitRecord = { kind: 'signal', node: ['hear'], name: 'paid' };

test('S3 a wait that was written, is opened again and is closed in one checkpoint is closed in the store too', () => {
  const root = { waits: {} } as unknown as RunTree;
  const draft = new Draft({ tenant: 'default', runId: 'r' }, root);
  draft.openWait('w', wait);
  expect(draft.take().index?.openWaits).toMatchObject([{ waitId: 'w' }]);
  draft.openWait('w', { ...wait, overdueAt: 5 });
  draft.closeWait('w');
  expect(draft.take().index).toEqual({ closeWaits: ['w'] });
  expect(root.waits).toEqual({});
});
