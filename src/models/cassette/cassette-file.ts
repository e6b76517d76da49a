/**
 * The file of a cassette: recorded calls and their answers, one JSON record a line. Settings and messages, which many calls share, stand
 * in it once and are named by their hashes. Lines are only ever added, so several processes may record into one file.
 */
import { appendFileSync, chmodSync, existsSync, mkdirSync, readFileSync, truncateSync } from 'node:fs';
import { dirname } from 'node:path';
import { CairnError } from '../../errors.ts';
import type { ModelResponse } from '../../graph/contracts/model-contract.ts';
import { decodeJson, encodeValue } from '../../state/values/codec.ts';
import { isPlainObject } from '../../state/values/plain.ts';

/** A call on record: hashes of what was asked, and what came. */
export interface RecordedCall {
  readonly settings: string;
  readonly messages: readonly string[];
  readonly response: ModelResponse;
}

/** Settings and messages are there to be shown beside a request that is not on record; a call is found by its key. */
export interface CassetteContents {
  readonly parts: Map<string, unknown>;
  readonly calls: Map<string, RecordedCall>;
}

/** The lines of a file: `{ part, value }`, or `{ call, settings, messages, response }`. No file is an empty one. @throws CONFIG_INVALID a line is none of these */
export function readCassette(path: string): CassetteContents {
  const contents: CassetteContents = { parts: new Map(), calls: new Map() };
  const lines = existsSync(path) ? readFileSync(path, 'utf8').split('\n') : [];
  // Behind the last line end is nothing, or the piece that a killed process was writing.
  for (const [index, line] of lines.slice(0, -1).entries()) take(contents, line, `${path}:${index + 1}`);
  return contents;
}

function take({ parts, calls }: CassetteContents, line: string, place: string): void {
  const record = parse(line);
  if (typeof record['part'] === 'string') parts.set(record['part'], record['value']);
  else if (typeof record['call'] === 'string' && isPlainObject(record['response']))
    calls.set(record['call'], record as unknown as RecordedCall);
  else throw new CairnError('CONFIG_INVALID', { reason: `${place} is no line of a cassette: record it anew` });
}

function parse(line: string): Readonly<Record<string, unknown>> {
  try {
    const value = decodeJson(line);
    return isPlainObject(value) ? value : {};
  } catch {
    return {};
  }
}

/** Adds lines at once, in place of a piece that a killed process left behind the last; only the owner may read the file. */
export function addToCassette(path: string, records: readonly object[]): void {
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
  if (existsSync(path)) {
    const bytes = readFileSync(path);
    truncateSync(path, bytes.lastIndexOf('\n') + 1);
    chmodSync(path, 0o600);
  }
  appendFileSync(path, records.map((record) => `${encodeValue(record)}\n`).join(''), { mode: 0o600 });
}
