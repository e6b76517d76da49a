/**
 * The file of a cassette: recorded calls and their answers, one JSON record per line. Settings and messages are shared by many calls, so
 * each is written once and referred to by its hash. Lines are only appended, so several processes may record into one file.
 */
import { appendFileSync, chmodSync, existsSync, mkdirSync, readFileSync, truncateSync } from 'node:fs';
import { dirname } from 'node:path';
import { CairnError } from '../../errors.ts';
import type { ModelResponse } from '../../graph/contracts/model-contract.ts';
import { decodeJson, encodeValue } from '../../state/values/codec.ts';
import { isPlainObject } from '../../state/values/plain.ts';

/** A recorded call: hashes of the request's parts, and the answer. */
export interface RecordedCall {
  readonly settings: string;
  readonly messages: readonly string[];
  readonly response: ModelResponse;
}

/** The contents of a file. Calls are found by key; settings and messages are needed only to explain why a request was not found. */
export interface CassetteContents {
  readonly parts: Map<string, unknown>;
  readonly calls: Map<string, RecordedCall>;
}

/**
 * Reads a file of lines `{ part, value }` and `{ call, settings, messages, response }`. A missing file counts as empty. @throws
 * CONFIG_INVALID a line is neither
 */
export function readCassette(path: string): CassetteContents {
  const contents: CassetteContents = { parts: new Map(), calls: new Map() };
  const lines = existsSync(path) ? readFileSync(path, 'utf8').split('\n') : [];
  // The text after the last line end is empty, or a partial line of a killed process.
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

/** Appends lines in one write. A partial line left by a killed process is removed. The file is readable by its owner only. */
export function addToCassette(path: string, records: readonly object[]): void {
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
  if (existsSync(path)) {
    const bytes = readFileSync(path);
    truncateSync(path, bytes.lastIndexOf('\n') + 1);
    chmodSync(path, 0o600);
  }
  appendFileSync(path, records.map((record) => `${encodeValue(record)}\n`).join(''), { mode: 0o600 });
}
