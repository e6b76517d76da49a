/** Commands in sandboxes of bubblewrap, in real processes that are killed with SIGKILL at every point. */
import { chmodSync, existsSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { bubblewrap } from '../../src/sandboxes/index.ts';
import { crashProcesses } from '../../src/testing/crash-kit/crash-processes.ts';
import { bundleScript } from '../support/bundled-script.ts';
import { samplePoints } from '../support/scale.ts';

const folder = mkdtempSync(join(tmpdir(), 'cairn-boxes-'));
const place = join(folder, 'places');
// Commands run as another user, who must be able to come to their folder.
chmodSync(folder, 0o755);
const isThere = await bubblewrap({ place: folder })
  .create({ key: 'k', network: false, limits: { processes: 8, memoryBytes: 1 << 28, diskBytes: 1 << 20 } })
  .then(async (box) => box.close().then(() => true))
  .catch((error: unknown) => (error as Error).message);

/** The keys of the commands that reached it, by trial, in their order. */
const rings = new Map<string, string[]>();
const server = createServer((request, response) => {
  const { pathname, searchParams } = new URL(request.url ?? '', 'http://localhost');
  const trial = searchParams.get('trial') ?? '';
  const own = rings.get(trial) ?? [];
  rings.set(trial, own);
  if (pathname === '/ring') own.push(searchParams.get('key') ?? '');
  response.end(JSON.stringify(own));
});
beforeAll(() => new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve)));
afterAll(() => {
  server.closeAllConnections();
  server.close();
  rmSync(folder, { recursive: true, force: true });
});

/** Control groups of sandboxes whose process is gone. */
function groups(): readonly string[] {
  const root = '/sys/fs/cgroup/pids';
  const names = existsSync(root) ? readdirSync(root) : [];
  return names.filter((name) => name.startsWith('cairn-box-') && !existsSync(`/proc/${name.split('-')[2]}`));
}

test.skipIf(isThere !== true)(
  `SB2 SB5 real processes are killed before, in and after every command: each folder is as it should be, and what the network was used for happened once${isThere === true ? '' : ` (not tested: ${isThere})`}`,
  { timeout: 900_000 },
  async () => {
    const before = new Set(groups());
    vi.stubEnv('CAIRN_CASE_PLACE', place);
    vi.stubEnv('CAIRN_CASE_SERVER', `http://127.0.0.1:${(server.address() as AddressInfo).port}`);
    const script = await bundleScript(join(import.meta.dirname, 'cases/boxes.ts'));
    const report = await crashProcesses({ script, folder: join(folder, 'trials'), choose: samplePoints(2) });
    console.log(`sandboxes: ${report.trials} of ${report.points} processes killed, ${report.missed} too late`);
    expect(report.faults).toEqual([]);
    expect(report.points).toBeGreaterThan(60);
    expect(report.missed).toBeLessThan(Math.max(3, report.trials / 4));
    expect(rings.get('quiet')).toHaveLength(2);
    expect(groups().filter((name) => !before.has(name))).toEqual([]);
  },
);
