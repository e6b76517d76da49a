/** What a model is shown of questions that were answered elsewhere and not taken yet. */
import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, expect, test } from 'vitest';
import { main } from '../cli/cairn.ts';
import { createWorkspace, serveHere } from './mcp-kit.ts';

const several = `
name: several
blocks:
  - { id: color, type: AskChoice, inputs: { question: "Which color?", choices: [red, green] } }
  - { id: size, type: GetInput, inputs: { prompt: "How large?", validation_pattern: "^[0-9]+$" } }
outputs: { color: "\${color.choice}", size: "\${size.input_value}" }
`;
const workspace = createWorkspace({ several });
afterAll(() => workspace.remove());

/** Answers at the command line, without going on. */
async function answerElsewhere(run: unknown, block: string, value: string): Promise<void> {
  const place = ['--store', join(workspace.folder, 'runs.db')];
  await promisify(execFile)('node', [main, 'answer', String(run), block, value, ...place], { cwd: workspace.folder });
}

test('W4.5 what is answered is no question any more; a run whose questions all are is named for a resume', async () => {
  const model = await (await serveHere(workspace)).connect();
  const { run_id: run } = await model.call('execute_workflow', { workflow: 'several' });
  const open = async () => {
    const { waits: questions, answered } = await model.call('list_questions', { run_id: run });
    const { waits: shown = [] } = await model.call('get_run', { run_id: run });
    const blocks = (of: unknown) => (of as readonly { readonly block: string }[]).map(({ block }) => block);
    return [blocks(questions), answered, blocks(shown)];
  };
  await answerElsewhere(run, 'color', 'red');
  expect(await open()).toEqual([['size'], [], ['size']]);
  await answerElsewhere(run, 'size', '4');
  expect(await open()).toEqual([[], [{ run_id: run, graph_id: 'several' }], []]);
  expect(await model.call('resume_workflow', { checkpoint_id: run })).toMatchObject({
    outputs: { color: 'red', size: '4' },
  });
  expect(await open()).toEqual([[], [], []]);
});
