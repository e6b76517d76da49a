/** Refuses values that contain our own masks. They mean that somebody copied a masked value, by mistake. */
import { CairnError } from '../../errors.ts';
import { maskedText } from '../values/admit.ts';
import { isPlainObject } from '../values/plain-object.ts';

interface Found {
  readonly marker: string;
  readonly path: readonly string[];
}

/** The mask in a text: `[redacted]` alone or inside JSON, or `[secret:NAME]` anywhere. */
function markerIn(text: string): string | undefined {
  if (text.trim() === maskedText || /"\[redacted\]\\{0,7}"/.test(text)) return maskedText;
  return /\[secret:[^\]\s]{1,128}\]/.exec(text)?.[0];
}

function findMarker(value: unknown): Found | undefined {
  if (typeof value === 'string') {
    const marker = value.includes('[') ? markerIn(value) : undefined;
    return marker === undefined ? undefined : { marker, path: [] };
  }
  for (const [key, item] of partsOf(value)) {
    const found = (typeof key === 'string' ? findMarker(key) : undefined) ?? findMarker(item);
    if (found !== undefined) return { ...found, path: [String(key), ...found.path] };
  }
  return undefined;
}

function partsOf(value: unknown): Iterable<readonly [unknown, unknown]> {
  if (Array.isArray(value)) return value.entries();
  if (value instanceof Map) return value;
  if (value instanceof Set) return [...(value as ReadonlySet<unknown>)].entries();
  return isPlainObject(value) ? Object.entries(value) : [];
}

/**
 * @param value - a validated value. @param where - what it is, for the message: `the answer`. @throws VALUE_MASKED {where, path, marker}
 */
export function refuseMasked(value: unknown, where: string): void {
  const found = findMarker(value);
  if (found !== undefined) throw new CairnError('VALUE_MASKED', { where, ...found });
}
