/**
 * Installs the dependencies if they are missing or not those of package-lock.json, and says nothing otherwise.
 * Runs before any dependency is there, on whatever Node the machine has: plain JavaScript, built-in modules only.
 */
import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = join(dirname(fileURLToPath(import.meta.url)), '..');

/** Packages of a lock file by place in node_modules; a package of another platform may rightly be absent. */
function readPackages(path) {
  return JSON.parse(readFileSync(join(root, path), 'utf8')).packages;
}

function isInstalled() {
  if (!existsSync(join(root, 'node_modules/.package-lock.json'))) return false;
  const installed = readPackages('node_modules/.package-lock.json');
  return Object.entries(readPackages('package-lock.json'))
    .filter(([place]) => place.startsWith('node_modules/'))
    .every(([place, wanted]) => {
      const found = installed[place];
      return found ? found.version === wanted.version : wanted.optional === true || wanted.peer === true;
    });
}

function run(command, args) {
  return spawnSync(command, args, { cwd: root, encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] });
}

function install() {
  console.error('installing dependencies (npm ci) ...');
  const npm = process.env.npm_execpath;
  const args = ['ci', '--no-audit', '--no-fund', '--loglevel=error'];
  const result = npm ? run(process.execPath, [npm, ...args]) : run('npm', args);
  if (result.status !== 0) {
    console.error(result.stdout ?? '', result.stderr ?? '', result.error ?? '');
    process.exit(result.status || 1);
  }
}

/** What `node` will mean to the command that follows: Node 24 from node_modules, where a package for this platform exists. */
function requireNode() {
  const version = run('node', ['-p', 'process.versions.node']).stdout?.trim() ?? '';
  const [major = 0, minor = 0] = version.split('.').map(Number);
  if (major > 22 || (major === 22 && minor >= 18)) return;
  console.error(`Node 22.18 or newer is needed; \`node\` is ${version || 'missing'}, and no package brings one here.`);
  process.exit(1);
}

if (!isInstalled()) {
  install();
  if (process.env.npm_lifecycle_event) requireNode();
}
