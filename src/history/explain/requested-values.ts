/** The values of a state that a condition reads, and a test for the ops that may change them. */
import type { StateQuestion } from '../../graph/expression/expression.ts';
import { errorMap } from '../../graph/expression/expression-meter.ts';
import type { BlobStore } from '../../ports/blobs.ts';
import type { Op } from '../../state/delta.ts';
import type { FrameTree, RunTree } from '../../state/tree.ts';
import { getOwn } from '../../state/values/plain-object.ts';
import { viewValues, type StateValues } from '../read/checkpoint-view.ts';
import { resolveValues } from '../stored/checkpoint.ts';

type Keyed = Readonly<Record<string, unknown>>;

/** What is read of one variable: all of it, or only the values under these keys. */
type RequestedPart = 'all' | ReadonlySet<string>;

export class RequestedValues {
  readonly #blobs: BlobStore;
  readonly #tenant: string;
  readonly #requested: ReadonlyMap<string, RequestedPart>;
  /** Paths in the tree. An op above or below one of them changes what the condition reads. */
  readonly #paths: readonly (readonly string[])[];

  constructor({ reads }: StateQuestion, blobs: BlobStore, tenant: string) {
    this.#blobs = blobs;
    this.#tenant = tenant;
    const requested = new Map<string, RequestedPart>();
    for (const { name, path } of reads) {
      const [key] = path;
      const known = requested.get(name);
      if (key === undefined || known === 'all') requested.set(name, 'all');
      else requested.set(name, new Set([...(known ?? []), key]));
    }
    this.#requested = requested;
    this.#paths = reads.flatMap(({ name, path }) => treePaths(name, path));
  }

  areTouchedBy([kind, path, value]: Op): boolean {
    if (this.#paths.some((read) => overlap(read, path))) return true;
    // An output may also be read as an artifact, by the name in its node's record.
    const names = this.#requested.get('artifacts');
    if (names === undefined || kind !== 's' || path[0] !== 'frame' || path[1] !== 'nodes') return false;
    const as = (value as { readonly as?: unknown } | null)?.as;
    return path.length > 3 || (typeof as === 'string' && (names === 'all' || names.has(as)));
  }

  /** The values by variable; a promise only where a blob may have to be read. They are shared with the state and must not be changed. */
  read({ status, frame }: RunTree, hasTags: boolean): Keyed | Promise<Keyed> {
    const values = this.#valuesOf(frame);
    values['status'] = status;
    if (!hasTags) return values;
    return resolveValues(this.#blobs, this.#tenant, structuredClone(values)).then((resolved) =>
      withErrorMaps(resolved as Keyed),
    );
  }

  #valuesOf(frame: FrameTree): Record<string, unknown> {
    const values: Record<string, unknown> = {};
    // The complete state is assembled only if the condition needs all outputs or all artifacts.
    let whole: StateValues | undefined;
    for (const [name, part] of this.#requested) {
      const isPlain = name === 'input' || name === 'scratch' || name === 'diagnostics';
      if (isPlain) values[name] = plainValue(frame, name, part);
      else if ((name === 'outputs' || name === 'failures') && part !== 'all')
        values[name] = viewValues({ ...frame, nodes: only(frame.nodes, part) })[name];
      else if (name !== 'status') values[name] = (whole ??= viewValues(frame))[name as keyof StateValues];
    }
    return values;
  }
}

/** Gives failures as maps, like `error` in the condition of an edge. */
function withErrorMaps(values: Keyed): Keyed {
  const { failures } = values;
  if (failures === undefined) return values;
  const maps = Object.entries(failures as Keyed).map(
    ([id, error]) => [id, error instanceof Error ? errorMap(error) : error] as const,
  );
  return { ...values, failures: Object.fromEntries(maps) };
}

function plainValue(frame: FrameTree, name: string, part: RequestedPart): unknown {
  const value = name === 'input' ? frame.input : (frame.channels[name] ?? {});
  const isKeyed = typeof value === 'object' && value !== null && !Array.isArray(value);
  return part === 'all' || !isKeyed ? value : only(value as Record<string, unknown>, part);
}

function only<Value>(of: Record<string, Value>, keys: ReadonlySet<string>): Record<string, Value> {
  return Object.fromEntries(
    [...keys].flatMap((key) => (Object.hasOwn(of, key) ? [[key, getOwn(of, key) as Value] as const] : [])),
  );
}

function treePaths(name: string, path: readonly string[]): readonly (readonly string[])[] {
  const [key] = path;
  if (name === 'status') return [['status']];
  if (name === 'input') return [['frame', 'input', ...path]];
  if (name === 'outputs' || name === 'failures')
    return [key === undefined ? ['frame', 'nodes'] : ['frame', 'nodes', key]];
  return [['frame', 'channels', name, ...path]];
}

/** Whether one of the two paths is a prefix of the other. */
function overlap(a: readonly string[], b: readonly string[]): boolean {
  const shared = Math.min(a.length, b.length);
  for (let index = 0; index < shared; index++) if (a[index] !== b[index]) return false;
  return true;
}
