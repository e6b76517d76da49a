/**
 * Runs one command of the built `cairn` after another, each as if in a process of its own: with its folder, environment, standard streams
 * and exit code. Between two of them it waits for the next request without its event loop, so that nothing of a command goes on when it has
 * ended. Of `CommandHost`, which tells it in a pipe what to run, and reads from another how it ended.
 *
 * Argument: the executable, the pipe of requests, the pipe of replies.
 */
import { closeSync, createReadStream, openSync, type ReadStream, readSync, writeSync } from 'node:fs';
import { createRequire, registerHooks, syncBuiltinESMExports } from 'node:module';
import { dirname, join } from 'node:path';
import type { CommandReply, CommandRequest } from './command-host.ts';

const [, , main = '', requestPipe = '', replyPipe = ''] = process.argv;
const [requests, replies] = [openSync(requestPipe, 'r'), openSync(replyPipe, 'w')];
const require = createRequire(main);
const bin = join(dirname(main), 'bin');
const own = {
  exit: process.exit.bind(process),
  emitWarning: Object.getOwnPropertyDescriptor(process, 'emitWarning') as PropertyDescriptor,
  stdout: Object.getOwnPropertyDescriptor(process, 'stdout') as PropertyDescriptor,
};
let hasLoadedForeign = false;
let end: (code: number) => void = () => undefined;

// A module of a user keeps what it changed in itself: the next command must have it new.
registerHooks({
  load(url, context, next) {
    if (url.startsWith('file:') && !url.includes('/node_modules/') && !url.includes('/dist.test/'))
      hasLoadedForeign = true;
    return next(url, context);
  },
});

/** Ends the command, not the process. What follows in the function that called it does not run in a process that has ended either. */
process.exit = ((code?: number) => end(Number(code ?? process.exitCode ?? 0))) as typeof process.exit;
syncBuiltinESMExports();
require(join(dirname(main), 'use-built-doors.cjs'));

// A command that does not end its process has ended when there is nothing more to wait for.
process.on('beforeExit', () => void setImmediate(() => end(Number(process.exitCode ?? 0))));

/** Gives a file the number of a standard stream: the lowest that is free. */
function open(descriptor: number, path: string, flags: string): void {
  closeSync(descriptor);
  if (openSync(path, flags) !== descriptor) throw new Error(`${path} did not become descriptor ${descriptor}`);
}

function run({ args, cwd, environment, input, output, errors }: CommandRequest): Promise<number> {
  open(0, input, 'r');
  open(1, output, 'a');
  open(2, errors, 'a');
  process.chdir(cwd);
  for (const name of Object.keys(process.env)) if (!(name in environment)) delete process.env[name];
  Object.assign(process.env, environment);
  process.argv.splice(1, Infinity, main, ...args);
  process.exitCode = undefined;
  Object.defineProperty(process, 'emitWarning', own.emitWarning);
  Object.defineProperty(process, 'stdout', own.stdout);
  let stdin: ReadStream | undefined;
  Object.defineProperty(process, 'stdin', {
    get: () => (stdin ??= createReadStream('', { fd: 0, autoClose: false })),
    configurable: true,
  });
  return new Promise((resolve) => {
    end = resolve;
    const cairn = join(bin, 'cairn.cjs');
    delete require.cache[cairn];
    require(cairn);
  });
}

/** A line of JSON, for which the whole process waits. Undefined: there is nobody any more. */
function readRequest(): CommandRequest | undefined {
  const chunks: Buffer[] = [];
  while (chunks.at(-1)?.at(-1) !== 0x0a) {
    const chunk = Buffer.alloc(65_536);
    const size = readSync(requests, chunk);
    if (size === 0) return undefined;
    chunks.push(chunk.subarray(0, size));
  }
  return JSON.parse(Buffer.concat(chunks).toString()) as CommandRequest;
}

async function serve(): Promise<void> {
  for (let request = readRequest(); request !== undefined; request = readRequest()) {
    const code = await run(request);
    writeSync(replies, `${JSON.stringify({ code, isSpent: hasLoadedForeign } satisfies CommandReply)}\n`);
    if (hasLoadedForeign) break;
  }
  own.exit(0);
}

void serve();
