/** Whose texts say which runs are kept. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test, vi } from 'vitest';
import { openFolder } from '../../test/cli/cairn.ts';
import { isInlineText } from '../dialects/text-workflow.ts';

// Processes of a loaded machine start slowly.
vi.setConfig({ testTimeout: 60_000 });

const say = (retention: string): string =>
  `name: say\n${retention}blocks:\n  - { id: say, type: EchoBlock, inputs: { message: hello } }\n`;
const greedy = 'retention: { runs: 1 }\n';

test.each([
  ['nothing', '', ['d', 'c', 'b', 'a']],
  ['some', 'retention: { runs: 3 }\n', ['d', 'c', 'b']],
])('D18.3 an import says nothing of which runs are kept, where the workflow of its name says %s', (_, own, kept) => {
  const [theirs, mine] = [openFolder(), openFolder()];
  theirs.write('say.yaml', say(greedy));
  theirs.cairn('run', 'say.yaml', '--run-id', 'theirs');
  theirs.cairn('export', 'theirs', 'theirs.cairn');
  mine.write('theirs.cairn', readFileSync(join(theirs.path, 'theirs.cairn'), 'utf8'));
  mine.write('say.yaml', say(own));
  for (const id of ['a', 'b', 'c', 'd']) mine.cairn('run', 'say.yaml', '--run-id', id);
  expect(mine.cairn('import', 'theirs.cairn').code).toBe(0);
  mine.cairn('cleanup', '--yes');
  const { runs } = mine.json('ls') as { readonly runs: readonly { readonly runId: string }[] };
  expect(runs.map(({ runId }) => runId).filter((id) => id.length === 1)).toEqual(kept);
});

test('D18.3 it does where no other run has the name, and where a file here has the same text', () => {
  const [theirs, mine] = [openFolder(), openFolder()];
  theirs.write('say.yaml', say(greedy));
  theirs.cairn('run', 'say.yaml', '--run-id', 'theirs');
  theirs.cairn('export', 'theirs', 'theirs.cairn');
  mine.write('theirs.cairn', readFileSync(join(theirs.path, 'theirs.cairn'), 'utf8'));
  for (const _ of ['first', 'second']) mine.cairn('import', 'theirs.cairn');
  expect(mine.cairn('cleanup', '--dry-run').out).toContain('say  would go');
  mine.write('say.yaml', say(''));
  mine.cairn('run', 'say.yaml');
  expect(mine.cairn('cleanup', '--dry-run').out).not.toContain('would go');
  mine.write('say.yaml', say(greedy));
  mine.cairn('import', 'theirs.cairn');
  expect(mine.cairn('cleanup', '--dry-run').out).toContain('say  would go');
});

test('D18.3 a text of a client is told from a file by how it was recorded', () => {
  expect(isInlineText('{"dialect":"yaml","origin":"inline","main":"say"}')).toBe(true);
  expect(isInlineText('{"dialect":"dot","origin":"inline","source":"a.dot"}')).toBe(true);
  expect(isInlineText('{"dialect":"yaml","origin":"file","main":"{\\"origin\\":\\"inline\\"}"}')).toBe(false);
});
