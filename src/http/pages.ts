/** Files of a folder for browsers: a page and what belongs to it. They hold no data, so they are served without a token. */
import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { readFile, realpath } from 'node:fs/promises';
import { extname, join, sep } from 'node:path';
import { takesEncoding } from './compression.ts';

/** What browsers let the page do: its own scripts, styles and requests to where it came from, and nothing else. */
const pagePolicy: string = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data:",
  "font-src 'self'",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
  "require-trusted-types-for 'script'",
].join('; ');

const types: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
  '.png': 'image/png',
  '.ico': 'image/x-icon',
  '.json': 'application/json',
  '.woff2': 'font/woff2',
};

const headers: Readonly<Record<string, string>> = {
  'content-security-policy': pagePolicy,
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
};

/** A name with a hash in it, as bundlers give them: what it names never changes. */
const hashed = /-[\w-]{8}\.\w+$/u;
/** The page itself is asked for each time, and is sent if it is another one. */
const caching = (name: string): string => (hashed.test(name) ? 'public, max-age=31536000, immutable' : 'no-cache');

/**
 * The file of a path; a path without an ending is the page itself. Where the same file lies beside it compressed, as `NAME.br` or `NAME.gz`, it
 * is sent so to clients that take it. Undefined: there is none. @param path - decoded segments
 */
export async function pageResponse(
  folder: string,
  path: readonly string[],
  request: Request,
): Promise<Response | undefined> {
  if (path.some((segment) => segment.startsWith('.') || /[\\/\0:]/.test(segment))) return undefined;
  const last = path.at(-1) ?? '';
  const names = extname(last) === '' ? ['index.html'] : path;
  const type = types[extname(names.at(-1) ?? '')];
  if (type === undefined) return undefined;
  try {
    const [root, file] = await Promise.all([realpath(folder), realpath(join(folder, ...names))]);
    // A link may lead out of the folder.
    if (!file.startsWith(root + sep)) return undefined;
    const { bytes, encoding } = await readAs(file, request);
    const etag = `"${createHash('sha256').update(bytes).digest('base64url').slice(0, 22)}"`;
    const own = { ...headers, 'cache-control': caching(last), etag, vary: 'accept-encoding' };
    if (request.headers.get('if-none-match') === etag) return new Response(null, { status: 304, headers: own });
    return new Response(bytes, {
      headers: { ...own, 'content-type': type, ...(encoding !== undefined && { 'content-encoding': encoding }) },
    });
  } catch {
    return undefined;
  }
}

const encodings = [
  ['br', '.br'],
  ['gzip', '.gz'],
] as const;

/** A file as the client takes it. */
async function readAs(
  file: string,
  request: Request,
): Promise<{ readonly bytes: Uint8Array<ArrayBuffer>; readonly encoding?: string }> {
  for (const [encoding, ending] of encodings)
    if (takesEncoding(request, encoding)) {
      const bytes = await readFile(file + ending).catch(() => undefined);
      if (bytes !== undefined) return { bytes: new Uint8Array(bytes), encoding };
    }
  return { bytes: new Uint8Array(await readFile(file)) };
}

/** The folder of the studio: beside the built code, or where the build of these sources put it. Undefined: it was not built. */
export function findStudio(): string | undefined {
  return ['../studio', '../../dist/studio']
    .map((place) => join(import.meta.dirname, place))
    .find((folder) => existsSync(join(folder, 'index.html')));
}
