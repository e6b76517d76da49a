/** Sandboxes of bubblewrap for a process that is not root: no cgroup of its own, and a user that the limits of the kernel hold. */
import { execFile, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, copyFileSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, expect, test } from 'vitest';
import { bundleScript } from '../support/bundled-script.ts';
import { escaped } from './escapes.ts';

const isRoot = process.getuid?.() === 0;
/** Of this process alone: the kernel counts all processes of a user, those of another run of this test too. */
const uid = 100_000 + (process.pid % 500_000);
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

/** A server of this machine, which must not be reached. */
const server = createServer((socket) => socket.end('reached'));
afterAll(() => void server.close());

test.skipIf(why !== '')(
  `SB3 as a user who is not root, the same thirty ways out lead nowhere either, and a closed folder counts${why}`,
  { timeout: 240_000 },
  async () => {
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    // The user may not reach the folder of this project, nor the Node in it.
    const [script, node] = [join(place, 'as-user.mjs'), join(place, 'node')];
    copyFileSync(await bundleScript(join(import.meta.dirname, 'as-user.ts')), script);
    copyFileSync(process.execPath, node);
    chmodSync(node, 0o755);
    chmodSync(script, 0o644);
    const secret = `secret-${process.pid}`;
    writeFileSync(join(place, 'secret.txt'), secret, { mode: 0o644 });
    const [program, ...args] = [...asUser, node, script, place, String((server.address() as AddressInfo).port)];
    const { stdout } = await promisify(execFile)(program, args, { encoding: 'utf8', cwd: place });
    const { user, exceeded, printed } = JSON.parse(stdout) as {
      user: number;
      exceeded: unknown;
      printed: Readonly<Record<string, string>>;
    };
    expect(user).not.toBe(0);
    expect(exceeded).toBe('disk');
    const { 'an ordinary command': ordinary, ...ways } = printed;
    expect(ordinary).toBe('made\nran\n');
    expect(Object.keys(ways)).toHaveLength(30);
    expect(Object.entries(ways).flatMap(([name, text]) => escaped(name, text, secret))).toEqual([]);
    expect(readdirSync(place).filter((name) => name.startsWith('cairn-box-'))).toEqual([]);
  },
);
