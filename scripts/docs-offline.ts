/**
 * `npm run docs:offline`: proves that the documentation site is built without a network, and looks through what was built. The build runs
 * in a network namespace of its own, which has no network at all. Where the system makes no such namespaces, nothing is built and the
 * reason is printed.
 */
import { spawnSync } from 'node:child_process';
import { join, resolve } from 'node:path';
import { siteFaults } from './docs/site-faults.ts';

const root = resolve(import.meta.dirname, '..');
/** A user namespace lets those who are not root make a network namespace. */
const alone = ['--map-root-user', '--net'];

const probe = spawnSync('unshare', [...alone, 'true'], { encoding: 'utf8' });
if (probe.status === 0) {
  const command = [process.execPath, join(root, 'scripts/docs.ts')];
  const { status } = spawnSync('unshare', [...alone, ...command], { cwd: root, stdio: 'inherit' });
  const faults = status === 0 ? siteFaults(join(root, 'site/dist')) : ['the site was not built'];
  for (const fault of faults) console.error(fault);
  if (faults.length === 0) console.log('built without a network; every link within the site leads somewhere');
  process.exitCode = faults.length > 0 ? 1 : 0;
} else {
  const reason = probe.error?.message ?? probe.stderr.trim();
  console.log(`not tried: this system makes no network namespace (${reason})`);
}
