/** The package as users get it: built, packed and installed by npm, in a folder where nothing of the repository is. */
import { execFileSync } from 'node:child_process';
import {
  cpSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

export const root: string = join(import.meta.dirname, '../..');

export interface Manifest {
  readonly bin: Readonly<Record<string, string>>;
  readonly exports: Readonly<Record<string, string | Readonly<Record<string, string>>>>;
  readonly version: string;
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly peerDependencies: Readonly<Record<string, string>>;
}

export const manifest: Manifest = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as Manifest;

export interface InstalledPackage {
  /** A folder of a user's, in which the package is installed without its optional peers. */
  readonly app: string;
  /** Where it is installed. */
  readonly home: string;
  /** What `npm pack` made. */
  readonly archive: string;
  /** The executable `cairn`. */
  readonly executable: string;
  remove(): void;
}

export function run(command: string, args: readonly string[], cwd: string): string {
  return execFileSync(command, args, { cwd, encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] });
}

const packed = ['package.json', 'README.md', 'CHANGELOG.md', 'LICENSE', 'tsconfig.json'] as const;
const built = ['tsconfig.build.json', 'scripts', 'src', 'studio', 'docs'] as const;

/** Packs a copy, so that the folder `dist` of the repository is left alone. */
export function installPackage(): InstalledPackage {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), 'cairn-package-')));
  const copy = join(folder, 'copy');
  mkdirSync(copy);
  for (const name of [...packed, ...built]) cpSync(join(root, name), join(copy, name), { recursive: true });
  symlinkSync(join(root, 'node_modules'), join(copy, 'node_modules'));
  // What `npm pack` runs first, but for the look whether all is installed: in a linked folder it could take away what others use.
  run(process.execPath, ['scripts/build.ts'], copy);
  run('npm', ['pack', '--ignore-scripts', '--silent', '--pack-destination', folder], copy);
  rmSync(copy, { recursive: true });
  const app = join(folder, 'app');
  mkdirSync(app);
  writeFileSync(join(app, 'package.json'), '{ "type": "module" }\n');
  const archive = join(folder, `cairn-workflows-${manifest.version}.tgz`);
  // Offline: all that is needed is in the archive.
  run('npm', ['install', '--offline', '--no-audit', '--no-fund', '--silent', archive], app);
  const home = join(app, 'node_modules/cairn-workflows');
  return {
    app,
    home,
    archive,
    executable: join(home, manifest.bin['cairn'] ?? ''),
    remove: () => rmSync(folder, { recursive: true, force: true }),
  };
}
