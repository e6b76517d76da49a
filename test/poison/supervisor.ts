/** What keeps a worker alive in production: a process that starts it again whenever it has died. */
import { spawn, type ChildProcess, type SpawnOptions } from 'node:child_process';
import { once } from 'node:events';

/** Starts a worker, and another one whenever it has died, as a supervisor does. */
export class Supervisor {
  lives = 0;
  output = '';
  readonly #args: readonly string[];
  readonly #options: SpawnOptions;
  #worker: ChildProcess | undefined;
  #isOver = false;

  /** @param args - of Node */
  constructor(args: readonly string[], options: SpawnOptions = {}) {
    this.#args = args;
    this.#options = options;
    this.#start();
  }

  #start(): void {
    this.lives += 1;
    const worker = spawn(process.execPath, this.#args, { ...this.#options, stdio: 'pipe' });
    this.#worker = worker;
    for (const stream of [worker.stdout, worker.stderr])
      stream?.on('data', (chunk: Buffer) => (this.output += chunk.toString()));
    worker.once('exit', () => {
      if (!this.#isOver) this.#start();
    });
  }

  /** Kills the process that is alive now, and its children if it has a process group of its own. */
  kill(): void {
    const pid = this.#worker?.pid;
    if (pid !== undefined) process.kill(this.#options.detached === true ? -pid : pid, 'SIGKILL');
  }

  async stop(): Promise<void> {
    this.#isOver = true;
    const worker = this.#worker;
    if (worker === undefined || worker.exitCode !== null || worker.signalCode !== null) return;
    const isOver = once(worker, 'exit');
    this.kill();
    await isOver;
  }
}
