/** The process in which a suspect is advanced, one node at a time: `isolation.ts` starts it, and lives on as its witness (O7). */
import { writeSync } from 'node:fs';
import { createInterface } from 'node:readline';
import type { Engine } from '../../engine/api.ts';
import { CairnError } from '../../errors.ts';
import { createDefaultEngine } from '../default-engine.ts';
import { openApp, type AppOptions } from '../open-app.ts';
import { importModule } from '../process/import-module.ts';
import { ownProcess } from '../process/uncaught-errors.ts';
import { knowModules, type WorkedGraph } from '../worker.ts';
import { reportDescriptor, type IsolatedReport, type IsolatedRequest, type Surroundings } from './isolation.ts';

/** Written at once, not when the event loop turns: the node that begins may end the process. */
function report(one: IsolatedReport): void {
  writeSync(reportDescriptor, `${JSON.stringify(one)}\n`);
}

interface Opened {
  readonly engine: Engine;
  readonly close: () => Promise<void>;
}

async function open(surroundings: Surroundings, graphId: string): Promise<Opened> {
  if (surroundings.kind === 'app') {
    const { options, cwd, modules } = surroundings;
    const app = await openApp({ ...options, holdTimersMs: 0 } as unknown as AppOptions);
    await knowModules(app, cwd, modules);
    return { engine: app.engine, close: () => app.close() };
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

async function work(
  { surroundings, claim, condemned, graphId }: IsolatedRequest,
  whenLeft: (leave: () => void) => void,
): Promise<void> {
  const { engine, close } = await open(surroundings, graphId);
  whenLeft(() => void close());
  const reasons = new Map(
    condemned.map(({ node, ...how }) => [
      node.join('/'),
      new CairnError('NODE_KILLED', { node: node.join('/'), ...how }),
    ]),
  );
  const handle = await engine.advanceApart(claim, {
    condemned: (node) => reasons.get(node.join('/')),
    onBegun: (node) => report({ kind: 'begun', node }),
    onEnded: (node) => report({ kind: 'ended', node }),
  });
  await handle.result();
  report({ kind: 'rested' });
  await close();
}

ownProcess();
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
