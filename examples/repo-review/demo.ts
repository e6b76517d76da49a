/**
 * `npm run demo -- agent`: an agent reviews a small repository, on a cassette, so that it needs no account. In a terminal it asks on the
 * spot which findings to keep; elsewhere it stops at the question and prints the command that answers it.
 *
 * `--live provider:model` asks a real model, and reviews this repository. All other arguments go to `cairn run`.
 */
import { spawn } from 'node:child_process';
import { join, relative } from 'node:path';
import { makeSampleRepository } from './sample-repository.ts';

const main = join(import.meta.dirname, '../../src/cli/main.ts');
const own = (file: string): string => relative(process.cwd(), join(import.meta.dirname, file));

const args = process.argv.slice(2);
const at = args.indexOf('--live');
const [, model] = at < 0 ? [] : args.splice(at, 2);
if (at >= 0 && model?.includes(':') !== true) {
  console.error(
    '--live needs a model, such as anthropic:claude-opus-5: install ai and @ai-sdk/anthropic, and set its key.',
  );
  process.exit(2);
}

const repo = model === undefined ? makeSampleRepository('.cairn/demo/sample') : '.';
const child = spawn(
  process.execPath,
  [main, 'run', own('graph.ts'), '--config', own('cairn.config.ts'), '--input', `repo=${repo}`, ...args],
  {
    stdio: 'inherit',
    // The commands that it prints are to be those of the npm script, which finds this repository's Node.
    env: {
      ...process.env,
      npm_lifecycle_event: 'cairn',
      ...(model !== undefined && { REVIEW_MODEL: model }),
    },
  },
);
// Ctrl-C reaches the child too, which stops in good order and says how to go on.
process.on('SIGINT', () => undefined);
process.on('SIGTERM', () => child.kill('SIGTERM'));
child.on('close', (code) => {
  process.exitCode = code ?? 1;
});
