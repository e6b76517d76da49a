/** What an attacker tries on the installed package: paths, requests, texts, models, imports and terminals. */
import { once } from 'node:events';
import { chmodSync, existsSync, mkdirSync, readFileSync, statSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { describe, expect, test } from 'vitest';
import { filesIn, isObeyed, portOf, shellWorkflow, type Place } from '../support/packed-place.ts';
import { exchange } from '../support/raw-socket.ts';
import { zstdBomb } from '../support/zstd-bomb.ts';

export function securityCases(place: () => Place): void {
  test('a grant of a folder is not left by a backslash', async () => {
    const at = place();
    mkdirSync(join(at.path, 'workflows'));
    mkdirSync(join(at.path, 'scratch'));
    const call = await at.mcp('--allow', `inline,fs=${join(at.path, 'scratch')}`);
    const path = `${at.path}/workflows/a\\..\\..\\scratch/pwned.yaml`;
    const text = `name: x\nblocks: [{ id: c, type: CreateFile, inputs: { path: ${JSON.stringify(path)}, content: pwned } }]\n`;
    const said = await call('execute_inline_workflow', { workflow_yaml: text });
    expect(said['status']).not.toBe('success');
    expect(filesIn(join(at.path, 'workflows'))).toEqual([]);
    expect(filesIn(join(at.path, 'scratch'))).toEqual([]);
  });

  test('no request ends the server, and what is no request of its is refused', async () => {
    const at = place();
    mkdirSync(join(at.path, 'workflows'));
    const child = at.start('mcp', '--http', '0', '--store', 'runs.db', '--workflows', 'workflows');
    const port = await portOf(child);
    const host = `Host: 127.0.0.1:${port}\r\nConnection: close\r\n`;
    const requests = [
      `GET // HTTP/1.1\r\n${host}\r\n`,
      `TRACE /mcp HTTP/1.1\r\n${host}\r\n`,
      `GET http://evil.com/ HTTP/1.1\r\n${host}\r\n`,
      'POST /mcp HTTP/1.1\r\nHost: evil.com@127.0.0.1\r\nConnection: close\r\nContent-Length: 0\r\n\r\n',
      `POST /mcp HTTP/1.1\r\n${host}Origin: http://localhost:9\r\nContent-Length: 2\r\n\r\n{}`,
    ];
    for (const request of requests) {
      const { status } = await exchange(port, request);
      expect([request, Math.floor(status / 100)]).toEqual([request, 4]);
    }
    expect(child.exitCode).toBeNull();
  });

  test('a row that unpacks to gigabytes is damage, and takes no memory', () => {
    const at = place();
    at.file('w.yaml', shellWorkflow('true'));
    expect(at.cairn('run', 'w.yaml', '--run-id', 'r', '--store', 'runs.db').code).toBe(0);
    const store = new DatabaseSync(join(at.path, 'runs.db'));
    store.prepare('update checkpoints set body = ? where seq = 1').run(zstdBomb(1.5 * 1024 ** 3));
    store.close();
    for (const command of ['log', 'show', 'state', 'verify']) {
      const { code, out, err } = at.cairn(command, 'r', '--store', 'runs.db');
      expect([command, code, /CHECKPOINT_CORRUPT/u.test(out + err)]).toEqual([command, 5, true]);
    }
  });

  test('reading and completing run no code of the folder', () => {
    const at = place();
    at.file(
      'cairn.config.mjs',
      `import { writeFileSync } from 'node:fs'; writeFileSync('ran', ''); export default {};`,
    );
    at.file('w.yaml', shellWorkflow('true'));
    at.file('p.dot', 'digraph p { start -> a -> end }');
    const reading =
      'completion runs, lint w.yaml, fmt p.dot, schema, ls, log r, show r, plan w.yaml, verify, inbox, doctor';
    const drawing = 'convert w.yaml, draw w.yaml, workflows, preview r';
    for (const command of `${reading}, ${drawing}`.split(', ')) {
      at.cairn(...command.split(' '));
      expect([command, existsSync(join(at.path, 'ran'))]).toEqual([command, false]);
    }
    const named = at.cairn('ls');
    expect([named.code, named.err]).toEqual([2, expect.stringContaining('--config')]);
  });

  test('a person approves what runs: the checked arguments, with defaults and conversions', () => {
    const shown = place().program(`
import { z } from 'zod';
import { AgentGraph, END, START } from 'cairn-workflows';
import { agent, tool } from 'cairn-workflows/agents';
import { createScriptedModels } from 'cairn-workflows/models';
const ran = [];
const pay = tool({ description: 'Pays.', effect: 'external',
input: z.object({ amount: z.coerce.number().transform((n) => n * 1000), bcc: z.string().default('boss@x') }), run: (args) => ran.push(args) });
const models = createScriptedModels([{ calls: [{ tool: 'pay', input: { amount: '5' } }] }, 'Done.']);
const graph = new AgentGraph({}, { id: 'g' }).addNode('a', agent({ model: 'm', prompt: 'Pay.', tools: { pay } })).addEdge(START, 'a').addEdge('a', END).compile({ models });
const { runId, waits } = await graph.invoke({});
const asked = JSON.stringify(waits[0]);
await graph.answer(runId, waits[0].waitId, 'approve').catch(async () => graph.answer(runId, waits[0].waitId, { decision: 'approve' }));
await graph.resume(runId);
console.log(JSON.stringify({ asked, ran }));
await graph.close?.();
`) as { readonly asked: string; readonly ran: readonly object[] };
    expect(shown.ran).toEqual([{ amount: 5000, bcc: 'boss@x' }]);
    expect(shown.asked).toMatch(/5000/u);
    expect(shown.asked).toMatch(/boss@x/u);
  });

  test('a condition of a client reads no masked value', async () => {
    const at = place();
    at.file(
      'workflows/w.yaml',
      'name: w\ninputs: { password: { type: str } }\nblocks: [{ id: a, type: EchoBlock, inputs: { message: hi } }]\n',
    );
    const call = await at.mcp();
    await call('execute_workflow', { workflow: 'w', inputs: { password: 'hunter2' }, run_id: 'r' });
    const said = ['h', 'x'].map((letter) =>
      call('bisect_run', { checkpoint_id: 'r', when: `input.password.startsWith("${letter}")` }),
    );
    const [right, wrong] = (await Promise.all(said)).map((one) =>
      JSON.stringify(one).replace(/"[hx]"|\\"[hx]\\"/gu, ''),
    );
    expect(right).toEqual(wrong);
  });

  test('an import is held to the grants of who goes on with it', async () => {
    const from = place();
    from.file(
      'w.yaml',
      `name: w\nblocks:\n  - { id: q, type: AskChoice, inputs: { question: "Go?", choices: [yes, no] } }\n  - { id: a, type: Shell, depends_on: [q], inputs: { command: "touch ${from.path}/pwned" } }\n`,
    );
    expect(from.cairn('run', 'w.yaml', '--run-id', 'r').code).toBe(0);
    expect(from.cairn('export', 'r', 'r.cairn').code).toBe(0);
    const to = place();
    mkdirSync(join(to.path, 'workflows'));
    const imported = to.cairn('import', join(from.path, 'r.cairn'), '--run-id', 'r', '--store', 'runs.db');
    expect(imported.code).toBe(0);
    expect(`${imported.out}${imported.err}`).toMatch(/only what --allow grants.*Shell/su);
    const call = await to.mcp('--answers', 'anyone');
    await call('resume_workflow', { checkpoint_id: 'r', llm_response: 'yes' });
    expect(existsSync(join(from.path, 'pwned'))).toBe(false);
  });

  test('nothing raw goes to a terminal, and JSON escapes what terminals obey', () => {
    const at = place();
    at.file(
      'w.yaml',
      'name: w\ndescription: "x\\u001b[2J\\u009b2J\\u202Ey"\nblocks: [{ id: a, type: EchoBlock, inputs: { message: "\\u001b[2J\\u009b\\u202e\\u2028" } }]\n',
    );
    at.file('p.dot', 'digraph p { start -> a -> end; a [label="\u001b[2J\u009b\u202e"] }');
    at.cairn('run', 'w.yaml', '--run-id', 'r');
    for (const command of [
      // What `convert` and `fmt` write into a file is what the file says; to a terminal they write like the others.
      ['lint', 'p.dot'],
      ['plan', 'w.yaml'],
      ['log', 'r'],
      ['post-mortem', 'r'],
      ['state', 'r'],
      ['state', 'r', '--json'],
      ['lint', 'w.yaml', '--json'],
    ]) {
      const { out, err } = at.cairn(...command);
      expect([command, Array.from(out + err).some((character) => isObeyed(character))]).toEqual([command, false]);
    }
  });

  test('a model does not answer what is for people: an effect in doubt', async () => {
    const at = place();
    at.file('workflows/w.yaml', shellWorkflow('exit 3'));
    const call = await at.mcp('--allow', 'shell');
    await call('execute_workflow', { workflow: 'w', run_id: 'r' });
    const asked = await call('resume_workflow', { checkpoint_id: 'r' });
    const said = await call('resume_workflow', { checkpoint_id: 'r', answers: { a: 'happened' } });
    expect(JSON.stringify([asked, said])).toMatch(/ANSWER_RESERVED/u);
  });

  test('hostile texts do not stop the server for others', async () => {
    const at = place();
    at.file('workflows/w.yaml', shellWorkflow('true'));
    const call = await at.mcp('--allow', 'inline');
    const references = `name: x\nblocks:\n  - { id: a, type: EchoBlock, inputs: { message: "${'{{ inputs.x }} '.repeat(25_000)}" } }\n`;
    const chain = `digraph p { start -> ${Array.from({ length: 4_000 }, (_, index) => `n${index}`).join(' -> ')} -> end }`;
    const texts = [references, '['.repeat(400_000), '[,,,'.repeat(100_000), chain];
    const said = texts.map((workflow_yaml) =>
      call('validate_workflow', { workflow_yaml }).catch((error: Error) => ({ error: error.message })),
    );
    expect(JSON.stringify(await call('list_workflows', {}))).toContain('w');
    for (const one of await Promise.all(said)) expect(JSON.stringify(one)).not.toMatch(/INTERNAL/u);
  });

  test('the server says at its start what is granted, and by which file', async () => {
    const at = place();
    mkdirSync(join(at.path, 'workflows'));
    at.file('cairn.config.json', '{ "allow": ["inline", "shell"] }');
    const child = at.start('mcp', '--store', 'runs.db');
    let said = '';
    child.stderr?.on('data', (piece) => (said += String(piece)));
    child.stdin?.end();
    await once(child, 'exit');
    expect(said).toMatch(/shell.*cairn\.config\.json|cairn\.config\.json.*shell/su);
  });

  test('what is written for its owner is for its owner alone, and nothing is written through a link', () => {
    const at = place();
    at.file('w.yaml', shellWorkflow('true'));
    expect(at.cairn('run', 'w.yaml', '--run-id', 'r').code).toBe(0);
    chmodSync(at.file('page.html', 'old'), 0o644);
    const page = at.cairn('post-mortem', 'r', '--html', 'page.html');
    // It is either not written, or not to be read by others.
    expect(page.code === 0 ? statSync(join(at.path, 'page.html')).mode & 0o077 : 0).toBe(0);
    const kept = at.file('kept.txt', 'kept');
    symlinkSync(kept, join(at.path, 'link.svg'));
    at.cairn('draw', 'w.yaml', '--out', 'link.svg');
    expect(readFileSync(kept, 'utf8')).toBe('kept');
  });

  describe('a call of a tool that a model asks for is permitted by a person', () => {
    const clerk = (): Place => {
      const at = place();
      at.file(
        'cairn.config.mjs',
        `import { createScriptedModels } from 'cairn-workflows/models';
export default { models: createScriptedModels(({ messages }) => (messages.length < 3 ? { calls: [{ tool: 'note', input: { text: 'Six.' } }] } : 'Done.')) };\n`,
      );
      at.file(
        'workflows/note.yaml',
        "name: note\ndescription: Notes.\ninputs: { text: { type: str } }\nblocks: [{ id: write, type: CreateFile, inputs: { path: note.txt, content: '${text}' } }]\n",
      );
      at.file(
        'workflows/clerk.yaml',
        'name: clerk\ndescription: Keeps notes.\nblocks: [{ id: clerk, type: Agent, inputs: { model: m, prompt: Go., workflows: [note] } }]\n',
      );
      at.file(
        'workflows/sure.yaml',
        'name: sure\ndescription: Asks.\nblocks: [{ id: sure, type: ConfirmOperation, inputs: { message: "Sure?", operation: pay } }]\n',
      );
      return at;
    };
    const config = ['--config', 'cairn.config.mjs'] as const;
    const isNoted = (at: Place): boolean => existsSync(join(at.path, 'note.txt'));

    test.each(['stdio', 'http'] as const)('and not by the client that it answers to, over %s', async (way) => {
      const at = clerk();
      const call = await (way === 'stdio' ? at.mcp(...config) : at.mcpOverHttp(...config));
      const { status, checkpoint_id: id, message } = await call('execute_workflow', { workflow: 'clerk', run_id: 'r' });
      expect([status, message]).toEqual([
        'paused',
        expect.stringMatching(/a person answers: (?:npx )?cairn answer r w_\S+ VALUE/u),
      ]);
      const tries = [
        ['resume_workflow', { checkpoint_id: id, llm_response: 'approve' }],
        ['resume_workflow', { checkpoint_id: id, answers: { clerk: 'approve' } }],
        ['resume_workflow', { checkpoint_id: 'r', retry: true }],
        ['fork_checkpoint', { checkpoint_id: 'r', answer: { clerk: 'approve' } }],
        ['fork_checkpoint', { checkpoint_id: 'r', set: { 'outputs.clerk': { response: { content: 'x' } } } }],
        ['delete_checkpoint', { checkpoint_id: id }],
      ] as const;
      for (const [name, args] of tries) {
        const { code, message: way = '' } = await call(name, args);
        expect([name, args, code]).toEqual([name, args, 'ANSWER_RESERVED']);
        expect(way).toMatch(/Ask the person to run: (?:npx )?cairn (?:answer|fork|rm) r/u);
      }
      expect([isNoted(at), (await call('get_run', { run_id: 'r' }))['status']]).toEqual([false, 'paused']);
      // What a workflow puts to the model stays answerable by it.
      const { checkpoint_id: sure } = await call('execute_workflow', { workflow: 'sure' });
      expect(await call('resume_workflow', { checkpoint_id: sure, llm_response: 'yes' })).toMatchObject({
        status: 'success',
      });
      // A person answers by the command that was named.
      expect(at.cairn('answer', 'r', 'approve', '--resume', '--store', 'runs.db', ...config).code).toBe(0);
      expect(isNoted(at)).toBe(true);
    });

    test('but by the person of a client that has forms, and by a client that is granted it', async () => {
      const at = clerk();
      const asked: string[] = [];
      const withForms = await at.mcpWithForms((message) => (asked.push(message), 'approve'), ...config);
      expect(await withForms('execute_workflow', { workflow: 'clerk' })).toMatchObject({ status: 'success' });
      expect([asked, isNoted(at)]).toEqual([[expect.stringMatching(/May the agent call note\?[^]*Six\./u)], true]);
      const other = clerk();
      const call = await other.mcp('--answers', 'anyone', ...config);
      const { checkpoint_id: id } = await call('execute_workflow', { workflow: 'clerk' });
      expect(isNoted(other)).toBe(false);
      expect(await call('resume_workflow', { checkpoint_id: id, llm_response: 'approve' })).toMatchObject({
        status: 'success',
      });
      expect(isNoted(other)).toBe(true);
    });

    test('with --answers person every question is: the run that waits is not removed, and an id with a dash is no option of a command', async () => {
      const at = clerk();
      const call = await at.mcp('--answers', 'person', ...config);
      const { checkpoint_id: id, message } = await call('execute_workflow', { workflow: 'sure', run_id: '-x' });
      expect(await call('resume_workflow', { checkpoint_id: id, llm_response: 'yes' })).toMatchObject({
        code: 'ANSWER_RESERVED',
      });
      expect(await call('delete_checkpoint', { checkpoint_id: id })).toMatchObject({ code: 'ANSWER_RESERVED' });
      expect(await call('get_run', { run_id: '-x' })).toMatchObject({ status: 'paused' });
      const command = /a person answers: (?:npx )?cairn (.*)$/u.exec(String(message))?.[1] ?? '';
      expect(command).toMatch(/ -- -x w_\S+ VALUE$/u);
      const answered = at.cairn(...command.replace('VALUE', 'yes').split(' '));
      expect([answered.code, answered.out]).toEqual([0, expect.stringContaining('completed -x@')]);
    });
  });

  test('a call with arguments that are nested too deep is told to the model, which goes on', () => {
    const [status, output, told] = place().program(`
import { z } from 'zod';
let deep = {}; for (let n = 0; n < 2_000; n += 1) deep = { deep };
const requests = [];
const models = createScriptedModels((request) => { requests.push(request); return request.messages.length < 3 ? { calls: [{ tool: 'look', input: deep }] } : 'Sorry.'; });
const look = tool({ description: 'Looks.', effect: 'read', input: z.any(), run: () => 'seen' });
const graph = new AgentGraph({}, { id: 'g' }).addNode('a', agent({ model: 'm', prompt: 'Go.', tools: { look } })).addEdge(START, 'a').addEdge('a', END).compile({ models });
const { status, state } = await graph.invoke({});
console.log(JSON.stringify([status, state.outputs.a, requests[1]?.messages.at(-1)])); await graph.close();
`) as readonly unknown[];
    expect([status, output]).toEqual(['completed', 'Sorry.']);
    expect(JSON.stringify(told)).toMatch(/nested deeper than \d+.*"isError":true/u);
  });
}
