/** What a run that is over leaves in memory. */
import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { readSources } from '../architecture/sources.ts';

test('E9 a run that is over is freed with the young objects, and not kept until a full collection', () => {
  const script = join(import.meta.dirname, 'hold-finished-runs.ts');
  const printed = execFileSync(process.execPath, ['--expose-gc', '--no-warnings', script], {
    encoding: 'utf8',
  });
  const bytesPerRun = Number(printed);
  // What is kept is a line in a cache or two. A run's frame, plan and channels, which one closure too many keeps, are over 15,000 bytes.
  expect(bytesPerRun).toBeLessThan(6_000);
  expect(bytesPerRun).toBeGreaterThan(-6_000);
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
