/** What a run that is over leaves in memory. */
import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { readSources } from '../architecture/sources.ts';

const runScript = (name: string): string =>
  execFileSync(process.execPath, ['--expose-gc', '--no-warnings', join(import.meta.dirname, name)], {
    encoding: 'utf8',
  });

test('E6.9 a timer that a node has left keeps nothing of its run but the label of the attempt', () => {
  const [runs, visits, charges, labels] = JSON.parse(runScript('left-timers.ts')) as readonly number[];
  expect([runs, visits, charges]).toEqual([0, 0, 0]);
  expect(labels).toBe(20);
});

test('E9 a run that is over is freed with the young objects, and not kept until a full collection', () => {
  const bytes = Number(runScript('hold-finished-runs.ts'));
  // What is kept is a line in a cache or two. A run's frame, plan and channels, which one closure too many keeps, are over 15,000 bytes.
  expect(bytes).toBeLessThan(6_000);
  expect(bytes).toBeGreaterThan(-6_000);
});

// V8 puts a function literal that is assigned to a property, and each getter of an object literal, among old objects: what such a
// function can reach is freed by a full collection only. A name for the function before it is assigned is all that is needed.
test('E9 the engine assigns no function literal to a property', () => {
  const sources = readSources(join(import.meta.dirname, '../..'), ['src']).filter(
    ({ path }) => /^src\/(?:engine|state)\//u.test(path) && !path.endsWith('.test.ts'),
  );
  const found = sources.flatMap(({ path, code }) =>
    code
      .split('\n')
      .flatMap((line, index) =>
        /^\s*(?:this|\w+)\.[\w.#]+ (?:\?\?)?= *(?:async )?(?:\([^=]*\)|\w+)(?:: .*)? =>/u.test(line)
          ? [`${path}:${index + 1}`]
          : [],
      ),
  );
  expect(sources.length).toBeGreaterThan(50);
  expect(found).toEqual([]);
});
