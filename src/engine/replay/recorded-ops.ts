/** What the ops of a checkpoint tell about the outcomes in it (X2). */
import { setOwn } from '../../state/values/plain.ts';
import type { KeptOutcome, NodeRecord } from '../../state/tree.ts';

export type Op = readonly [kind: string, path: readonly string[], value?: unknown];

/** The values that were set at a place as a whole, in order. */
export function setsOf(ops: readonly Op[], at: readonly string[]): readonly unknown[] {
  return ops
    .filter(([kind, path]) => kind === 's' && path.length === at.length && startsWith(path, at))
    .map(([, , value]) => value);
}

/** Whether a record is that of a visit's end. */
export function isSettled({ status, visits = 1 }: NodeRecord, visit: number): boolean {
  return status !== 'started' && status !== 'waiting' && visits === visit;
}

function startsWith(path: readonly string[], prefix: readonly string[]): boolean {
  return prefix.every((key, index) => path[index] === key);
}

/** The updates contained in a delta of plain sets and appends. */
export function updatesOf(ops: readonly Op[], frame: readonly string[]): KeptOutcome['updates'] {
  const updates: Record<string, Record<string, unknown>> = {};
  const prefix = [...frame, 'channels'];
  for (const [kind, path, value] of ops) {
    if (!startsWith(path, prefix) || kind === 'd') continue;
    const [partition, ...keys] = path.slice(prefix.length) as [string, ...string[]];
    let target = (updates[partition] ??= {});
    for (const key of keys.slice(0, -1)) {
      if (!Object.hasOwn(target, key)) setOwn(target, key, {});
      target = target[key] as Record<string, unknown>;
    }
    setOwn(target, keys.at(-1) as string, value);
  }
  return Object.keys(updates).length === 0 ? undefined : updates;
}
