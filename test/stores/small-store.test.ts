/** The suite holds for a store that somebody else writes, on a clock that does not stand still. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { storeSuite } from '../../src/testing/index.ts';
import { createSmallStore } from './small-store.ts';

describe('a store of a user', () => {
  storeSuite({
    test,
    create: () => {
      let aheadMs = 0;
      const advance = (byMs: number): void => void (aheadMs += byMs);
      return { store: createSmallStore(() => Date.now() + aheadMs), advance };
    },
    supports: { pruning: false, removal: false, tags: false, limits: false },
  });
});

const source = readFileSync(join(import.meta.dirname, 'small-store.ts'), 'utf8');

test('S2 the guide shows the store that the suite was run over, whole', () => {
  const page = readFileSync(join(import.meta.dirname, '../../docs/guide/own-store.md'), 'utf8');
  const [, shown = ''] = /^```ts file=small-store\.ts\n(.*?)^```$/msu.exec(page) ?? [];
  const withoutHead = (text: string): string => text.slice(text.indexOf('import {'));
  expect(withoutHead(shown)).toBe(
    withoutHead(source)
      .replace('../../src/index.ts', 'cairn-workflows')
      .replace('../../src/store.ts', 'cairn-workflows/store'),
  );
  expect(shown.split('\n').length).toBeLessThan(450);
});

test('S2 a store is written from what the package shows, and nothing else', () => {
  const imports = [...source.matchAll(/from '([^']+)'/g)].map(([, from]) => from);
  expect(imports).toEqual(['../../src/index.ts', '../../src/store.ts']);
});
