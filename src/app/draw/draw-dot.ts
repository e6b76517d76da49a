/**
 * Draws a DOT text with Graphviz, which the user installs. It runs in a worker that is ended after ten seconds: a layout may take for ever,
 * and nothing else waits for it.
 */
import type { instance } from '@viz-js/viz';
import { CairnError, reasonOf } from '../../errors.ts';
import { findInPackage } from '../../optional-peers.ts';
import { cleanSvg } from './clean-svg.ts';

const packageName = '@viz-js/viz';
/** Of a layout: beyond it the worker fails alone. */
const memoryMb = 512;

/** What the worker runs: it knows nothing but the package's path and the text. */
const program = `
const { parentPort, workerData } = require('node:worker_threads');
require(workerData.path).instance().then(
  (viz) => parentPort.postMessage(viz.render(workerData.dot, { format: 'svg', engine: 'dot' })),
  (error) => parentPort.postMessage({ status: 'failure', errors: [{ message: String(error) }] }),
);`;

/** For tests: where the package is looked for, and how long a layout may take. */
export interface DrawOptions {
  /** Default: from here, then from the working folder, for a program that was bundled elsewhere. */
  readonly from?: readonly string[];
  /** Default 10,000. */
  readonly limitMs?: number;
}

type Rendered = ReturnType<Awaited<ReturnType<typeof instance>>['render']>;

/** @returns the SVG, with nothing in it that could act. @throws CONFIG_MISSING_PEER; INPUT_INVALID it cannot be drawn, or not in time */
export async function drawDot(
  dot: string,
  { from = [import.meta.dirname, process.cwd()], limitMs = 10_000 }: DrawOptions = {},
): Promise<string> {
  const rendered = await renderIn(findInPackage(packageName, from), dot, limitMs);
  if (rendered.status === 'success') return cleanSvg(rendered.output);
  throw notDrawn(rendered.errors.map(({ message }) => message).join('; '));
}

async function renderIn(path: string, dot: string, limitMs: number): Promise<Rendered> {
  const { Worker } = process.getBuiltinModule('node:worker_threads');
  const worker = new Worker(program, {
    eval: true,
    env: {},
    workerData: { path, dot },
    resourceLimits: { maxOldGenerationSizeMb: memoryMb },
  });
  const { promise, resolve, reject } = Promise.withResolvers<Rendered>();
  const timer = setTimeout(() => reject(notDrawn(`it took longer than ${limitMs / 1_000} s`)), limitMs);
  worker.once('message', resolve);
  worker.once('error', (error) => reject(notDrawn(reasonOf(error))));
  worker.once('exit', () => reject(notDrawn('the worker ended')));
  try {
    return await promise;
  } finally {
    clearTimeout(timer);
    await worker.terminate();
  }
}

function notDrawn(reason: string): CairnError {
  return new CairnError('INPUT_INVALID', { reason: `the graph cannot be drawn: ${reason}` });
}
