/** Sandboxes of bubblewrap for a process that is not root: no cgroup of its own, and a user that the limits of the kernel hold. */
import { execFileSync, spawnSync } from 'node:child_process';
import { chmodSync, copyFileSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { bundleScript } from '../support/bundled-script.ts';

const isRoot = process.getuid?.() === 0;
const uid = 65_533;
const asUser: readonly [string, ...string[]] = isRoot
  ? ['setpriv', `--reuid=${uid}`, `--regid=${uid}`, '--clear-groups']
  : ['env'];
const place = mkdtempSync(join(tmpdir(), 'cairn-as-user-'));
chmodSync(place, 0o777);
afterAll(() => rmSync(place, { recursive: true, force: true }));

/** Why it is not tested here; empty: it is. */
function whyNot(): string {
  const [program, ...args] = [...asUser, 'bwrap', '--ro-bind', '/', '/', '--unshare-all', '/bin/true'];
  const { status, stderr, error } = spawnSync(program, args, { encoding: 'utf8' });
  return status === 0 ? '' : ` is not tested: ${(error?.message ?? stderr).trim().slice(0, 100)}`;
}
const why = whyNot();

test.skipIf(why !== '')(`SB3 as a user who is not root, the ways out lead nowhere either${why}`, async () => {
  // The user may not reach the folder of this project, nor the Node in it.
  const [script, node] = [join(place, 'as-user.mjs'), join(place, 'node')];
  copyFileSync(await bundleScript(join(import.meta.dirname, 'as-user.ts')), script);
  copyFileSync(process.execPath, node);
  chmodSync(node, 0o755);
  chmodSync(script, 0o644);
  writeFileSync(join(place, 'secret.txt'), 'secret', { mode: 0o644 });
  const [program, ...args] = [...asUser, node, script, place];
  const ended = JSON.parse(execFileSync(program, args, { encoding: 'utf8', cwd: place })) as Record<string, string>;
  const { user, ...others } = ended;
  expect(user).not.toBe('0');
  expect(Object.keys(others)).toHaveLength(6);
  expect(Object.entries(others).filter(([, said]) => said !== 'held')).toEqual([]);
  expect(readdirSync(place).filter((name) => name.startsWith('cairn-box-'))).toEqual([]);
});
