/** Limits how much one outcome may add to a run. A larger one fails before anything of it is written (`policies.checkpointBytes`). */
import { CairnError } from '../../errors.ts';
import type { Graph } from '../../graph/graph.ts';
import { encodeValue } from '../../state/values/encode.ts';
import { isPlainObject } from '../../state/values/plain-object.ts';
import type { FrameTree } from '../../state/tree.ts';
import type { Activation } from '../live-run/loop.ts';
import type { RunCore } from '../live-run/run-core.ts';

/** A value to be written, and its JSON text. */
export interface SizedPart {
  readonly path: readonly string[];
  readonly value: unknown;
  readonly json: string;
}

interface Place {
  readonly path: string;
  readonly bytes: number;
}

const listedPlaces = 5;

/** From this share of the limit on, the history says that an outcome comes near it. */
const nearShare = 0.8;

/**
 * Checks an outcome. The limit is that of the frame's own graph or of a graph around it, whichever is lower. @throws CHECKPOINT_TOO_LARGE
 */
export function checkWritten(
  core: RunCore,
  activation: Activation,
  parts: () => readonly SizedPart[],
  stepKey?: string,
): void {
  const own = activation.frameRun.graph.policies.checkpointBytes;
  const whole = core.rootFrame.graph.policies.checkpointBytes;
  if (own === undefined && whole === undefined) return;
  const node = stepKey === undefined ? activation.path : [...activation.path, stepKey];
  const limitBytes = Math.min(own ?? Infinity, whole ?? Infinity);
  const bytes = checkSize(limitBytes, node.join('/'), parts());
  if (bytes <= limitBytes * nearShare) return;
  const step = stepKey === undefined ? {} : { step: stepKey };
  core.draft.note({ kind: 'large', node: activation.path, ...step, detail: { bytes, limitBytes } });
}

/** Checks the size of a new run's input and defaults. @throws CHECKPOINT_TOO_LARGE */
export function checkAdmission(graph: Graph, { input, channels }: FrameTree): void {
  const limitBytes = graph.policies.checkpointBytes;
  if (limitBytes === undefined) return;
  const parts = Object.entries({ input, ...channels });
  checkSize(
    limitBytes,
    'input',
    parts.map(([name, value]) => ({ path: [name], value, json: encodeValue(value) })),
  );
}

/**
 * @param node - the node that would write
 * @returns the size in bytes, or 0 if it is certainly far from the limit
 * @throws CHECKPOINT_TOO_LARGE names the largest places
 */
function checkSize(limitBytes: number, node: string, parts: readonly SizedPart[]): number {
  const units = parts.reduce((sum, { json }) => sum + json.length, 0);
  // One UTF-16 unit takes at most three bytes, so fewer units are certainly small enough.
  if (units * 3 <= limitBytes * nearShare) return 0;
  const bytes = parts.reduce((sum, { json }) => sum + Buffer.byteLength(json), 0);
  if (bytes <= limitBytes) return bytes;
  const found = parts.flatMap(({ path, value, json }) => placesOf(path, value, Buffer.byteLength(json)));
  const much = found.filter((place) => place.bytes * 100 >= bytes);
  const largest = much.toSorted((a, b) => b.bytes - a.bytes).slice(0, listedPlaces);
  const places = largest.map((place) => `${place.path} ${place.bytes} bytes`).join(', ');
  throw new CairnError('CHECKPOINT_TOO_LARGE', { node, bytes, limitBytes, largest, places });
}

/**
 * The places to name for a large value. It is divided only if one part accounts for much of it; a long list of small items is one place.
 */
function placesOf(path: readonly string[], value: unknown, bytes: number): readonly Place[] {
  const isContainer = Array.isArray(value) || isPlainObject(value);
  const inner = isContainer
    ? Object.entries(value).map(([key, item]) => ({ key, item, size: Buffer.byteLength(encodeValue(item)) }))
    : [];
  if (!inner.some(({ size }) => size * listedPlaces >= bytes)) return [{ path: path.join('.'), bytes }];
  return inner.flatMap(({ key, item, size }) => placesOf([...path, key], item, size));
}
