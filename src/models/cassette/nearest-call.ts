/** Finds the recorded call that is most like a request, and the difference, to help find out why a request is not recorded. */
import type { ErrorData } from '../../errors.ts';
import { isPlainObject } from '../../state/values/plain.ts';
import type { CassetteContents, RecordedCall } from './cassette-file.ts';

/** A request: the hashes of its parts, and the parts themselves. */
export interface AskedCall {
  readonly settings: string;
  readonly messages: readonly string[];
  readonly parts: ReadonlyMap<string, unknown>;
}

/**
 * Finds the nearest recorded call: the one with the most equal messages at its beginning and, among those, one with equal settings.
 * @returns data for CASSETTE_MISSING: what `differs`, with both versions as `text` and `recorded`; empty if nothing is recorded
 */
export function tellNearest({ calls, parts }: CassetteContents, asked: AskedCall): ErrorData {
  let nearest: RecordedCall | undefined;
  let best = -1;
  for (const call of calls.values()) {
    const score = 2 * sharedCount(call, asked) + (call.settings === asked.settings ? 1 : 0);
    if (score > best) [nearest, best] = [call, score];
  }
  if (nearest === undefined) return {};
  const index = sharedCount(nearest, asked);
  const [own, other] = [asked.messages[index], nearest.messages[index]];
  if (own === undefined && other === undefined) {
    const [now, before] = [asked.parts.get(asked.settings), parts.get(nearest.settings)];
    const name = changedKey(now, before);
    return { differs: `its ${name}`, ...differing(at(now, name), at(before, name)) };
  }
  const now = own === undefined ? undefined : asked.parts.get(own);
  const before = other === undefined ? undefined : parts.get(other);
  const role = (now ?? before) as { readonly role?: string } | undefined;
  return {
    differs: `message ${index + 1} (${role?.role})`,
    ...differing(at(now, 'content') ?? 'missing', at(before, 'content') ?? 'missing'),
  };
}

function sharedCount({ messages }: RecordedCall, asked: AskedCall): number {
  const index = messages.findIndex((hash, place) => hash !== asked.messages[place]);
  return index < 0 ? messages.length : index;
}

function changedKey(now: unknown, before: unknown): string {
  const keys = [now, before].flatMap((settings) => (isPlainObject(settings) ? Object.keys(settings) : []));
  return keys.find((key) => JSON.stringify(at(now, key)) !== JSON.stringify(at(before, key))) ?? 'settings';
}

function at(value: unknown, key: string): unknown {
  return isPlainObject(value) ? value[key] : undefined;
}

const shownCharacters = 80;
const charactersBefore = 20;

/** Both texts, each from shortly before the first difference. */
function differing(now: unknown, before: unknown): { readonly text: string; readonly recorded: string } {
  const [own, other] = [textOf(now), textOf(before)];
  let place = 0;
  while (place < own.length && own[place] === other[place]) place += 1;
  const start = Math.max(0, place - charactersBefore);
  const cut = (text: string): string =>
    `${start > 0 ? '…' : ''}${text.slice(start, start + shownCharacters)}${text.length > start + shownCharacters ? '…' : ''}`;
  return { text: cut(own), recorded: cut(other) };
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : (JSON.stringify(value) ?? 'nothing');
}
