/** MCP servers killed with SIGKILL at random moments, while a client runs, answers and forks: each effect happens once (P1, P2, M8). */
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { createSeededRandom } from '../../src/ports/seeded-random.ts';
import { scale } from '../support/scale.ts';
import { connectStdio, createWorkspace, type Connection, type Content } from './mcp-kit.ts';

/** Repeat the moments with CAIRN_SEED=N. */
const seed = Number(process.env['CAIRN_SEED'] ?? Math.floor(Math.random() * 1_000_000));
const killsMost = Number(process.env['CAIRN_KILLS'] ?? scale(4, 40));

const line = (word: string): string =>
  `sleep 0.05; grep -qF "$CAIRN_IDEMPOTENCY_KEY" ledger || echo "$CAIRN_IDEMPOTENCY_KEY \${run} ${word}" >> ledger`;
const once = (word: string): string => `sleep 0.05; echo "$CAIRN_IDEMPOTENCY_KEY \${run} ${word}" >> ledger`;

/** A fork that says no takes over what the run that said yes did, and declines. */
const release = `
name: release
inputs: { run: { type: str } }
blocks:
  - { id: build, type: Shell, inputs: { command: '${once('build')}' } }
  - { id: who, type: GetInput, depends_on: [build], inputs: { prompt: "Who releases \${run}?" } }
  - id: confirm
    type: ConfirmOperation
    depends_on: [who]
    inputs: { message: "Release \${run}?", operation: release }
  - id: parts
    type: Shell
    depends_on: [confirm]
    for_each: [north, south]
    for_each_mode: parallel
    condition: "\${confirm.confirmed}"
    idempotent: true
    inputs: { command: '${line('${each.value}')}' }
  - { id: tell, type: Workflow, depends_on: [parts, who], inputs: { workflow: tell, inputs: { run: "\${run}", who: "\${who.input_value}" } } }
  - id: decline
    type: Shell
    depends_on: [confirm]
    condition: "not \${confirm.confirmed}"
    inputs: { command: '${once('decline')}' }
outputs: { confirmed: "\${confirm.confirmed}", told: "\${tell.told}", declined: "\${blocks.decline.succeeded}" }
`;

const tell = `
name: tell
inputs: { run: { type: str }, who: { type: str } }
blocks:
  - { id: channel, type: AskChoice, inputs: { question: "Where?", choices: [mail, chat] } }
  - { id: send, type: Shell, depends_on: [channel], inputs: { command: '${once('${channel.choice}')}' } }
outputs: { told: "\${channel.choice} \${who}" }
`;

const workspace = createWorkspace({ release, tell });
afterAll(() => workspace.remove());
const ledger = join(workspace.folder, 'ledger');
const readLedger = (): readonly string[] =>
  existsSync(ledger) ? readFileSync(ledger, 'utf8').trimEnd().split('\n') : [];

interface Asked {
  readonly wait: string;
  readonly block: string;
  readonly kind: string;
  readonly metadata?: { readonly key?: string };
}

/** What the person says; of an effect in doubt, whether its line is there. */
function answerOf({ block, kind, metadata }: Asked): unknown {
  if (kind === 'doubt')
    return readLedger().some((text) => text.startsWith(metadata?.key ?? '?')) ? 'happened' : 'run again';
  return { who: 'Ada', confirm: 'yes', channel: 'chat' }[block.split('/').at(-1) ?? ''];
}

/** Goes on with a run as far as one call of a tool leads, like a client that remembers nothing but the run's name. */
async function advance({ call }: Connection, run: string, begin: () => Promise<Content>): Promise<Content> {
  const found = await call('get_run', { run_id: run });
  if (found['code'] === 'RUN_NOT_FOUND') return begin();
  if (found['status'] === 'completed') return found;
  const questions = (found['waits'] ?? []) as readonly Asked[];
  const answers = Object.fromEntries(questions.map((asked) => [asked.wait, answerOf(asked)]));
  return call('resume_workflow', { checkpoint_id: run, ...(questions.length > 0 && { answers }) });
}

async function finish(connection: Connection, run: string, begin: () => Promise<Content>): Promise<void> {
  for (let calls = 0; calls < 40; calls += 1) {
    const said = await advance(connection, run, begin);
    if (said['status'] === 'completed') return;
    if (said.isError === true) throw new Error(`${run}: ${JSON.stringify(said)}`);
  }
  throw new Error(`${run} does not end`);
}

/** A run to its end, and a fork of it in which the person said no. */
async function work(connection: Connection, run: string): Promise<void> {
  const { call } = connection;
  await finish(connection, run, () => call('execute_workflow', { workflow: 'release', inputs: { run }, run_id: run }));
  const fork = `${run}-no`;
  await finish(connection, fork, () =>
    call('fork_checkpoint', { checkpoint_id: run, answer: { confirm: 'no' }, run_id: fork }),
  );
}

/** Works on two runs at a time until the server dies; a fault of a server that lives is thrown. */
async function workUntil(connection: Connection, begun: string[], isDead: () => boolean): Promise<void> {
  while (begun.length < 1_000) {
    const open = begun.slice(-2);
    const ends = await Promise.allSettled(open.map((run) => work(connection, run)));
    if (isDead()) return;
    const fault = ends.find((end) => end.status === 'rejected');
    if (fault !== undefined) throw fault.reason;
    begun.push(`run-${begun.length}`, `run-${begun.length + 1}`);
  }
  throw new Error('the server outlives a thousand runs');
}

test(
  'P1 P2 M8 killed at random moments, every run and fork ends with each effect once',
  { timeout: 240_000 },
  async () => {
    console.log(`CAIRN_SEED=${seed} CAIRN_KILLS=${killsMost}`);
    const random = createSeededRandom(seed);
    const begun: string[] = ['run-0', 'run-1'];
    for (let kills = 0; kills < killsMost; kills += 1) {
      const connection = await connectStdio(workspace, {}, ['--answers', 'anyone']);
      let isDead = false;
      setTimeout(() => {
        isDead = true;
        process.kill(connection.pid, 'SIGKILL');
      }, random.next() * 1_000);
      await workUntil(connection, begun, () => isDead);
      await connection.closed;
    }
    const connection = await connectStdio(workspace, {}, ['--answers', 'anyone']);
    for (const run of begun) {
      await work(connection, run);
      const outputs = { confirmed: true, told: 'chat Ada', declined: false };
      expect(await connection.call('get_run', { run_id: run })).toMatchObject({ status: 'completed', outputs });
      const forked = { confirmed: false, told: 'chat Ada', declined: true };
      expect(await connection.call('get_run', { run_id: `${run}-no` })).toMatchObject({ outputs: forked });
    }
    console.log(`killed ${killsMost} servers, ended ${begun.length} runs and as many forks`);
    const lines = readLedger().map((text) => text.slice(text.indexOf(' ') + 1));
    const wanted = begun.flatMap((run) =>
      ['build', 'north', 'south', 'chat', 'decline'].map((word) => `${run} ${word}`),
    );
    expect(lines.toSorted()).toEqual(wanted.toSorted());
  },
);
