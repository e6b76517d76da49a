import { describe, test } from 'vitest';
import { blobSuite } from '../testing/blob-suite.ts';
import { createMemoryBlobs } from './memory-blobs.ts';

describe('blobs in memory', () => {
  blobSuite({
    test,
    create: () => {
      let now = 1_700_000_000_000;
      return {
        blobs: createMemoryBlobs(() => now),
        advance: (byMs) => {
          now += byMs;
        },
      };
    },
  });
});
