/** Commands that report by a status file, and programs that are coding agents. */
import { chmodSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { digraph, lintOf, runDot, type DotRun, type RanDot } from '../../../../../test/dot-kit.ts';
import { resumeToRest } from '../../../../../test/engine-kit.ts';
import type { StageHandler } from '../../index.ts';

const folder = mkdtempSync(join(tmpdir(), 'cairn-test-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const quoted = (text: string): string => JSON.stringify(text);

/** One tool stage. */
async function tool(command: string, more = '', run: DotRun = {}): Promise<RanDot> {
  const body = `start -> a -> exit\na [shape=parallelogram, tool_command=${quoted(command)}${more}]`;
  return runDot(digraph(body), run);
}
const reasonOf = ({ result }: RanDot): string | undefined => result.error?.message;

test('DOT21 a command reports its outcome, label, context and reason by its status file', async () => {
  const body = `start -> a\na -> b [label=left]\na -> c [label=right]\nb -> exit\nc -> exit
a [shape=parallelogram, tool_command=${quoted(`echo '{"outcome": "partial_success", "preferred_label": "right", "context_updates": {"found": 3}, "notes": "n"}' > "$CAIRN_STATUS_FILE"`)}]
b [prompt=b]\nc [prompt=c]`;
  const { begun, context, result } = await runDot(digraph(body));
  expect([result.status, begun]).toEqual(['completed', ['c']]);
  expect(context).toMatchObject({ found: 3, 'tool.exit_code': 0 });
  expect(result.state.outputs['a']).toMatchObject({ outcome: 'partial_success', notes: 'n' });
  const failed = await tool(`echo '{"outcome": "fail", "failure_reason": "3 are red"}' > "$CAIRN_STATUS_FILE"`);
  expect(reasonOf(failed)).toContain('3 are red');
});

test('DOT21 a status file without need is not missed; each attempt has one of its own, which is gone afterwards', async () => {
  expect((await tool('true')).result.status).toBe('completed');
  const seen = join(folder, 'seen');
  const command = `echo "$CAIRN_STATUS_FILE" >> "${seen}"; test -e "$CAIRN_STATUS_FILE" && exit 3; echo '{"outcome": "retry"}' > "$CAIRN_STATUS_FILE"`;
  const { result } = await tool(command, ', max_retries=2');
  expect(result.error?.message).toContain('max retries exceeded');
  const paths = readFileSync(seen, 'utf8').trim().split('\n');
  expect(new Set(paths).size).toBe(3);
  expect(paths.filter((path) => existsSync(path))).toEqual([]);
});

test.each([
  ['is no JSON', 'echo "{" > "$CAIRN_STATUS_FILE"'],
  ['holds no object', 'echo "[1]" > "$CAIRN_STATUS_FILE"'],
  ['none of success, partial_success', `echo '{"outcome": "great"}' > "$CAIRN_STATUS_FILE"`],
  [
    'may not write graph.goal',
    `echo '{"outcome": "success", "context_updates": {"graph.goal": 1}}' > "$CAIRN_STATUS_FILE"`,
  ],
  ['key is not this one', `echo '{"outcome": "success", "key": "another"}' > "$CAIRN_STATUS_FILE"`],
  ['cannot be read (ELOOP)', 'ln -s /etc/hostname "$CAIRN_STATUS_FILE"'],
  ['is no regular file', 'mkfifo "$CAIRN_STATUS_FILE"'],
  ['over the limit of 1048576', 'head -c 1100000 /dev/zero > "$CAIRN_STATUS_FILE"'],
])('DOT21 a status file that %s fails the stage, and says so', async (reason, command) => {
  const ran = await tool(command, ', max_retries=3');
  expect(ran.result.status).toBe('failed');
  expect(reasonOf(ran)).toContain('its status cannot be taken: ');
  expect(reasonOf(ran)).toContain(reason);
});

test('DOT21 a report that bears the key of the attempt is its own', async () => {
  const command = `printf '{"outcome": "success", "key": "%s"}' "$CAIRN_IDEMPOTENCY_KEY" > "$CAIRN_STATUS_FILE"`;
  expect((await tool(command)).result.status).toBe('completed');
});

test('DOT21 of a file that the pipeline names, one from before the attempt is stale, a missing one is a failure, auto_status takes neither ill', async () => {
  const path = join(folder, 'named.json');
  const named = `, status_file=${quoted(path)}`;
  expect(reasonOf(await tool('true', named))).toContain(`the stage wrote no ${path}`);
  expect((await tool('true', `${named}, auto_status=true`)).result.status).toBe('completed');
  writeFileSync(path, '{"outcome": "success"}');
  expect(reasonOf(await tool('true', named))).toContain(`${path} is older than this attempt`);
  expect(readFileSync(path, 'utf8')).toBe('{"outcome": "success"}');
  // The same words, written anew, are this attempt's.
  const written = `printf '{"outcome": "success"}' > "$CAIRN_STATUS_FILE"`;
  expect((await tool(written, named)).result.status).toBe('completed');
});

test('DOT21 an exit code other than 0 is a failure, whatever the status says; its reason and its values are kept', async () => {
  const body = `start -> a\na -> exit [condition="outcome=fail"]
a [shape=parallelogram, tool_command=${quoted(`echo '{"outcome": "success", "failure_reason": "disk full", "context_updates": {"k": 1}}' > "$CAIRN_STATUS_FILE"; exit 4`)}]`;
  const { output, context } = await runDot(digraph(body));
  expect(output).toMatchObject({ failures: [{ stage: 'a', reason: 'disk full' }] });
  expect(context).toMatchObject({ k: 1, 'tool.exit_code': 4 });
});

/** A program that stands for a coding agent; what it was given lies beside it. */
function program(script: string): string {
  const path = join(folder, `agent-${Math.abs(script.length)}.sh`);
  writeFileSync(path, `#!/bin/sh\n${script}\n`);
  chmodSync(path, 0o700);
  return path;
}

test.each(['KILL', 'TERM'])(
  'P2 DOT16 a command that SIG%s ended may be half done: it is not tried again, and a resume asks first, unless it is idempotent',
  async (signal) => {
    const file = join(folder, `cut-off-${signal}`);
    const command = `echo x >> "${file}"; kill -${signal} $$`;
    const ran = await tool(command, ', max_retries=2');
    expect(reasonOf(ran)).toContain(`the command was ended by SIG${signal}`);
    const resumed = await resumeToRest(ran.engine, ran.result.runId, ran.workflow.graph);
    expect([resumed.status, resumed.waits.map(({ kind }) => kind)]).toEqual(['paused', ['doubt']]);
    expect(readFileSync(file, 'utf8')).toBe('x\n');
    const again = await tool(command, ', max_retries=2, idempotent=true');
    expect([again.result.status, readFileSync(file, 'utf8')]).toEqual(['failed', 'x\n'.repeat(4)]);
  },
);

test('DOT22 a program that is an agent gets prompt, goal and parameters as data, and its words are the answer', async () => {
  const said = join(folder, 'said');
  const path = program(
    `cat > "${said}"; cmp "${said}" "$CAIRN_PROMPT_FILE" && echo "$goal|$who|$CAIRN_STAGE|$CAIRN_MODEL|$0"`,
  );
  const goal = '$(touch pwned); `id` "quoted"';
  const body = `node [agent_command=${quoted(path)}]\nstart -> a -> exit\na [prompt="Do $goal", llm_model=m]`;
  const { result, context } = await runDot(digraph(body, 'graph [params=who]'), {
    asksModels: true,
    input: { goal, who: 'me' },
  });
  expect(result.status).toBe('completed');
  expect(readFileSync(said, 'utf8')).toContain(`Do ${goal}`);
  expect(context['last_response']).toBe(`${goal}|me|a|m|${path}\n`);
  expect(existsSync('pwned')).toBe(false);
});

test('DOT22 it reports by its status file, else by the end of its words; a gate without a verdict fails; an exit code is tried again', async () => {
  const run = async (script: string, more = ''): Promise<RanDot> =>
    runDot(
      digraph(`start -> a -> exit\na [prompt=x, goal_gate=true, agent_command=${quoted(program(script))}${more}]`),
      { asksModels: true },
    );
  const status = `echo '{"outcome": "success", "context_updates": {"by": "file"}}' > "$CAIRN_STATUS_FILE"`;
  expect((await run(`${status}; echo '{"outcome": "fail"}'`)).context).toMatchObject({ by: 'file' });
  expect((await run(`echo 'done {"outcome": "success"}'`)).output).toMatchObject({ gates: { a: 'success' } });
  expect(reasonOf(await run('echo done'))).toContain('the goal gate gave no verdict');
  const routed = digraph(
    `start -> a\na -> exit [condition="outcome=success"]\na -> b [condition="outcome=fail"]\nb -> exit\nb [shape=parallelogram, tool_command=true]\na [prompt=x, agent_command=${quoted(program('echo "**FAIL**"'))}]`,
  );
  expect((await runDot(routed, { asksModels: true })).history).toEqual(['start', 'a: fail', 'b']);
  const count = join(folder, 'count');
  const again = await run(`echo x >> "${count}"; test $(wc -l < "${count}") -gt 2 && ${status}`, ', max_retries=2');
  expect([again.result.status, readFileSync(count, 'utf8')]).toEqual(['completed', 'x\nx\nx\n']);
});

test('DOT22 under full it is told the conversation so far, and which thread it is', async () => {
  const said = join(folder, 'thread');
  const path = program(`cat > "${said}"; echo "in $CAIRN_THREAD"`);
  const body = `node [agent_command=${quoted(path)}, thread_id=t]\nstart -> a -> b -> exit\na [prompt=one]\nb [prompt=two]`;
  await runDot(digraph(body, 'graph [default_fidelity=full]'), { asksModels: true });
  expect(readFileSync(said, 'utf8')).toMatch(/^\[user\]\n[^]*\n\none\n\n\[assistant\]\nin t\n\n\ntwo$/u);
});

test('DOT21 lint tells of attributes that only commands heed', () => {
  const body =
    'start -> a -> t -> exit\na [prompt=x, idempotent=true, status_file=s, auto_status=true]\nt [shape=parallelogram, tool_command=x, auto_status=true]';
  expect(lintOf(digraph(body))).toEqual([
    'warning inert_attribute 6:25',
    'warning inert_attribute 6:43',
    'warning inert_attribute 7:53',
  ]);
  expect(
    lintOf(
      digraph('start -> a -> exit\na [prompt=x, agent_command=c, status_file=s, auto_status=true, idempotent=true]'),
    ),
  ).toEqual([]);
});

test.each([
  ['only if it is idempotent', ', idempotent=true', 3],
  ['not if it may have had its effect', '', 1],
])('DOT9 X3.3 a command that runs into its timeout is tried again: %s', async (_, more, attempts) => {
  let begun = 0;
  const hangs: StageHandler = {
    effect: 'external',
    isIdempotent: ({ attributes }) => attributes.flag('idempotent'),
    run: () => {
      begun += 1;
      return new Promise(() => {});
    },
  };
  const text = digraph(`start -> a -> exit\na [shape=parallelogram, tool_command=x, timeout=5s, max_retries=2${more}]`);
  const { result } = await runDot(text, { handlers: { tool: hangs } });
  expect([result.status, begun]).toEqual(['failed', attempts]);
});
