/** What is sent compressed, and how files for browsers are cached. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { compressing } from './compression.ts';
import { pageResponse } from './pages.ts';

const ask = (headers: Readonly<Record<string, string>> = {}): Request => new Request('http://cairn/', { headers });
const long = JSON.stringify({ text: 'stone on stone '.repeat(200) });

async function answered(body: string, type: string, accepted: string, more: object = {}): Promise<Response> {
  const headers = { 'content-type': type, 'content-length': String(body.length), ...more };
  return compressing(async () => new Response(body, { headers }))(ask({ 'accept-encoding': accepted }));
}

test('H1 JSON of a KiB and more is compressed for clients that take it, and says what it depends on', async () => {
  const response = await answered(long, 'application/json', 'br, gzip;q=0.5');
  expect([response.headers.get('content-encoding'), response.headers.get('vary')]).toEqual(['gzip', 'accept-encoding']);
  expect(response.headers.has('content-length')).toBe(false);
  expect(gunzipSync(Buffer.from(await response.arrayBuffer())).toString()).toBe(long);
  for (const [body, type, accepted, more] of [
    ['{}', 'application/json', 'gzip', {}],
    [long, 'application/json', 'gzip;q=0', {}],
    [long, 'application/json', '', {}],
    [long, 'text/event-stream', 'gzip', {}],
    [long, 'application/json', 'gzip', { etag: '"a"' }],
  ] as const) {
    const plain = await answered(body, type, accepted, more);
    expect(plain.headers.has('content-encoding')).toBe(false);
    expect(await plain.text()).toBe(body);
  }
});

let folder = '';
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'cairn-pages-'));
  mkdirSync(join(folder, 'assets'));
  writeFileSync(join(folder, 'index.html'), '<p>page</p>');
  writeFileSync(join(folder, 'assets/main-Abcd_1-2.js'), 'plain');
  writeFileSync(join(folder, 'assets/main-Abcd_1-2.js.br'), 'as brotli');
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

test('H1 files with a hash in their names are kept for ever, the page is asked for again and sent if it has changed, and what lies beside a file compressed is sent', async () => {
  const asset = async (accepted: string): Promise<readonly unknown[]> => {
    const path = ['assets', 'main-Abcd_1-2.js'];
    const response = await pageResponse(folder, path, ask({ 'accept-encoding': accepted }));
    const { headers } = response ?? new Response();
    return [await response?.text(), headers.get('content-encoding'), headers.get('cache-control')];
  };
  const forEver = 'public, max-age=31536000, immutable';
  expect(await asset('gzip, br')).toEqual(['as brotli', 'br', forEver]);
  expect(await asset('gzip')).toEqual(['plain', null, forEver]);
  const page = await pageResponse(folder, ['run'], ask());
  expect(page?.headers.get('cache-control')).toBe('no-cache');
  const again = await pageResponse(folder, ['run'], ask({ 'if-none-match': page?.headers.get('etag') ?? '' }));
  expect([again?.status, await again?.text()]).toEqual([304, '']);
  // A compressed file is none to be asked for by its name.
  expect(await pageResponse(folder, ['assets', 'main-Abcd_1-2.js.br'], ask())).toBeUndefined();
});
