/** The shell tool: what a program said, what is not run at all, and who is asked (A32). */
import { expect, test } from 'vitest';
import { createBench, edges, graphOf, runToRest } from '../../../test/engine-kit.ts';
import type { RunResult } from '../../engine/api.ts';
import { createScriptedModels } from '../../models/scripted.ts';
import { secret } from '../../nodes/secrets/secret.ts';
import { agent } from '../agent.ts';
import { shellTool, type ShellToolOptions } from './shell-tool.ts';

interface Ran {
  readonly result: RunResult;
  /** What the model was told of each command. */
  readonly told: readonly unknown[];
}

async function run(
  commands: readonly (readonly string[])[],
  options: ShellToolOptions,
  allow = ['shell'],
): Promise<Ran> {
  const models = createScriptedModels([
    { calls: commands.map((command) => ({ tool: 'shell', input: { command } })) },
    'Done.',
  ]);
  const { engine } = createBench({ models, secrets: { read: async () => 'hunter2-planted' } });
  const node = agent({
    model: 'm',
    prompt: 'Go.',
    tools: { shell: shellTool({ timeoutMs: 1e12, ...options }) },
    allow,
  });
  const result = await runToRest(engine, graphOf('g', [{ id: 'a', ...node }], edges('> a', 'a >')));
  const last = models.requests[1]?.messages.at(-1);
  return { result, told: last?.role === 'tool' ? last.content.map(({ output }) => output) : [] };
}

test('A32 the model is told exit code and output; what fails to start is a failure, and no argument is read by a shell', async () => {
  const { told } = await run(
    [['printf', '%s', '$(id); `x` "y"'], ['sh', '-c', 'echo no >&2; exit 3'], ['no-such-program']],
    {},
  );
  expect(told).toEqual([
    { exitCode: 0, stdout: '$(id); `x` "y"' },
    { exitCode: 3, stdout: '', stderr: 'no\n' },
    'shell failed: no-such-program could not be started (ENOENT)',
  ]);
});

test('A6 A32 a person is asked with the command, unless the agent may or the class says that nothing is changed', async () => {
  const asked = await run([['true']], {}, []);
  expect(asked.result.waits[0]?.metadata).toEqual({ tool: 'shell', args: { command: ['true'] } });
  expect((await run([['true']], {})).told).toEqual([{ exitCode: 0, stdout: '' }]);
  const effect = 'read';
  expect((await run([['true']], { effect }, [])).result.status).toBe('completed');
  const approval = ({ command }: { readonly command: readonly string[] }): boolean => command[0] !== 'true';
  expect((await run([['true']], { approval }, [])).result.status).toBe('completed');
  expect((await run([['id']], { approval }, [])).result.waits).toHaveLength(1);
});

test('A32 what is refused is never started, and the model is told why', async () => {
  const refuses = ([program]: readonly string[]): string | undefined => (program === 'git' ? undefined : 'only git');
  expect((await run([['sh', '-c', 'kill -9 $PPID']], { refuses })).told).toEqual(['shell failed: only git']);
});

test('A32 secrets reach a program and not the model; long output reaches it as head and tail', async () => {
  const env = { TOKEN: secret('TOKEN') };
  const { told } = await run(
    [
      ['sh', '-c', 'echo "it is $TOKEN"'],
      ['seq', '1', '10000'],
    ],
    { env, outputBytesMax: 100 },
  );
  expect(told[0]).toEqual({ exitCode: 0, stdout: 'it is [secret:TOKEN]\n' });
  expect((told[1] as { readonly stdout: string }).stdout).toMatch(/^1\n2\n[^]*bytes left out\][^]*10000\n$/);
});
