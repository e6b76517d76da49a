/** The test suite that every adapter of the memory port must pass (A41, A42). */
import assert from 'node:assert/strict';
import type { Memories, MemoryOwner } from '../ports/memories.ts';
import { refuseUnknownKeys } from '../graph/known-keys.ts';

export interface MemoriesSuiteOptions {
  /** Registers one test; the `test` function of your test runner. */
  readonly test: (title: string, run: () => Promise<void>) => unknown;
  /** Makes an empty adapter. It is closed when the test has ended. */
  readonly create: () => Memories | Promise<Memories>;
}

/** Registers the tests. Titles begin with the rule they prove. */
export function memoriesSuite(options: MemoriesSuiteOptions): void {
  refuseUnknownKeys('memoriesSuite', options, ['test', 'create']);
  const { test, create } = options;
  for (const [title, run] of Object.entries(tests)) {
    test(title, async () => {
      const memories = await create();
      try {
        await run(memories);
      } finally {
        await memories.close();
      }
    });
  }
}

const ada: MemoryOwner = { user: 'ada', session: 'one' };

async function contentsOf(memories: Memories, owner: MemoryOwner, query = {}): Promise<readonly string[]> {
  return (await memories.read(owner, query)).map(({ content }) => content);
}

const tests: Readonly<Record<string, (memories: Memories) => Promise<void>>> = {
  'A41 the newest entries are read, oldest of them first, with their time': async (memories) => {
    await memories.write(ada, ['a', 'b'], '1');
    await memories.write(ada, ['c'], '2');
    assert.deepEqual(await contentsOf(memories, ada), ['a', 'b', 'c']);
    assert.deepEqual(await contentsOf(memories, ada, { limit: 2 }), ['b', 'c']);
    assert.deepEqual(await contentsOf(memories, ada, { limit: 0 }), []);
    for (const { at } of await memories.read(ada)) assert.ok(Number.isSafeInteger(at) && at > 0);
  },
  'A41 a text is sought in entries, letter case aside': async (memories) => {
    await memories.write(ada, ['Likes Ärmel', 'likes tea', '100%', 'a_b', 'axb'], '1');
    assert.deepEqual(await contentsOf(memories, ada, { text: 'LIKES' }), ['Likes Ärmel', 'likes tea']);
    assert.deepEqual(await contentsOf(memories, ada, { text: 'ärmel' }), ['Likes Ärmel']);
    assert.deepEqual(await contentsOf(memories, ada, { text: '0%' }), ['100%']);
    assert.deepEqual(await contentsOf(memories, ada, { text: 'a_b' }), ['a_b']);
  },
  'A41 no user and no session sees what is of another, whatever the names are': async (memories) => {
    const owners = [
      ada,
      { user: 'ada', session: 'two' },
      { user: 'bob', session: 'one' },
      { user: 'ada","one', session: '' },
      { user: '', session: "x' OR '1'='1" },
    ];
    for (const [index, owner] of owners.entries()) await memories.write(owner, [`of ${index}`], 'same key');
    for (const [index, owner] of owners.entries()) assert.deepEqual(await contentsOf(memories, owner), [`of ${index}`]);
    await memories.forget(ada);
    assert.deepEqual(await contentsOf(memories, ada), []);
    assert.deepEqual(await contentsOf(memories, owners[1] as MemoryOwner), ['of 1']);
  },
  'A42 a write under a key that was used changes nothing, also where it holds something else': async (memories) => {
    await memories.write(ada, ['a', 'b'], 'k');
    await memories.write(ada, ['a', 'b'], 'k');
    await memories.write(ada, ['c'], 'k');
    await Promise.all([memories.write(ada, ['d'], 'l'), memories.write(ada, ['d'], 'l')]);
    assert.deepEqual(await contentsOf(memories, ada), ['a', 'b', 'd']);
  },
  'A41 many entries and long ones are kept': async (memories) => {
    const contents = Array.from({ length: 500 }, (_, index) => `${index} ${'x'.repeat(1_000)}`);
    await memories.write(ada, contents, '1');
    assert.deepEqual(await contentsOf(memories, ada, { limit: 1_000 }), contents);
    assert.equal((await memories.read(ada)).length, 20);
  },
};
