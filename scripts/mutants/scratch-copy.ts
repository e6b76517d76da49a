/** A copy of the project in which files may be changed and tests run, beside the one that somebody works in. */
import { spawn, spawnSync } from 'node:child_process';
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';

/** Longer than any of these tests takes; what takes longer hangs. */
const testMs = 45_000;
const runMs = 300_000;

/** How the tests of a copy ended. */
export interface TestRun {
  readonly hasPassed: boolean;
  /** The title of the first test that failed; undefined if none did, for instance because a file could not be loaded. */
  readonly failed: string | undefined;
  /** All that was printed. */
  readonly output: string;
}

/** A copy of what is in the folder and not ignored, uncommitted changes included; packages are shared. */
export class ScratchCopy {
  readonly #folder = mkdtempSync(join(tmpdir(), 'cairn-mutants-'));

  constructor(root: string) {
    const listed = spawnSync('git', ['ls-files', '-z', '--cached', '--others', '--exclude-standard'], { cwd: root });
    const paths = listed.stdout.toString().split('\0');
    for (const path of paths.filter((name) => name !== '' && existsSync(join(root, name)))) {
      mkdirSync(dirname(join(this.#folder, path)), { recursive: true });
      copyFileSync(join(root, path), join(this.#folder, path));
    }
    symlinkSync(join(root, 'node_modules'), join(this.#folder, 'node_modules'));
  }

  read(path: string): string {
    return existsSync(join(this.#folder, path)) ? readFileSync(join(this.#folder, path), 'utf8') : '';
  }

  write(path: string, text: string): void {
    writeFileSync(join(this.#folder, path), text);
  }

  /** Runs test files until one test fails. Whoever hangs is ended, with all the processes it started. */
  async runTests(files: readonly string[]): Promise<TestRun> {
    const vitest = join('node_modules', 'vitest', 'vitest.mjs');
    const options = ['run', '--bail=1', '--maxWorkers=1', `--testTimeout=${testMs}`];
    const child = spawn(process.execPath, [vitest, ...options, ...files], {
      cwd: this.#folder,
      detached: true,
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    const chunks: Buffer[] = [];
    for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk: Buffer) => void chunks.push(chunk));
    let isHung = false;
    const timer = setTimeout(() => {
      isHung = true;
      process.kill(-(child.pid as number), 'SIGKILL');
    }, runMs);
    const code = await new Promise<number | null>((resolve) => child.on('close', resolve));
    clearTimeout(timer);
    const output = Buffer.concat(chunks).toString();
    const title = / > /.exec(output) === null ? undefined : /^failed: (.* > .*)$/m.exec(output)?.[1];
    return { hasPassed: code === 0, failed: isHung ? `no end within ${runMs / 1_000} s` : title, output };
  }

  remove(): void {
    rmSync(this.#folder, { recursive: true, force: true });
  }
}
