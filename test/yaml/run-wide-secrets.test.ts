/** A secret that one block was given and another one meets: masked in all that comes back (N6.4). */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import type { StreamEvent } from '../../src/engine/api.ts';
import { outputsOf, yamlBench } from '../yaml-bench.ts';

const folder = mkdtempSync(join(tmpdir(), 'cairn-run-wide-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
const planted = 'hunter2-planted/6f1c';
const secrets = { read: (name: string) => (name === 'K' ? planted : '7') };

test('N6.4 what one block writes to a file another one prints masked: plain, encoded, in pieces as it comes, and when it fails', async () => {
  const bench = yamlBench([], { secrets });
  const text = `name: w
secrets: [K, TINY]
blocks:
  - { id: a, type: Shell, effect: read, inputs: { command: 'printf %s "$K" > ${folder}/k', env: { K: "\${secrets.K}", TINY: "\${secrets.TINY}" } } }
  - id: b
    type: Shell
    effect: read
    depends_on: [a]
    inputs:
      command: |
        cat ${folder}/k; echo; base64 < ${folder}/k; (printf x; cat ${folder}/k) | base64; od -An -tx1 < ${folder}/k | tr -d ' \\n'; echo
        printf hunter2-; sleep 0.2; printf plan; sleep 0.2; echo ted/6f1c; echo 7 77 >&2
  - { id: c, type: Shell, effect: read, depends_on: [b], continue_on_error: true, inputs: { command: 'cat ${folder}/k >&2; exit 3' } }
  - { id: d, type: ReadFiles, depends_on: [c], required: false, inputs: { path: ${folder}/k } }
outputs: { b: "\${b.stdout}", err: "\${b.stderr}", c: "\${blocks.c.status}" }
`
    .replace(', required: false', '')
    .replace('depends_on: [c]', 'depends_on: [b]');
  const handle = await bench.engine.start(bench.read(text).graph, {}, { runId: 'r' });
  const seen: StreamEvent[] = [];
  for await (const event of handle.events({ live: true })) seen.push(event);
  const result = await handle.result();
  const outputs = outputsOf(result) as { readonly b: string; readonly err: string };
  const lines = outputs.b.trim().split('\n');
  expect(lines).toHaveLength(5);
  for (const line of lines) expect(line).toContain('[secret:K]');
  expect([lines[0], lines[4]]).toEqual(['[secret:K]', '[secret:K]']);
  // One of a character or two is masked in the block that was given it, and nowhere else.
  expect(outputs.err).toBe('7 77\n');
  const emitted = seen.flatMap((event) =>
    event.type === 'emitted' ? [(event.detail as { readonly text: string }).text] : [],
  );
  expect(emitted.join('')).toContain('[secret:K]');
  const forms = ['base64', 'hex', 'utf8'].map((form) =>
    Buffer.from(planted)
      .toString(form as BufferEncoding)
      .replace(/=+$/u, ''),
  );
  const told = `${JSON.stringify([result, seen])} ${emitted.join('')} ${Object.values(result.state.failures).map(String).join(' ')}`;
  for (const form of [...forms, 'hunter2-', 'planted']) expect(told).not.toContain(form);
  expect(result.state.failures['c']).toMatchObject({ message: expect.stringContaining('[secret:K]') as string });
});
