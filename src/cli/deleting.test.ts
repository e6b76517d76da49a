/** The command line as a process: what commands that delete ask, and what they do where nobody can be asked. */
import { randomBytes } from 'node:crypto';
import { expect, test, vi } from 'vitest';
import { openFolder, type Folder } from '../../test/cli/cairn.ts';
import { hasTerminals, inTerminal } from '../../test/cli/terminal.ts';

// Processes of a loaded machine start slowly.
vi.setConfig({ testTimeout: 60_000 });

const greet = `name: greet
checkpoint: { max_per_workflow: 1, auto_cleanup: false }
blocks:
  - { id: hello, type: EchoBlock, inputs: { message: hello } }
  - { id: again, type: EchoBlock, depends_on: [hello], inputs: { message: again } }
`;

/** A folder with a run `r` that has checkpoints to spare. */
function openWithRun(): Folder {
  const folder = openFolder();
  folder.write('greet.yaml', greet);
  expect(folder.cairn('run', 'greet.yaml', '--run-id', 'r').code).toBe(0);
  return folder;
}

const commands: readonly (readonly [readonly string[], RegExp, RegExp, RegExp])[] = [
  [
    ['prune', 'r'],
    /^r {2}\d checkpoints would be pruned/,
    /◆ {2}Prune \d checkpoints\? This cannot be undone\./,
    /pruned/,
  ],
  [['rm', 'r'], /^r {2}would be removed\n$/, /◆ {2}Remove 1 run\? This cannot be undone\./, /^removed r\n$/],
  [
    ['cleanup'],
    /^r greet {2}at most \d checkpoints would be pruned\n$/,
    /◆ {2}Prune at most \d checkpoints\? This cannot be undone\./,
    /pruned/,
  ],
];

test.each(commands)(
  'D22 %j is refused where nobody can be asked, shows what would go with --dry-run, and deletes with --yes',
  (command, plan, _question, done) => {
    const folder = openWithRun();
    const before = folder.cairn('log', 'r', '--json').out;
    const refused = folder.cairn(...command);
    expect([refused.code, refused.out, refused.err]).toEqual([
      2,
      '',
      'cairn: what is deleted is gone for good, and nobody can be asked here [USAGE_INVALID]\nSee what would go with --dry-run, and delete with --yes.\n',
    ]);
    expect(folder.cairn(...command, '--dry-run').out).toMatch(plan);
    expect(folder.cairn('log', 'r', '--json').out).toBe(before);
    expect(folder.cairn(...command, '--yes').out).toMatch(done);
    expect(folder.cairn('log', 'r', '--json').out).not.toBe(before);
  },
);

test.runIf(hasTerminals).each(commands)(
  'D22 %j shows in a terminal what would go, and asks; no is the default',
  async (command, _plan, question, done) => {
    const folder = openWithRun();
    const before = folder.cairn('log', 'r', '--json').out;
    const asked = inTerminal(folder, ...command);
    await asked.shows(question);
    asked.type('\r');
    const declined = await asked.ended();
    expect(declined.shown).toMatch(/r .*would be (?:pruned|removed)[^]*Nothing was changed\.\n$/);
    expect(declined.code).toBe(0);
    expect(folder.cairn('log', 'r', '--json').out).toBe(before);
    const agreed = inTerminal(folder, ...command);
    await agreed.shows(question);
    agreed.type('y');
    expect((await agreed.ended()).shown.split('\n').slice(-2).join('\n')).toMatch(done);
    expect(folder.cairn('log', 'r', '--json').out).not.toBe(before);
  },
);

test.runIf(hasTerminals)('D22 in a terminal Ctrl-C deletes nothing, and --yes asks nothing', async () => {
  const folder = openWithRun();
  const stopped = inTerminal(folder, 'rm', 'r');
  await stopped.shows(/Remove 1 run\?/);
  stopped.type('\u0003');
  expect((await stopped.ended()).shown).toMatch(/Stopped: nothing was changed\.\n$/);
  expect(await inTerminal(folder, 'rm', 'r', '--yes').ended()).toMatchObject({ code: 0, shown: 'removed r\n' });
});

test('D22 a clean-up gives room back where it is asked to, says how much, and by itself only that there is some', async () => {
  const folder = openFolder();
  const list = Array.from(
    { length: 40 },
    (_, index) => `{ id: b${index}, type: EchoBlock, inputs: { message: "\${inputs.text}" } }`,
  );
  folder.write(
    'wide.yaml',
    `name: wide\ninputs: { text: { type: string } }\nblocks:\n${list.map((block) => `  - ${block}\n`).join('')}`,
  );
  const runs = ['r', 's', 't'];
  for (const runId of runs) {
    const text = randomBytes(7_000).toString('hex');
    expect(folder.cairn('run', 'wide.yaml', '--run-id', runId, '--input', `text=${text}`).code).toBe(0);
  }
  for (const runId of runs) folder.cairn('rm', runId, '--yes');
  expect(folder.cairn('cleanup', '--yes').err).toMatch(
    /free, for what is written later\.\nTo give them back: cairn cleanup --vacuum\n/,
  );
  expect(folder.cairn('cleanup', '--vacuum', '--dry-run').out).toMatch(
    /^\d\.\d MiB would be given back; the store takes \d\.\d MiB now\n$/,
  );
  expect(folder.cairn('cleanup', '--vacuum', '--yes').out).toMatch(
    /^\d\.\d MiB given back; the store takes \d+\.\d KiB\n$/,
  );
  expect(folder.json('cleanup', '--vacuum', '--yes')).toMatchObject({ freedBytes: 0, space: { freeBytes: 0 } });
});

test('D22 a dry run of rm names the forks that would go too, and refuses as the removal does', () => {
  const folder = openWithRun();
  folder.cairn('fork', 'r@1', '--run-id', 'f');
  expect(folder.cairn('rm', 'r', '--dry-run').err).toMatch(/\[HISTORY_HAS_FORKS\]/);
  expect(folder.json('rm', 'r', '--with-forks', '--dry-run')).toEqual({ removed: ['f', 'r'], blobs: 0 });
  expect(folder.cairn('rm', 'r', '--with-forks', '--yes').out).toBe('removed f\nremoved r\n');
});
