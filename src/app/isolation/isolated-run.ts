/** The process in which a suspect is advanced, one node at a time: `isolation.ts` starts it, and lives on as its witness (O7). */
import { writeSync } from 'node:fs';
import { createInterface } from 'node:readline';
import type { Apart, Engine } from '../../engine/api.ts';
import { CairnError } from '../../errors.ts';
import { createDefaultEngine } from '../default-engine.ts';
import { openApp, type AppOptions } from '../open-app.ts';
import { importModule } from '../process/import-module.ts';
import { endWhenBlocked } from '../process/lease-guard.ts';
import { ownProcess } from '../process/uncaught-errors.ts';
import { knowModules, type WorkedGraph } from '../worker.ts';
import { reportDescriptor, type Condemned, type IsolatedReport, type IsolatedRequest } from './isolation.ts';

/** Written at once, not when the event loop turns: the node that begins may end the process. */
function report(one: IsolatedReport): void {
  writeSync(reportDescriptor, `${JSON.stringify(one)}\n`);
}

interface Opened {
  readonly engine: Engine;
  readonly close: () => Promise<void>;
}

async function open({ surroundings, claim, graphId }: IsolatedRequest): Promise<Opened> {
  if (surroundings.kind === 'app') {
    const { options, cwd, modules } = surroundings;
    const app = await openApp(options as unknown as AppOptions);
    await knowModules(app, cwd, modules);
    return { engine: app.ofTenant(claim.tenant).engine, close: () => app.close() };
  }
  const { url, store } = surroundings;
  const exported = Object.values(await importModule(url)).filter(isWorked);
  const own = exported.find(({ graph }) => graph.id === graphId);
  if (own === undefined)
    throw new CairnError('CONFIG_INVALID', { path: 'isolate', reason: `${url} exports no compiled graph ${graphId}` });
  const engine = store === undefined ? own.engine : createDefaultEngine({ store, wakes: false });
  for (const { graph } of exported) engine.know(graph);
  return { engine, close: () => engine.close() };
}

function isWorked(value: unknown): value is WorkedGraph {
  return typeof value === 'object' && value !== null && 'graph' in value && 'engine' in value;
}

function reasonOf({ node: path, heldMs, ...how }: Condemned): CairnError {
  const node = path.join('/');
  return heldMs === undefined
    ? new CairnError('NODE_KILLED', { node, ...how })
    : new CairnError('NODE_BLOCKED', { node, duration: `${Math.round(heldMs / 1_000)} s` });
}

async function work(request: IsolatedRequest, whenLeft: (leave: () => void) => void): Promise<void> {
  const { engine, close } = await open(request);
  whenLeft(() => void close());
  const { claim, condemned, resume } = request;
  const reasons = new Map(condemned.map((one) => [one.node.join('/'), reasonOf(one)]));
  // The first node may hold the event loop at once.
  engine.ports.leaseGuard?.start();
  const apart: Apart = {
    condemned: (node) => reasons.get(node.join('/')),
    onBegun: (node) => report({ kind: 'begun', node }),
    onEnded: (node) => report({ kind: 'ended', node }),
  };
  const handle = await engine.advanceApart(claim, apart, resume);
  await handle.result();
  report({ kind: 'rested' });
  await close();
}

ownProcess();
endWhenBlocked(reportDescriptor);
let leave: (() => void) | undefined;
let isBegun = false;
const input = createInterface({ input: process.stdin });
input.on('line', (line) => {
  if (isBegun) return;
  isBegun = true;
  work(JSON.parse(line) as IsolatedRequest, (how) => (leave = how))
    .catch((error: unknown) => {
      // A run that was handed back, since the witness asked for it, has not failed.
      const { code, data } = CairnError.from(error);
      if (!['STORE_CLOSED', 'CLAIM_LOST', 'CLAIM_FENCED'].includes(code)) report({ kind: 'failed', code, data });
    })
    .finally(() => process.exit(0));
});
// The witness is gone, or stops.
input.on('close', () => (leave === undefined ? process.exit(0) : leave()));
