/** The command line as a process: starting, answering, resuming, stopping. */
import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { expect, test, vi } from 'vitest';
import { until, within } from '../../test/support/awaited.ts';
import { openFolder, releaseGraph } from '../../test/cli/cairn.ts';

interface Logged {
  readonly seq: number;
  readonly change: readonly { readonly kind: string; readonly node?: readonly string[] }[];
}

// Processes of a loaded machine start slowly.
vi.setConfig({ testTimeout: 60_000 });

test('H1 a run stops at its question, is answered and goes on; its write happens once', () => {
  const folder = openFolder();
  const started = folder.cairn(
    'run',
    releaseGraph,
    '--run-id',
    'r1',
    '--input',
    'topic=cairns',
    '--input',
    `folder=${folder.path}`,
  );
  expect(started.code).toBe(0);
  expect(started.out).toMatch(
    /^paused r1@\d+, 1 open\n\napprove\n {2}Publish these notes\?\n {2}choices: yes, no\n {2}cairn answer r1 w_\w+ yes\n\nThen go on: cairn resume r1\n$/,
  );
  expect(started.err).toMatch(/✓ read +completed {2}\d+ ms\n.*✓ draft +completed/s);

  expect(folder.cairn('inbox').out).toMatch(/^approve · release, \d+ s\n {2}Publish these notes\?\n/);
  const refused = folder.cairn('answer', 'r1', 'maybe');
  expect([refused.code, refused.err.split('\n')[0]]).toEqual([
    2,
    'cairn: the answer does not fit: "maybe" is none of "yes", "no" [ANSWER_INVALID]',
  ]);
  expect(folder.cairn('answer', 'r1', 'yes').out).toMatch(/^answered approve: "yes"\nGo on: cairn resume r1\n$/);
  for (const status of ['answered', 'paused', 'stopped,answered'])
    expect(folder.cairn('ls', '--status', status).out).toMatch(/r1 +answered +release/);
  expect(folder.cairn('ls', '--status', 'stopped').err).toBe('No runs here.\n');
  const other = folder.cairn('answer', 'r1', 'no');
  expect([other.code, other.err]).toEqual([
    3,
    expect.stringMatching(/was closed already by person with yes \[WAIT_CLOSED\]/),
  ]);

  const resumed = folder.cairn('resume', 'r1');
  expect([resumed.code, resumed.out]).toEqual([
    0,
    expect.stringMatching(/^completed r1@\d+\n\{\n {2}"notice": "published: yes"\n\}\n$/),
  ]);
  expect(
    folder.cairn('run', releaseGraph, '--run-id', 'r1', '--input', 'topic=cairns', '--input', `folder=${folder.path}`)
      .err,
  ).toMatch(/this is the same run/);
  expect(folder.lines('published.txt')).toEqual(['yes']);
  expect(statSync(join(folder.path, '.cairn')).mode & 0o777).toBe(0o700);
});

test('G8 a failed run says what failed and how to go on, with the exit code of its error', () => {
  const folder = openFolder();
  const failed = folder.cairnWith('{"fail": true}', 'run', releaseGraph, '--run-id', 'f', '--input-file', '-');
  expect(failed.code).toBe(3);
  expect(failed.out).toMatch(/^failed f@\d+\n$/);
  expect(failed.err).toMatch(
    /failed: draft\nnode draft failed: no ink left \[NODE_FAILED\]\n {4}at .*release\.ts:36:32\)\n.*then resume the run.*\n {2}cairn resume f\n$/,
  );
  expect(failed.err).not.toMatch(/ at .*\/src\/.*\.ts:\d+/);
  expect(
    (folder.json('run', releaseGraph, '--run-id', 'g', '--input', 'fail=true') as { error: { code: string } }).error
      .code,
  ).toBe('NODE_FAILED');
});

test('H1 preview and fork: another answer makes another run, the first stays as it was', () => {
  const folder = openFolder();
  folder.cairn('run', releaseGraph, '--run-id', 'r', '--input', `folder=${folder.path}`);
  expect(folder.cairn('answer', 'r', 'approve', 'yes', '--resume').code).toBe(0);
  const preview = folder.cairn('preview', 'r', '--answer', 'approve=no', '--file', releaseGraph).out;
  expect(preview).toMatch(/^NODE +VISIT +EFFECT +WOULD BE +BECAUSE\nread +1 +read +restored\n/);
  const { head } = (folder.json('graph', 'r') as { runs: readonly [{ head: number }] }).runs[0];
  const asked = folder.json('preview', 'r', '--answer', 'approve=no', '--file', releaseGraph) as { seq: number };
  const because = `approve was answered at r@${asked.seq + 1}`;
  expect(asked).toMatchObject({ runId: 'r', earlier: { insteadOf: { runId: 'r', seq: head }, because } });
  const forked = folder.cairn('fork', 'r', '--answer', 'approve=no', '--run', '--run-id', 'f');
  expect(forked.out).toContain(`forked f@${asked.seq + 1} from r@${asked.seq}\n`);
  expect(forked.err.replaceAll('\n', ' ')).toContain(`not r@${head}: ${because}. What followed is`);
  expect(forked.out).toMatch(/^forked f@\d+ from r@\d+\ncompleted f@\d+\n\{\n {2}"notice": "published: no"\n\}\n$/);
  const untouched = folder.json('fork', 'r@1', '--set', 'input.topic=other') as { fork: { runId: string } };
  expect(folder.cairn('resume', untouched.fork.runId).out).toMatch(/published: yes/);
  expect(folder.lines('published.txt')).toEqual(['yes', 'no']);
  expect(folder.cairn('diff', 'r', 'f').out).toMatch(/ {2}outputs\.approve: "yes" → "no"\n/);
  const kept = folder.cairn('rm', 'r');
  expect([kept.code, kept.err]).toEqual([3, expect.stringMatching(/has forks: .*\[HISTORY_HAS_FORKS\]/)]);
  expect(folder.cairn('rm', 'r', '--with-forks', '--yes').out.split('\n')).toHaveLength(4);
  expect(folder.cairn('ls').err).toBe('No runs here.\n');
});

test('H2.4 preview and fork at a checkpoint where an effect had begun: it begins anew with what is set', () => {
  const folder = openFolder();
  const pay = `
name: pay
inputs: { amount: { type: num, required: true } }
blocks:
  - { id: plan, type: EchoBlock, inputs: { message: planned } }
  - { id: pay, type: Shell, depends_on: [plan], inputs: { command: "echo \${inputs.amount} >> paid.txt" } }
`;
  writeFileSync(join(folder.path, 'pay.yaml'), pay);
  expect(folder.cairn('run', 'pay.yaml', '--run-id', 'r', '--input', 'amount=5').code).toBe(0);
  const lines = folder.cairn('log', 'r', '--json').out.trimEnd().split('\n').slice(0, -1);
  const checkpoints = lines.map((line) => JSON.parse(line) as Logged);
  const begun = checkpoints.find(({ change }) =>
    change.some(({ kind, node }) => kind === 'intent' && node?.[0] === 'pay'),
  );
  const at = `r@${begun?.seq}`;
  const preview = folder.cairn('preview', at, '--set', 'input.amount=50').out.replaceAll(/\s+/g, ' ');
  expect(preview).toContain('pay 1 external runs again begins anew with input.amount as set');
  expect(folder.cairn('fork', at, '--set', 'input.amount=50', '--run').code).toBe(0);
  expect(folder.lines('paid.txt')).toEqual(['5', '50']);
});

test('O2 Ctrl-C stops in good order: the claim is given back and the way on is printed', async () => {
  const folder = openFolder();
  const child = folder.start(
    'run',
    releaseGraph,
    '--run-id',
    'c',
    '--input',
    'waitMs=60000',
    '--input',
    `folder=${folder.path}`,
  );
  let err = '';
  child.stderr?.on('data', (data) => (err += String(data)));
  await folder.until('drafting.txt');
  child.kill('SIGINT');
  expect(await within('the interrupted command ends', once(child, 'close'))).toEqual([130, null]);
  expect(err).toMatch(/Stopped\. Go on: cairn resume c\n$/);
  expect(folder.cairn('ls').out).toMatch(/c +stopped +release/);
});

test('O3 a killed run shows as stopped at once, is resumed by the next command, and doctor names it', async () => {
  const folder = openFolder();
  const child = folder.start(
    'run',
    releaseGraph,
    '--run-id',
    'k',
    '--input',
    'waitMs=60000',
    '--input',
    `folder=${folder.path}`,
  );
  await folder.until('drafting.txt');
  const taken = folder.cairn('resume', 'k');
  expect([taken.code, taken.err]).toEqual([4, expect.stringMatching(/run k is held by .* \[CLAIM_TAKEN\]/)]);
  child.kill('SIGKILL');
  await within('the killed command ends', once(child, 'exit'));
  expect(folder.cairn('ls', '--status', 'stopped').out).toMatch(/k +stopped +release/);
  expect(folder.cairn('doctor').out).toMatch(/look {2}stopped runs +1 without a process: k\n/);
  expect(folder.cairn('resume', 'k').out).toMatch(/^paused k@/);
  expect(folder.lines('drafting.txt')).toHaveLength(2);
});

test('E2 --detach records the run and lets a process of its own advance it', async () => {
  const folder = openFolder();
  const started = folder.cairn('run', releaseGraph, '--run-id', 'd', '--detach', '--input', `folder=${folder.path}`);
  expect(started.out).toMatch(/^started d; see: cairn log d\n$/);
  await folder.until('drafting.txt');
  const statusOf = (): string | undefined => (folder.json('ls') as { runs: { status: string }[] }).runs[0]?.status;
  await until('the detached run pauses', () => statusOf() === 'paused', 500);
  expect(folder.cairn('cancel', 'd').out).toBe('cancelled d\n');
  expect(folder.cairn('resume', 'd').err).toMatch(/\[RUN_CANCELLED\]/);
});

test('H1 a checkpoint names its run to resume, answer and inbox; resume goes on from an older one in a fork', () => {
  const folder = openFolder();
  folder.cairn('run', releaseGraph, '--run-id', 'r', '--input', `folder=${folder.path}`);
  const { checkpointId } = folder.json('show', 'r@1') as { checkpointId: string };
  expect(folder.cairn('inbox', checkpointId).out).toMatch(/^approve · release/);
  expect(folder.cairn('resume', 'r@head').out).toMatch(/^paused r@\d+, 1 open\n/);
  expect(folder.cairn('answer', 'r@1', 'yes').out).toMatch(/^answered approve: "yes"\nGo on: cairn resume r\n$/);
  const older = folder.cairn('resume', checkpointId);
  expect([older.code, older.out]).toEqual([
    0,
    expect.stringMatching(/^forked (\S+) from r@1\npaused \1@\d+, 1 open\n/),
  ]);
  expect((folder.json('resume', 'r@1') as { forkedFrom: object }).forkedFrom).toEqual({ runId: 'r', seq: 1 });
  expect(folder.cairn('resume', 'r').out).toMatch(/^completed r@/);
  // What ends a run is told so by the run's own name.
  expect(folder.cairn('cancel', 'r@1').err).toMatch(/\[RUN_NOT_FOUND\]/);
  expect(folder.cairn('rm', 'r@1').err).toMatch(/\[RUN_NOT_FOUND\]/);
  expect(folder.lines('published.txt')).toEqual(['yes']);
});

test('W2 the same answer again is acknowledged, also after the run has taken it; another is refused', () => {
  const folder = openFolder();
  folder.cairn('run', releaseGraph, '--run-id', 'r', '--input', `folder=${folder.path}`);
  const [{ waitId }] = (folder.json('inbox') as { waits: [{ waitId: string }] }).waits;
  const answer = (value: string): unknown => {
    const { code, out, err } = folder.cairn('answer', 'r', waitId, value);
    return [code, out.split('\n')[0], /\[(\w+)\]/.exec(err)?.[1]];
  };
  expect(answer('yes')).toEqual([0, 'answered approve: "yes"', undefined]);
  expect(answer('yes')).toEqual([0, 'answered approve: "yes"', undefined]);
  folder.cairn('resume', 'r');
  expect(answer('yes')).toEqual([0, `answered ${waitId}: "yes"`, undefined]);
  expect(answer('no')).toEqual([3, '', 'WAIT_CLOSED']);
  // As it was typed: by the name of the node.
  const named = folder.cairn('answer', 'r', 'approve', 'yes', '--resume');
  expect([named.code, named.out.split('\n').slice(0, 2)]).toEqual([0, ['answered approve: "yes"', expect.stringMatching(/^completed r@/)]]); // prettier-ignore
  expect(folder.cairn('answer', 'r', 'approve', 'no').err).toMatch(/closed already by person with yes \[WAIT_CLOSED\]/);
  expect(folder.json('answer', 'r', waitId, 'yes')).toEqual({ runId: 'r', waitId, value: 'yes' });
});

test('W2 D7 several answers are acknowledged again by name after the end, one pair too, and a name that was never asked is told', () => {
  const folder = openFolder();
  const text =
    'name: two\nblocks:\n' +
    ['a', 'b'].map((id) => `  - { id: ${id}, type: GetInput, inputs: { prompt: "${id}?" } }\n`).join('');
  folder.write('two.yaml', text);
  folder.cairn('run', 'two.yaml', '--run-id', 'r');
  expect(folder.cairn('answer', 'r', 'a=1', 'c=2').err).toMatch(/has no open wait c \[WAIT_NOT_FOUND\]/);
  folder.cairn('answer', 'r', 'a=1', 'b=2=3', '--resume');
  expect(folder.cairn('answer', 'r', 'a=1', 'b=2=3').out).toMatch(/^answered a: "1"\nanswered b: "2=3"\n/);
  expect(folder.cairn('answer', 'r', 'b=2=3').out).toMatch(/^answered b: "2=3"\n/);
  expect(folder.cairn('answer', 'r', 'a=1', 'b=4').err).toMatch(/with 2=3 \[WAIT_CLOSED\]/);
});

test('P6 a run that a program began is resumed by naming its module, and without it the way is told', () => {
  const folder = openFolder();
  const from = (path: string): string => new URL(path, import.meta.url).href;
  folder.write(
    'later.ts',
    `import { AgentGraph, END, humanNode, START } from '${from('../index.ts')}';
import { openSqliteStore } from '${from('../stores/sqlite/index.ts')}';
const later = new AgentGraph({}, { id: 'later' })
  .addNode('ask', humanNode({ prompt: 'Go on?', choices: ['yes', 'no'] }))
  .addEdge(START, 'ask')
  .addEdge('ask', END);
export const graph = later.compile();
if (process.argv[2] === 'begin') {
  await later.compile({ store: openSqliteStore({ path: 'runs.db' }) }).invoke({}, { runId: 'r' });
}
`,
  );
  execFileSync(process.execPath, ['--disable-warning=ExperimentalWarning', 'later.ts', 'begin'], { cwd: folder.path });
  expect(folder.cairn('answer', 'r', 'yes', '--store', 'runs.db').code).toBe(0);
  const { code, err } = folder.cairn('resume', 'r', '--store', 'runs.db');
  expect([code, err]).toEqual([2, expect.stringContaining('cairn resume r --file MODULE')]);
  expect(folder.cairn('resume', 'r', '--store', 'runs.db', '--file', 'later.ts').out).toMatch(/^completed r@/);
});

test('P6 what user code prints goes to standard error, and a workflow that is not compiled gives what its returns made', () => {
  const folder = openFolder();
  const library = pathToFileURL(join(import.meta.dirname, '../index.ts')).href;
  writeFileSync(
    join(folder.path, 'refund.ts'),
    `import { workflow } from '${library}';
const any = { '~standard': { version: 1, vendor: 'test', validate: (value) => ({ value }) } };
console.log('loaded');
export const refund = workflow('refund')
  .input(any)
  .step('pay', ({ input }) => { console.log('paying'); process.stdout.write('now'); return input.amount; })
  .returns(({ state }) => ({ paid: state.artifacts.pay }));
`,
  );
  const run = (...options: readonly string[]): ReturnType<typeof folder.cairn> =>
    folder.cairn('run', 'refund.ts', '--run-id', 'r1', '--input', 'amount=5', ...options);
  const started = run('--json');
  expect([started.code, JSON.parse(started.out)]).toMatchObject([0, { status: 'completed', outputs: { paid: 5 } }]);
  expect(started.err).toMatch(/loaded\npaying\nnow/);
  expect(folder.cairn('resume', 'r1', '--file', 'refund.ts').out).toMatch(
    /^completed r1@\d+\n\{\n {2}"paid": 5\n\}\n$/,
  );
});
