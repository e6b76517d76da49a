/** Sandboxes of bubblewrap, on Linux: no network, no home, processes of their own. Debian's package `bubblewrap`. */
import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir, readdir, readFile, rmdir, stat, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { refuseUnknownKeys } from '../graph/known-keys.ts';
import type { SandboxLimits, Sandboxes } from '../ports/sandboxes.ts';
import { openLocalBox, tidy, unavailable } from './local-box.ts';

/** Options of {@link bubblewrap}. */
export interface BubblewrapOptions {
  /** Where the folders of sandboxes are. Default: the system's folder for temporary files. */
  readonly place?: string;
  /** Further files and folders of this machine that commands may read, such as `/opt/tools`. Default: `/usr` alone. */
  readonly readable?: readonly string[];
}

const execute = promisify(execFile);
/** The first of the user ids that commands run under if this process is root; each sandbox has its own. */
const firstUid = 700_000;
let nextUid = process.pid % 50_000;

/**
 * Sandboxes of bubblewrap. Commands see `/usr`, their folder as `/box`, and an empty `/tmp`; not the network, other processes, or anyone's
 * home. Processes and memory are bounded by a cgroup where this process may make one, and by limits of a user that is not root. It never falls
 * back to running a command without all that.
 * @throws CONFIG_INVALID; its sandboxes: SANDBOX_UNAVAILABLE
 */
export function bubblewrap(options: BubblewrapOptions = {}): Sandboxes {
  refuseUnknownKeys('bubblewrap', options, ['place', 'readable']);
  const { place, readable = [] } = options;
  let checked: Promise<void> | undefined;
  return {
    name: 'bubblewrap',
    isolates: true,
    create: async ({ network, limits }) => {
      await (checked ??= check().catch((error: unknown) => {
        checked = undefined;
        throw error;
      }));
      const isRoot = process.getuid?.() === 0;
      nextUid = (nextUid + 1) % 50_000;
      const uid = firstUid + nextUid;
      const owner = { uid, gid: uid };
      return openLocalBox(place, limits.diskBytes, async (folder) => {
        const group = isRoot ? await openGroup(folder.split('/').at(-2) ?? '', limits) : undefined;
        const taken = isRoot ? 0 : await countThreads();
        const bounds = boundsOf(limits, taken);
        return {
          name: 'bubblewrap',
          ...(isRoot && { owner }),
          // bwrap reports the exit code of a command that began, and nothing of one that did not.
          isRefused: ({ status }) => !status.includes('"exit-code"'),
          namespaceOf: (status) => Number(/"pid-namespace": (\d+)/u.exec(status)?.[1]) || undefined,
          argv: (argv, env) => [
            ...(group === undefined
              ? []
              : [
                  '/bin/sh',
                  '-c',
                  'n=$1; shift; while [ "$n" -gt 0 ]; do echo $$ > "$1" || exit 125; shift; n=$((n-1)); done; exec "$@"',
                  'sh',
                  String(group.files.length),
                  ...group.files,
                ]),
            ...(isRoot
              ? ['setpriv', `--reuid=${uid}`, `--regid=${uid}`, '--clear-groups', '--inh-caps=-all', '--no-new-privs']
              : []),
            'prlimit',
            ...bounds,
            '--',
            'bwrap',
            '--json-status-fd',
            '3',
            ...enclosure(folder, { network, readable, env, diskBytes: limits.diskBytes }),
            '--',
            ...argv,
          ],
          ...(group !== undefined && { onClose: group.close }),
        };
      });
    },
  };
}

function boundsOf({ processes, memoryBytes, diskBytes }: Required<SandboxLimits>, taken: number): readonly string[] {
  return [`--nproc=${processes + taken}`, `--as=${memoryBytes}`, `--fsize=${diskBytes}`, '--core=0', '--nofile=1024'];
}

/** The arguments that say what a command sees. */
function enclosure(
  folder: string,
  {
    network,
    readable,
    env,
    diskBytes,
  }: {
    readonly network: boolean;
    readonly readable: readonly string[];
    readonly env: Readonly<Record<string, string>>;
    readonly diskBytes: number;
  },
): readonly string[] {
  const seen = [...readable, ...(network ? ['/etc/resolv.conf', '/etc/hosts', '/etc/nsswitch.conf', '/etc/ssl'] : [])];
  const variables = { PATH: '/usr/local/bin:/usr/bin:/bin', HOME: '/box', LANG: 'C.UTF-8', ...env };
  return [
    '--unshare-all',
    '--unshare-user',
    '--disable-userns',
    ...(network ? ['--share-net'] : []),
    '--die-with-parent',
    '--new-session',
    '--hostname',
    'box',
    '--clearenv',
    '--cap-drop',
    'ALL',
    ...Object.entries(variables).flatMap(([name, value]) => ['--setenv', name, value]),
    '--ro-bind',
    '/usr',
    '/usr',
    ...['bin', 'sbin', 'lib', 'lib64'].flatMap((name) =>
      existsSync(`/usr/${name}`) ? ['--symlink', `usr/${name}`, `/${name}`] : [],
    ),
    '--proc',
    '/proc',
    '--dev',
    '/dev',
    '--size',
    String(diskBytes),
    '--tmpfs',
    '/tmp',
    ...seen.flatMap((path) => ['--ro-bind-try', path, path]),
    '--remount-ro',
    '/dev',
    '--bind',
    folder,
    '/box',
    '--chdir',
    '/box',
    '--remount-ro',
    '/',
  ];
}

/** @throws SANDBOX_UNAVAILABLE bubblewrap is not there, or the kernel refuses it here */
async function check(): Promise<void> {
  if (process.platform !== 'linux') throw unavailable('bubblewrap', 'it is there for Linux only');
  const isRoot = process.getuid?.() === 0;
  const user = isRoot
    ? ['setpriv', `--reuid=${firstUid}`, `--regid=${firstUid}`, '--clear-groups', '--inh-caps=-all', '--no-new-privs']
    : [];
  const [file, ...args] = [
    ...user,
    'prlimit',
    '--core=0',
    '--',
    'bwrap',
    ...enclosure('/tmp', { network: false, readable: [], env: {}, diskBytes: 1 << 20 }),
    '--',
    '/bin/true',
  ];
  await execute(file, args).catch((error: NodeJS.ErrnoException & { readonly stderr?: string }) => {
    const lastLine = (error.stderr ?? '').trim().split('\n').at(-1) ?? '';
    const isMissing = error.code === 'ENOENT' || /no such file or directory/iu.test(lastLine);
    throw unavailable(
      'bubblewrap',
      isMissing
        ? 'bwrap is not installed: apt-get install bubblewrap util-linux'
        : `it is refused here: ${lastLine || error.message}`,
    );
  });
}

interface Group {
  /** Files that a process writes its id into, to be bounded. */
  readonly files: readonly string[];
  readonly close: () => Promise<void>;
}

/** Makes a control group with these bounds, of either version. Undefined where none can be made: then the user's limits alone hold. */
async function openGroup(
  name: string,
  { processes, memoryBytes }: Required<SandboxLimits>,
): Promise<Group | undefined> {
  const root = '/sys/fs/cgroup';
  const isV2 = await stat(join(root, 'cgroup.controllers')).then(
    () => true,
    () => false,
  );
  const bounds: readonly (readonly [string, Readonly<Record<string, string>>])[] = isV2
    ? [[join(root, name), { 'pids.max': String(processes), 'memory.max': String(memoryBytes), 'memory.swap.max': '0' }]]
    : [
        [join(root, 'pids', name), { 'pids.max': String(processes) }],
        [join(root, 'memory', name), { 'memory.limit_in_bytes': String(memoryBytes) }],
      ];
  const made: string[] = [];
  // The kernel needs a moment after the last process of a group is gone.
  const close = async (): Promise<void> => {
    for (const path of made)
      for (let attempt = 0; attempt < 50; attempt += 1) {
        const isGone = await rmdir(path).then(
          () => true,
          (error: NodeJS.ErrnoException) => error.code !== 'EBUSY',
        );
        if (isGone) break;
        await sleep(20);
      }
  };
  try {
    for (const [path, values] of bounds) {
      // A process that was killed could not remove its groups.
      await tidy(dirname(path), rmdir);
      await mkdir(path);
      made.push(path);
      for (const [file, value] of Object.entries(values))
        if (existsSync(join(path, file)) || file !== 'memory.swap.max') await writeFile(join(path, file), value);
    }
    return { files: made.map((path) => join(path, 'cgroup.procs')), close };
  } catch {
    await close();
    return undefined;
  }
}

/** How many threads this user has: the kernel counts those of a sandbox with them. */
async function countThreads(): Promise<number> {
  const uid = process.getuid?.();
  let count = 0;
  for (const pid of await readdir('/proc')) {
    if (!/^\d+$/u.test(pid)) continue;
    const status = await readFile(`/proc/${pid}/status`, 'utf8').catch(() => '');
    if (Number(/^Uid:\t(\d+)/mu.exec(status)?.[1]) === uid)
      count += Number(/^Threads:\t(\d+)/mu.exec(status)?.[1] ?? 0);
  }
  return count;
}
