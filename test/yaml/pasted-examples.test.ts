/** Two workflows as their authors wrote them years before this dialect, pasted as they are, over the command line and over MCP. */
import { chmodSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from 'vitest';
import { openFolder } from '../cli/cairn.ts';
import { connectStdio, createWorkspace, type Workspace } from '../mcp/mcp-kit.ts';

const textOf = (name: string): string => readFileSync(join(import.meta.dirname, 'fixtures', `${name}.yaml`), 'utf8');
// Each command is a process.
vi.setConfig({ testTimeout: 60_000 });
const folder = openFolder();
const path = process.env['PATH'] ?? '';

/** The programs that the first workflow calls, so that it calls them as it says. */
beforeAll(() => {
  mkdirSync(join(folder.path, 'bin'));
  for (const name of ['pytest', 'kubectl']) {
    writeFileSync(join(folder.path, 'bin', name), `#!/bin/sh\necho "${name} $*" >> "${folder.path}/calls"\n`);
    chmodSync(join(folder.path, 'bin', name), 0o755);
  }
  for (const name of ['interactive-approval', 'multi-step-questionnaire']) folder.write(`${name}.yaml`, textOf(name));
});
afterAll(() => {
  process.env['PATH'] = path;
});

const inputs = { project: 'my-app', environment: 'production' };
const approvalPrompt = "Confirm operation: Tests passed. Deploy my-app to production?\n\nRespond with 'yes' or 'no'";
const approved = { deployment_approved: true, deployment_success: true };
const answers = ['yes', '1', 'my-awesome-app', 'yes'];
const created = { project_name: 'my-awesome-app', project_type: 'python-fastapi', project_created: true };

interface Standing {
  readonly status: string;
  readonly waits: readonly { readonly prompt: string }[];
  readonly outputs?: unknown;
}

describe('over the command line', () => {
  const environment: NodeJS.ProcessEnv = process.env;
  const run = (...args: readonly string[]): Standing => folder.json(...args) as Standing;

  test('interactive-approval asks once, and deploys after a yes', () => {
    environment['PATH'] = `${join(folder.path, 'bin')}:${path}`;
    const given = Object.entries(inputs).flatMap(([name, value]) => ['--input', `${name}=${value}`]);
    const reply = folder.cairn('run', 'interactive-approval.yaml', '--run-id', 'approval', ...given);
    expect(reply.out).toContain('Confirm operation: Tests passed. Deploy my-app to production?');
    expect(folder.lines('calls')).toEqual(['pytest tests/ -v']);
    const done = folder.cairn('answer', 'approval', 'yes', '--resume');
    expect(done.out).toContain(JSON.stringify(approved, null, 2));
    expect(folder.lines('calls')).toEqual(['pytest tests/ -v', 'kubectl apply -f k8s/']);
  });

  test('multi-step-questionnaire asks four times, and makes the folder', () => {
    expect(run('run', 'multi-step-questionnaire.yaml', '--run-id', 'wizard').status).toBe('paused');
    const replies = answers.map((value) => folder.cairn('answer', 'wizard', value, '--resume'));
    expect(replies.map(({ code }) => code)).toEqual([0, 0, 0, 0]);
    expect(replies[2]?.out).toContain('- Name: my-awesome-app\n');
    expect(replies[3]?.out).toContain(JSON.stringify(created, null, 2));
    expect(existsSync(join(folder.path, 'my-awesome-app'))).toBe(true);
  });
});

describe('over MCP', () => {
  const workspaces: Workspace[] = [];
  afterEach(async () => {
    for (const workspace of workspaces.splice(0)) await workspace.remove();
  });
  const open = (): Workspace => {
    const names = ['interactive-approval', 'multi-step-questionnaire'];
    const workspace = createWorkspace(Object.fromEntries(names.map((name) => [name, textOf(name)])));
    workspaces.push(workspace);
    return workspace;
  };

  test('interactive-approval: execute_workflow pauses, resume_workflow deploys', async () => {
    const connection = await connectStdio(open(), {}, [], { PATH: `${join(folder.path, 'bin')}:${path}` });
    const paused = await connection.call('execute_workflow', { workflow: 'interactive-approval', inputs });
    expect(paused).toMatchObject({ status: 'paused', prompt: approvalPrompt });
    const done = await connection.call('resume_workflow', {
      checkpoint_id: paused['checkpoint_id'],
      llm_response: 'yes',
    });
    expect(done).toMatchObject({
      status: 'success',
      outputs: approved,
      message: 'Workflow completed successfully',
    });
  });

  test('multi-step-questionnaire: four cycles of pause and resume', async () => {
    const connection = await connectStdio(open());
    let standing = await connection.call('execute_workflow', { workflow: 'config-wizard' });
    for (const answer of answers) {
      expect(standing).toMatchObject({ status: 'paused' });
      standing = await connection.call('resume_workflow', {
        checkpoint_id: standing['checkpoint_id'],
        llm_response: answer,
      });
    }
    expect(standing).toMatchObject({ status: 'success', outputs: created });
  });
});
