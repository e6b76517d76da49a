/**
 * Somebody sends a store file, or a backup. Its rows say themselves that their texts were read from files. The oracle is the file `ran`,
 * which a command in such a text would write.
 */
import type { ChildProcess } from 'node:child_process';
import { copyFileSync, cpSync, existsSync, mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test, vi } from 'vitest';
import type { CairnError } from '../../src/errors.ts';
import { openFolder, type Folder } from '../cli/cairn.ts';
import { openCairn } from '../../src/app/open-cairn.ts';
import { createWorkspace, connectStdio } from '../mcp/mcp-kit.ts';
import { within } from '../support/awaited.ts';

vi.setConfig({ testTimeout: 120_000 });

const yaml = (ran: string): string => `name: sent
blocks:
  - { id: ask, type: ConfirmOperation, inputs: { operation: go, message: Go? } }
  - { id: act, type: Shell, depends_on: [ask], inputs: { command: "touch ${ran}" } }
`;

/** What a process has printed, once some words are in it. */
function printed({ stderr, stdout }: ChildProcess, words: string | RegExp): Promise<string> {
  let text = '';
  return new Promise((resolve) => {
    const take = (piece: unknown): void => {
      text += String(piece);
      if (typeof words === 'string' ? text.includes(words) : words.test(text)) resolve(text);
    };
    stderr?.on('data', take);
    stdout?.on('data', take);
  });
}

interface Sent {
  readonly folder: Folder;
  /** The file that the command writes. */
  readonly ran: string;
  /** The workflow, as it was. */
  readonly text: string;
}

/** The folder of large values beside a store. */
function blobsOf(path: string): string {
  return path.endsWith('.cairn/cairn.db') ? path.replace('cairn.db', 'blobs') : path.replace('.db', '.blobs');
}

function copyStore(from: string, to: string): void {
  copyFileSync(from, to);
  cpSync(blobsOf(from), blobsOf(to), { recursive: true });
}

/** The folder of who was sent a store, as `NAME` there, with a run `r` that waits before its command, and a backup of it. */
async function receive(name: string): Promise<Sent> {
  const [sender, folder] = [openFolder(), openFolder()];
  const ran = join(folder.path, 'ran');
  const text = yaml(ran);
  sender.write('sent.yaml', text);
  expect(sender.cairn('run', 'sent.yaml', '--run-id', 'r').code).toBe(0);
  expect(sender.cairn('backup', 'sent.backup').code).toBe(0);
  mkdirSync(join(folder.path, '.cairn'));
  copyFileSync(join(sender.path, 'sent.backup'), join(folder.path, 'sent.backup'));
  copyStore(join(sender.path, '.cairn', 'cairn.db'), join(folder.path, name));
  return { folder, ran, text };
}

const goOn = ['answer', 'r', 'yes', '--resume'];
const resume = ['resume', 'r'];

test('N8.2 a store file that is named on the command line is not believed that its texts were files', async () => {
  const { folder, ran, text } = await receive('sent.db');
  const store = ['--store', 'sent.db'];
  const refused = folder.cairn(...goOn, ...store);
  expect([refused.code !== 0, existsSync(ran)]).toEqual([true, false]);
  expect(refused.err).toMatch(/PERMISSION_DENIED/);
  expect(refused.err.replaceAll(/\s+/g, ' ')).toContain('name it as `store` in the configuration of this folder');
  const worker = folder.start('worker', ...store);
  const report = await within('the worker reports the run', printed(worker, 'PERMISSION_DENIED'));
  worker.kill('SIGTERM');
  expect([report.includes(' r'), existsSync(ran)]).toEqual([true, false]);
  folder.cairn('fork', 'r@0', '--run', '--run-id', 'f', ...store);
  folder.cairn('answer', 'f', 'yes', '--resume', ...store);
  expect(existsSync(ran)).toBe(false);
  // Whoever has the file as it was has seen it.
  folder.write('sent.yaml', text);
  expect([folder.cairn(...resume, ...store).code, existsSync(ran)]).toEqual([0, true]);
});

test.each(['default', 'configured', 'environment'])('N8.2 the own store of a folder is believed: %s', async (kind) => {
  const { folder, ran } = await receive(kind === 'default' ? '.cairn/cairn.db' : 'own.db');
  if (kind === 'configured') folder.write('cairn.config.yaml', 'store: sqlite:own.db\n');
  vi.stubEnv('CAIRN_STORE', kind === 'environment' ? 'own.db' : '');
  const done = folder.cairn(...goOn);
  // Typed too, it is the same place.
  const typed = folder.cairn('fork', 'r@0', '--run', '--store', kind === 'default' ? '.cairn/cairn.db' : 'own.db');
  expect(typed.code).toBe(0);
  vi.unstubAllEnvs();
  expect([done.code, existsSync(ran)]).toEqual([0, true]);
});

test('N8.2 a schedule of a store that is named on the command line starts nothing, until the store is said to be the own one', async () => {
  const [sender, folder] = [openFolder(), openFolder()];
  const ran = join(folder.path, 'ran');
  sender.write(
    'sent.ts',
    `import { writeFileSync } from 'node:fs';
import { AgentGraph, END, functionNode, START } from '${new URL('../../src/index.ts', import.meta.url).href}';
writeFileSync(${JSON.stringify(ran)}, 'yes');
export const graph = new AgentGraph({}, { id: 'sent' })
  .addNode('a', functionNode(() => 1)).addEdge(START, 'a').addEdge('a', END).compile();
`,
  );
  const every = ['schedule', 'add', 'sent.ts', '--name', 'n', '--cron', '* * * * * *'];
  expect(sender.cairn(...every, '--store', 'sent.db').code).toBe(0);
  const store = ['--store', join(sender.path, 'sent.db')];
  for (const [place, isStarted] of [
    [folder, false],
    [sender, false],
    [sender, true],
  ] as const) {
    rmSync(ran, { force: true });
    if (isStarted) sender.write('cairn.config.yaml', 'store: sqlite:sent.db\n');
    const worker = place.start('worker', ...store);
    // It was due at the second pause at the latest.
    const due = isStarted ? /(?:"paused"[^\n]*cairn:schedule:n[^]*){3}/ : /cairn:schedule:n[^]*PERMISSION_DENIED/;
    await within('the schedule was due', printed(worker, due));
    worker.kill('SIGTERM');
    expect(existsSync(ran)).toBe(isStarted);
  }
});

test('N8.2 a program that opens the store of somebody else says so', async () => {
  for (const trustsStore of [false, true]) {
    const { folder, ran } = await receive('sent.db');
    const cairn = await openCairn({ cwd: folder.path, store: 'sent.db', trustsStore });
    await cairn.answer({ run: 'r', value: 'yes' });
    const resumed = await cairn.resume({ run: 'r' }).then(
      ({ status }) => status,
      (error: CairnError) => error.code,
    );
    expect([resumed, existsSync(ran)]).toEqual(trustsStore ? ['completed', true] : ['PERMISSION_DENIED', false]);
    await cairn.close();
  }
});

test('B2.1 runs of a restored backup are held to the grants until a person trusts it, and so are their forks', async () => {
  const { folder, ran } = await receive('other.db');
  expect(folder.cairn('restore', 'sent.backup').code).toBe(0);
  expect(folder.cairn('release', 'r').code).toBe(0);
  const refused = folder.cairn(...goOn);
  expect([refused.err, existsSync(ran)]).toEqual([expect.stringMatching(/PERMISSION_DENIED/), false]);
  expect(refused.err.replaceAll(/\s+/g, ' ')).toContain('restore it with --trust');
  expect(folder.cairn('fork', 'r@0', '--run').err).toMatch(/PERMISSION_DENIED/);
  expect(existsSync(ran)).toBe(false);
  const granted = folder.cairn('resume', 'r', '--allow', 'inline,shell');
  expect([granted.code, existsSync(ran)]).toEqual([0, true]);
});

test('B2.1 a backup that is trusted goes on as it was, and one whose workflows are here needs no trust', async () => {
  for (const way of ['trusted', 'has the file']) {
    const { folder, ran, text } = await receive('other.db');
    if (way === 'has the file') folder.write('sent.yaml', text);
    expect(folder.cairn('restore', 'sent.backup', ...(way === 'trusted' ? ['--trust'] : [])).code).toBe(0);
    folder.cairn('release', 'r');
    expect([folder.cairn(...goOn).code, existsSync(ran)]).toEqual([0, true]);
    expect(folder.cairn('verify').code).toBe(0);
  }
});

test('N8.2 over MCP a store file that is named for the server is not believed', async () => {
  const { folder, ran } = await receive('sent.db');
  const workspace = createWorkspace();
  copyStore(join(folder.path, 'sent.db'), join(workspace.folder, 'runs.db'));
  const tools = await connectStdio(workspace, {}, ['--answers', 'anyone']);
  const reply = await tools.call('resume_workflow', { checkpoint_id: 'r', llm_response: 'yes' });
  expect([JSON.stringify(reply), existsSync(ran)]).toEqual([expect.stringContaining('PERMISSION_DENIED'), false]);
  await workspace.remove();
});
