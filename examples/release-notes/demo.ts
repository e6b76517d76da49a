/**
 * `npm run demo`: runs the example on this repository through the command line, as anyone would. In a terminal it asks on the spot;
 * elsewhere it stops at the question and prints the command that answers it.
 *
 * `npm run demo -- --kill-in NODE` kills the process in a node; `--input key=value` and all other arguments go to `cairn run`.
 */
import { spawnSync } from 'node:child_process';
import { join, relative } from 'node:path';
import { parseArgs } from 'node:util';
import { graph } from './graph.ts';

const root = join(import.meta.dirname, '../..');
const here = relative(process.cwd(), import.meta.dirname);
const nodeIds = graph.graph.structure.nodes.map(({ id }) => String(id));

const { values, positionals } = parseArgs({
  options: { 'kill-in': { type: 'string' }, input: { type: 'string', multiple: true, default: [] } },
  allowPositionals: true,
});
const killIn = values['kill-in'];
if (killIn !== undefined && !nodeIds.includes(killIn)) {
  console.error(`There is no node ${killIn}; the nodes are ${nodeIds.join(', ')}.`);
  process.exit(2);
}

const inputs = ['paceMs=400', ...values.input].flatMap((assignment) => ['--input', assignment]);
const command = ['run', join(here, 'kill-in-node.ts'), ...inputs, ...positionals];
const { status, signal } = spawnSync(process.execPath, [join(root, 'src/cli/main.ts'), ...command], {
  stdio: 'inherit',
  // The commands it prints are those of the npm script, which finds this repository's Node.
  env: { ...process.env, npm_lifecycle_event: 'cairn', ...(killIn !== undefined && { KILL_IN: killIn }) },
});
if (signal === 'SIGKILL') console.error('\nThe process was killed. What was committed is kept: npm run -s cairn -- ls');
process.exitCode = status ?? 1;
