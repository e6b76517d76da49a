/** Runs the command line in a terminal, which `script` (util-linux) makes: for what is only asked where a person is. */
import { spawn, spawnSync } from 'node:child_process';
import { stripVTControlCharacters } from 'node:util';
import { until, within } from '../support/awaited.ts';
import { environment, main, type Folder } from './cairn.ts';

/** Whether terminals can be made here. */
export const hasTerminals: boolean =
  process.platform === 'linux' &&
  spawnSync('script', ['--version'], { encoding: 'utf8' }).stdout?.includes('util-linux');

export interface Terminal {
  /** Types keys, as if a person did. */
  type(keys: string): void;
  /** Waits until a text was shown, control characters left out. */
  shows(text: string | RegExp): Promise<void>;
  /** Waits for the end. @returns the exit code, all that was shown, and what the terminal was sent for that */
  ended(): Promise<{ readonly code: number | null; readonly shown: string; readonly sent: string }>;
}

const quote = (word: string): string => `'${word.replaceAll("'", "'\\''")}'`;

/** Runs a command in a terminal of 80 columns. */
export function inTerminal(folder: Folder, ...args: readonly string[]): Terminal {
  return inTerminalOf('cols 80 rows 24', folder, ...args);
}

/** The same in a terminal of another size, in the words of `stty`. */
export function inTerminalOf(size: string, folder: Folder, ...args: readonly string[]): Terminal {
  const line = ['node', main, ...args].map(quote).join(' ');
  const child = spawn('script', ['-qec', `stty ${size}; exec ${line}`, '/dev/null'], {
    cwd: folder.path,
    env: { ...environment(), CI: undefined, COLUMNS: undefined, TERM: 'xterm', SHELL: '/bin/sh' },
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  let shown = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    shown += text;
  });
  const readShown = (): string => stripVTControlCharacters(shown).replaceAll('\r', '');
  const closed = new Promise<number | null>((resolve) => void child.once('close', resolve));
  return {
    type: (keys) => void child.stdin.write(keys),
    async shows(text) {
      await until(`the terminal shows ${String(text)}`, () => readShown().search(text) >= 0, 10).catch(
        (error: Error) => {
          throw new Error(`${error.message}; it shows: ${readShown()}`);
        },
      );
    },
    async ended() {
      const code = await within('the command ends', closed, async () => `; the terminal shows: ${readShown()}`);
      return { code, shown: readShown(), sent: shown };
    },
  };
}
