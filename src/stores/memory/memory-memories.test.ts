import { describe, test } from 'vitest';
import { memoriesSuite } from '../../testing/memories-suite.ts';
import { createMemoryMemories } from './memory-memories.ts';

describe('memories in memory', () => {
  memoriesSuite({ test, create: () => createMemoryMemories() });
});
