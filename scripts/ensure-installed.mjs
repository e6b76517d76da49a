/**
 * Installs the dependencies if they are missing or not those of package-lock.json, and says nothing otherwise.
 * Runs before any dependency is there, on whatever Node the machine has: plain JavaScript, built-in modules only.
 *
 * `node scripts/ensure-installed.mjs [FOLDER]`: of a folder with a package of its own, by default of the project.
 */
import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const project = join(dirname(fileURLToPath(import.meta.url)), '..');
const [folder = '.'] = process.argv.slice(2);
const root = join(project, folder);

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

function run(command, args, options = {}) {
  return spawnSync(command, args, { cwd: root, encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'], ...options });
}

function npm(args, options) {
  const path = process.env.npm_execpath;
  return path ? run(process.execPath, [path, ...args], options) : run('npm', args, options);
}

/** How npm says that it reached nobody: no network, no name server, nobody who answers. */
const unreached =
  /\b(ENOTFOUND|EAI_AGAIN|ECONNREFUSED|ECONNRESET|ENETUNREACH|EHOSTUNREACH|ETIMEDOUT|ERR_SOCKET_TIMEOUT|network timeout)\b/;

/** Asks the registry whether it is there, once and briefly. @returns why it cannot be reached; undefined: it answered something */
function whyUnreached() {
  const { status, stdout, stderr, error } = npm(['ping', '--fetch-retries=0', '--fetch-timeout=4000'], {
    timeout: 6_000,
    killSignal: 'SIGKILL',
  });
  if (error?.code === 'ENOENT') fail('npm is not there: it comes with Node.');
  if (error?.code === 'ETIMEDOUT') return 'no answer within 6 s';
  return status === 0 ? undefined : unreached.exec(`${stdout}${stderr}`)?.[1];
}

function fail(...lines) {
  for (const line of lines) console.error(line);
  process.exit(1);
}

/** Left alone, npm tries for minutes before it says that there is no network. */
function install() {
  console.error(`installing dependencies${folder === '.' ? '' : ` of ${folder}`} (npm ci) ...`);
  const why = whyUnreached();
  const result = npm([
    'ci',
    '--no-audit',
    '--no-fund',
    '--loglevel=error',
    ...(why === undefined ? [] : ['--offline']),
  ]);
  if (result.status === 0) return;
  if (why !== undefined)
    fail(
      `The packages are not installed, npm has no copy of them, and it cannot reach its registry: ${why}.`,
      'They are needed once: run the command again where there is a network. Where npm looks: npm config get registry',
    );
  console.error(result.stdout ?? '', result.stderr ?? '', result.error ?? '');
  process.exit(result.status || 1);
}

/** What `node` will mean to the command that follows: Node 24 from node_modules, where a package for this platform exists. */
function requireNode() {
  const version = run('node', ['-p', 'process.versions.node']).stdout?.trim() ?? '';
  const [major = 0, minor = 0] = version.split('.').map(Number);
  if (major > 22 || (major === 22 && minor >= 18)) return;
  fail(`Node 22.18 or newer is needed; \`node\` is ${version || 'missing'}, and no package brings one here.`);
}

if (!isInstalled()) {
  install();
  if (process.env.npm_lifecycle_event) requireNode();
}
