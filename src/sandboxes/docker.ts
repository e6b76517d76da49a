/** Sandboxes of Docker, by its command line: on any platform on which an engine answers. Podman understands the same. */
import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { CairnError } from '../errors.ts';
import { refuseUnknownKeys } from '../graph/known-keys.ts';
import type { Sandboxes } from '../ports/sandboxes.ts';
import { openLocalBox, unavailable } from './local-box.ts';

/** Options of {@link docker}. */
export interface DockerOptions {
  /** The image in which commands run, such as `python:3.13-slim`. It must be there: nothing is pulled. */
  readonly image: string;
  /** The program that is called. Default: `docker`. */
  readonly program?: string;
  /** Where the folders of sandboxes are; the engine must see it. Default: the system's folder for temporary files. */
  readonly place?: string;
}

const execute = promisify(execFile);
/** An engine that does not answer within this is not there. In milliseconds. */
const answerMs = 20_000;

/**
 * Sandboxes of Docker. Each command is a container of its own, without capabilities and with a read-only root; it sees the image, its folder
 * as `/box`, and an empty `/tmp`, and no network. It isolates as the engine does. It never falls back to running a command without it.
 * @throws CONFIG_INVALID; its sandboxes: SANDBOX_UNAVAILABLE
 */
export function docker(options: DockerOptions): Sandboxes {
  refuseUnknownKeys('docker', options, ['image', 'program', 'place']);
  const { image, program = 'docker', place } = options;
  if (typeof image !== 'string' || !/^[\w][\w./:@-]*$/u.test(image))
    throw new CairnError('CONFIG_INVALID', { reason: "docker: image must be named, such as 'python:3.13-slim'" });
  if (place?.includes(',') === true)
    throw new CairnError('CONFIG_INVALID', { reason: 'docker: place must not have a comma in its path' });
  let checked: Promise<void> | undefined;
  return {
    name: `docker ${image}`,
    isolates: true,
    create: async ({ network, limits }) => {
      await (checked ??= check(program, image).catch((error: unknown) => {
        checked = undefined;
        throw error;
      }));
      const [uid, gid] = [process.getuid?.(), process.getgid?.()];
      // As root this process would own what commands write; they run as nobody then.
      const owner = uid === 0 ? { uid: 65_534, gid: 65_534 } : undefined;
      const user = owner ?? (uid === undefined ? undefined : { uid, gid: gid ?? uid });
      return openLocalBox(place, limits.diskBytes, (folder) => ({
        name: 'docker',
        ...(owner !== undefined && { owner }),
        // The engine's own failures have this code, and so may a command: only a container that was made can have run one.
        isRefused: ({ exitCode, command }) => exitCode === 125 && !existsSync(idFile(folder, command)),
        argv: (argv, env, name) => [
          program,
          'run',
          '--rm',
          '--interactive',
          '--init',
          `--name=${name}`,
          `--cidfile=${idFile(folder, name)}`,
          '--pull=never',
          `--network=${network ? 'bridge' : 'none'}`,
          '--hostname=box',
          '--read-only',
          `--tmpfs=/tmp:rw,nosuid,nodev,size=${limits.diskBytes}`,
          '--cap-drop=ALL',
          '--security-opt=no-new-privileges',
          `--pids-limit=${limits.processes}`,
          `--memory=${limits.memoryBytes}`,
          `--memory-swap=${limits.memoryBytes}`,
          `--ulimit=fsize=${limits.diskBytes}`,
          ...(user === undefined ? [] : [`--user=${user.uid}:${user.gid}`]),
          `--mount=type=bind,src=${folder},dst=/box`,
          '--workdir=/box',
          ...Object.entries({ HOME: '/box', LANG: 'C.UTF-8', ...env }).map(([key, value]) => `--env=${key}=${value}`),
          '--entrypoint=',
          image,
          ...argv,
        ],
        // The container is the engine's, and does not end with the program that started it.
        onKilled: async (name) => void (await execute(program, ['rm', '--force', name]).catch(() => undefined)),
      }));
    },
  };
}

/** Where the engine's program writes the id of a container that it made: beside the folder, out of the command's reach. */
const idFile = (folder: string, name: string): string => join(dirname(folder), `${name}.id`);

/** @throws SANDBOX_UNAVAILABLE there is no program, no engine that answers, or no image */
async function check(program: string, image: string): Promise<void> {
  const ask = (args: readonly string[], missing: string): Promise<unknown> =>
    execute(program, args, { timeout: answerMs }).catch(
      (error: NodeJS.ErrnoException & { readonly stderr?: string }) => {
        const lastLine = (error.stderr ?? '').trim().split('\n').at(-1)?.slice(0, 300) ?? '';
        throw unavailable(
          'docker',
          error.code === 'ENOENT'
            ? `${program} is not installed`
            : `${missing}${lastLine === '' ? '' : `: ${lastLine}`}`,
        );
      },
    );
  await ask(['version', '--format', '{{.Server.Version}}'], 'no engine answers');
  await ask(['image', 'inspect', '--format', '{{.Id}}', image], `the image ${image} is not there (pull it first)`);
}
