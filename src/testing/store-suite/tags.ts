/** Tests of tags. */

import assert from 'node:assert/strict';
import { commitMany, expectCode, keyOf, startRun } from './examples.ts';
import type { SuitePart } from './suite.ts';

export const tagsTests: SuitePart = {
  needs: 'tags',
  unsupported: {
    'S2 tags are refused by name': async ({ store }) => {
      await startRun(store, 'run');
      await expectCode(store.tagCheckpoint(keyOf('run'), { name: 't', seq: 0 }), 'STORE_UNSUPPORTED');
    },
  },
  tests: {
    'H1 a tag names a checkpoint, and moves when it is set again': async ({ store }) => {
      const claim = await startRun(store, 'run');
      await commitMany(store, claim, 1, 5);
      await store.tagCheckpoint(keyOf('run'), { name: 'good', seq: 2 });
      await store.tagCheckpoint(keyOf('run'), { name: 'best', seq: 3 });
      await store.tagCheckpoint(keyOf('run'), { name: 'good', seq: 5 });
      assert.deepEqual(await store.readTags(keyOf('run')), [
        { name: 'best', seq: 3 },
        { name: 'good', seq: 5 },
      ]);
    },

    'H1 a tag that is removed is gone, and may be removed again': async ({ store }) => {
      await startRun(store, 'run');
      await store.tagCheckpoint(keyOf('run'), { name: 'good', seq: 0 });
      // A store need not tell it with the row; what it tells is true.
      assert.notEqual((await store.readRun(keyOf('run')))?.hasTags, false);
      await store.removeTag(keyOf('run'), 'good');
      await store.removeTag(keyOf('run'), 'good');
      await store.removeTag(keyOf('none'), 'good');
      assert.deepEqual(await store.readTags(keyOf('run')), []);
      assert.notEqual((await store.readRun(keyOf('run')))?.hasTags, true);
    },

    'H1 a tag of a checkpoint that is not there is refused': async ({ store }) => {
      await startRun(store, 'run');
      await expectCode(store.tagCheckpoint(keyOf('run'), { name: 't', seq: 1 }), 'CHECKPOINT_NOT_FOUND');
      await expectCode(store.tagCheckpoint(keyOf('none'), { name: 't', seq: 0 }), 'CHECKPOINT_NOT_FOUND');
      assert.deepEqual(await store.readTags(keyOf('run')), []);
    },

    'H1 one name in two runs is two tags': async ({ store }) => {
      await startRun(store, 'one');
      await startRun(store, 'two');
      await store.tagCheckpoint(keyOf('one'), { name: 't', seq: 0 });
      assert.deepEqual(await store.readTags(keyOf('two')), []);
    },
  },
};
