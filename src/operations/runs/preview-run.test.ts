/** A preview has an etag, and whoever does what it showed is told if it would go otherwise by now. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { openCairn } from '../../app/open-cairn.ts';
import type { Cairn } from '../../app/cairn.ts';

let cwd = '';
let cairn: Cairn;
beforeEach(async () => {
  cwd = mkdtempSync(join(tmpdir(), 'cairn-preview-'));
  writeFileSync(
    join(cwd, 'ask.yaml'),
    'name: ask\ninputs: { who: { type: str, default: ann } }\nblocks:\n  - { id: first, type: EchoBlock, inputs: { message: "${inputs.who}" } }\n  - { id: q, type: Prompt, depends_on: [first], inputs: { prompt: "Go?" } }\n  - { id: last, type: EchoBlock, depends_on: [q], inputs: { message: hi } }\n',
  );
  cairn = await openCairn({ cwd, store: 'runs.db' });
  await cairn.run({ file: 'ask.yaml', runId: 'r' });
});
afterEach(async () => {
  await cairn.close();
  rmSync(cwd, { recursive: true, force: true });
});

test('a preview that is asked for again has the same etag, and another one where anything would go otherwise', async () => {
  const { etag } = await cairn.preview({ checkpoint: 'r' });
  expect((await cairn.preview({ checkpoint: 'r', retry: false })).etag).toBe(etag);
  const others = await Promise.all([
    cairn.preview({ checkpoint: 'r', asFork: true }),
    cairn.preview({ checkpoint: 'r', budget: { usd: 1 } }),
    cairn.preview({ checkpoint: 'r@0' }),
    cairn.preview({ checkpoint: 'r@0', set: { 'input.who': 'bob' } }),
    cairn.preview({ checkpoint: 'r@0', set: { 'input.who': 'eve' } }),
  ]);
  expect(new Set([etag, ...others.map((each) => each.etag)]).size).toBe(6);
});

test('a resume that expects a preview is refused once an answer was posted since, and does what the new preview says', async () => {
  const { etag } = await cairn.preview({ checkpoint: 'r' });
  await cairn.answer({ run: 'r', value: 'yes' });
  const refused = (await cairn.resume({ run: 'r', expect: etag }).catch((error: unknown) => error)) as {
    readonly code: string;
    readonly data: { readonly preview: { readonly etag: string } };
  };
  expect(refused.code).toBe('PREVIEW_CHANGED');
  expect(await cairn.inspect({ run: 'r' })).toMatchObject({ status: 'paused' });
  expect(await cairn.resume({ run: 'r', expect: refused.data.preview.etag })).toMatchObject({ status: 'completed' });
});

test('a fork that expects a preview is made if it has the same changes, of the head only while it is the head', async () => {
  const changed = { checkpoint: 'r@0', set: { 'input.who': 'bob' } };
  const { etag } = await cairn.preview(changed);
  await expect(cairn.fork({ checkpoint: 'r@0', expect: etag })).rejects.toMatchObject({ code: 'PREVIEW_CHANGED' });
  await expect(cairn.fork({ ...changed, expect: etag, runId: 'f' })).resolves.toMatchObject({ fork: { runId: 'f' } });

  const ofHead = await cairn.preview({ checkpoint: 'r', asFork: true });
  await cairn.answer({ run: 'r', value: 'yes' });
  await cairn.resume({ run: 'r' });
  await expect(cairn.fork({ checkpoint: 'r', expect: ofHead.etag, runId: 'g' })).rejects.toMatchObject({
    code: 'PREVIEW_CHANGED',
  });
  await expect(cairn.inspect({ run: 'g' })).rejects.toMatchObject({ code: 'RUN_NOT_FOUND' });
});
