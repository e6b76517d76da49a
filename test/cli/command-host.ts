/**
 * A process that runs one command after another, for tests of what commands do and print: it loads the modules of `cairn` once, where a
 * process for each command takes a quarter of a second of CPU. A command that loads a module of a user ends it, because the module would
 * keep its state; the next one gets a new process.
 */
import { execFileSync, spawn } from 'node:child_process';
import { closeSync, mkdtempSync, openSync, readFileSync, readSync, rmSync, writeFileSync, writeSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

export interface CommandRequest {
  readonly args: readonly string[];
  readonly cwd: string;
  readonly environment: NodeJS.ProcessEnv;
  /** Paths of files for the standard streams. Both outputs may be one file. */
  readonly input: string;
  readonly output: string;
  readonly errors: string;
}

export interface CommandReply {
  readonly code: number;
  /** Whether the process ends because it has loaded a module of a user. */
  readonly isSpent: boolean;
}

interface Running {
  /** Of the pipes, and of the standard streams of the command. */
  readonly folder: string;
  readonly requests: number;
  readonly replies: number;
}

/** Starts when it is first used, and again when it is used after it was closed. */
export class CommandHost {
  readonly #main: string;
  #running: Running | undefined;

  /** @param main - the executable, as built for tests */
  constructor(main: string) {
    this.#main = main;
  }

  /**
   * Runs a command to its end.
   * @param isMerged - whether what is printed to standard error stands in `out`, as with `2>&1`
   */
  run(
    input: string,
    request: Pick<CommandRequest, 'args' | 'cwd' | 'environment'>,
    isMerged = false,
  ): CommandReply & { readonly out: string; readonly err: string } {
    this.#running ??= this.#start();
    const { folder, requests, replies } = this.#running;
    const [stdin, output, errorFile] = [join(folder, 'in'), join(folder, 'out'), join(folder, 'err')];
    const errors = isMerged ? output : errorFile;
    writeFileSync(stdin, input);
    for (const file of [output, errorFile]) writeFileSync(file, '');
    writeSync(requests, `${JSON.stringify({ ...request, input: stdin, output, errors } satisfies CommandRequest)}\n`);
    const bytes = Buffer.alloc(1_000);
    const size = readSync(replies, bytes);
    // No reply: the process is dead, as that of a command would be that throws outside of its promises.
    const reply =
      size === 0 ? { code: 1, isSpent: true } : (JSON.parse(bytes.toString('utf8', 0, size)) as CommandReply);
    const ended = { ...reply, out: readFileSync(output, 'utf8'), err: readFileSync(errorFile, 'utf8') };
    if (reply.isSpent) this.close();
    return ended;
  }

  #start(): Running {
    const folder = mkdtempSync(join(tmpdir(), 'cairn-host-'));
    const [requestPipe, replyPipe] = [join(folder, 'requests'), join(folder, 'replies')];
    execFileSync('mkfifo', [requestPipe, replyPipe]);
    // To open it for both does not wait for the other side.
    const requests = openSync(requestPipe, 'r+');
    const script = join(import.meta.dirname, 'serve-commands.ts');
    spawn(process.execPath, [script, this.#main, requestPipe, replyPipe], { stdio: 'ignore' }).unref();
    return { folder, requests, replies: openSync(replyPipe, 'r') };
  }

  /** Ends the process, and removes what it used. */
  close(): void {
    if (this.#running === undefined) return;
    const { folder, requests, replies } = this.#running;
    this.#running = undefined;
    closeSync(requests);
    closeSync(replies);
    rmSync(folder, { recursive: true, force: true });
  }
}
