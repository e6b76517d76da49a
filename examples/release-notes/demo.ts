/**
 * `npm run demo`: runs the example on this repository through the command line, as anyone would. In a terminal it asks on the spot;
 * elsewhere it stops at the question and prints the command that answers it.
 *
 * `npm run demo -- --kill-in NODE` kills the process in that node. All other arguments go to `cairn run`.
 */
import { spawn, spawnSync } from 'node:child_process';
import { join, relative } from 'node:path';
import { graph } from './graph.ts';

const main = join(import.meta.dirname, '../../src/cli/main.ts');
const module = relative(process.cwd(), join(import.meta.dirname, 'kill-in-node.ts'));
const nodeIds = [...graph.graph.nodeIndex.keys()].filter((id) => !id.startsWith('__'));

const args = process.argv.slice(2);
const at = args.indexOf('--kill-in');
const [, killIn] = at < 0 ? [] : args.splice(at, 2);
if (at >= 0 && !nodeIds.includes(killIn ?? '')) {
  console.error(`--kill-in needs one of the nodes ${nodeIds.join(', ')}.`);
  process.exit(2);
}

/** The run that was named, if it was there before: the demo then only shows it again. */
function knownRun(): string | undefined {
  const runId = args[args.indexOf('--run-id') + 1];
  if (!args.includes('--run-id') || runId === undefined) return undefined;
  return spawnSync(process.execPath, [main, 'log', runId, '--limit', '1', '--json']).status === 0 ? runId : undefined;
}

const known = knownRun();
const child = spawn(process.execPath, [main, 'run', module, '--input', 'paceMs=400', ...args], {
  stdio: 'inherit',
  // The commands that it prints are to be those of the npm script, which finds this repository's Node.
  env: { ...process.env, npm_lifecycle_event: 'cairn', ...(killIn !== undefined && { KILL_IN: killIn }) },
});
// Ctrl-C reaches the child too, which stops in good order and says how to go on.
process.on('SIGINT', () => undefined);
process.on('SIGTERM', () => child.kill('SIGTERM'));
child.on('close', (code, signal) => {
  if (signal === 'SIGKILL')
    console.error('\nThe process was killed. What was committed is kept: npm run -s cairn -- ls');
  else if (known !== undefined)
    console.error(
      `\nRun ${known} was there before. To start over, take another id: npm run demo -- --run-id ${known}-2, or forget all runs first: rm -r .cairn`,
    );
  process.exitCode = signal === 'SIGKILL' && killIn !== undefined ? 0 : (code ?? 1);
});
