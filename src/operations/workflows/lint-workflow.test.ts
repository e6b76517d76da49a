import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { openApp } from '../../app/open-app.ts';
import { lintWorkflow } from './lint-workflow.ts';

const yaml = (limit: string): string =>
  `name: w\nlimit: linted-desk\nblocks: [{ id: a, type: Shell, limit: ${limit}, inputs: { command: 'true' } }]\n`;
const dot = (limit: string): string =>
  `digraph w { limit="${limit}"; start [shape=Mdiamond]; done [shape=Msquare]; a [shape=parallelogram, tool_command="true"]; start -> a -> done }`;

test('FL12 a limit that nothing defines here is told by lint, before a run comes to it', async () => {
  const cwd = mkdtempSync(join(tmpdir(), 'lint-limits-'));
  const limits = { 'linted-desk': { concurrency: 1 }, 'linted-provider': { concurrency: 2 } };
  writeFileSync(join(cwd, 'cairn.config.json'), JSON.stringify({ limits }));
  const app = await openApp({ cwd, storeUrl: 'memory:' });
  for (const [source, textOf, place] of [
    ['w.yaml', yaml, 'node a'],
    ['w.dot', dot, 'graph w'],
  ] as const) {
    expect(await lintWorkflow.run(app, { text: textOf('linted-provider'), source })).toEqual({
      isValid: true,
      violations: [],
    });
    const { isValid, violations } = await lintWorkflow.run(app, { text: textOf('linted-provder'), source });
    expect([isValid, violations]).toEqual([
      true,
      [
        {
          rule: 'limit_unknown',
          severity: 'warning',
          place,
          message: 'no limit linted-provder is defined here',
          fix: 'did you mean linted-provider? define it under `limits` in the configuration, or in code that every worker loads',
        },
      ],
    ]);
  }
  await app.close();
});
