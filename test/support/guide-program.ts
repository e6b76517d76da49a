/** A program around code of a guide, in processes that are killed: what the page shows is run as it stands, from the source. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { packageDoors } from './package-doors.ts';

export interface GuideProgram {
  /** Holds the files that the page shows, and `run.ts`, which is the program; it can be bundled. It is the working folder of the processes. */
  readonly folder: string;
  /** Starts the program, and kills it when it has printed a line. @returns the line, which is JSON; or how the process ended without one */
  firstLine(args: readonly string[], environment?: NodeJS.ProcessEnv): Promise<unknown>;
  remove(): void;
}

/** The code with paths for the package's doors. */
const withDoors = (code: string): string =>
  code.replaceAll(/'(cairn-workflows[\w/-]*)'/gu, (whole, name: string) => {
    const door = packageDoors[name];
    return door === undefined ? whole : `'${door}'`;
  });

/** @param page - in `docs/guide`; its blocks that begin with ```ts file=NAME are files @param program - imports them, prints a line, and does not end */
export function openGuideProgram(page: string, program: string): GuideProgram {
  const folder = mkdtempSync(join(tmpdir(), 'cairn-guide-'));
  const guide = readFileSync(join(import.meta.dirname, '../../docs/guide', page), 'utf8');
  for (const [, name = '', code = ''] of guide.matchAll(/^```ts file=(\S+)\n(.*?)^```$/gmsu))
    writeFileSync(join(folder, name), withDoors(code));
  writeFileSync(join(folder, 'run.ts'), withDoors(program));
  return {
    folder,
    async firstLine(args, environment = {}) {
      const child = spawn(process.execPath, ['--disable-warning=ExperimentalWarning', 'run.ts', ...args], {
        cwd: folder,
        stdio: ['ignore', 'pipe', 'inherit'],
        env: { ...process.env, ...environment },
      });
      const ended = once(child, 'close');
      try {
        const [line] = (await Promise.race([once(createInterface(child.stdout), 'line'), ended])) as [unknown];
        return typeof line === 'string' ? JSON.parse(line) : `it ended with ${String(line)}`;
      } finally {
        child.kill('SIGKILL');
        await ended;
      }
    },
    remove: () => rmSync(folder, { recursive: true, force: true }),
  };
}
