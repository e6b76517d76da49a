/** Files of a folder for browsers: a page and what belongs to it. They hold no data, so they are served without a token. */
import { existsSync } from 'node:fs';
import { readFile, realpath } from 'node:fs/promises';
import { extname, join, sep } from 'node:path';

/** What browsers let the page do: its own scripts, styles and requests to where it came from, and nothing else. */
export const pagePolicy: string = [
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
  'cache-control': 'no-cache',
};

/** The file of a path; a path without an ending is the page itself. Undefined: there is none. @param path - decoded segments */
export async function pageResponse(folder: string, path: readonly string[]): Promise<Response | undefined> {
  if (path.some((segment) => segment.startsWith('.') || /[\\/\0:]/.test(segment))) return undefined;
  const last = path.at(-1) ?? '';
  const names = extname(last) === '' ? ['index.html'] : path;
  const type = types[extname(names.at(-1) ?? '')];
  if (type === undefined) return undefined;
  try {
    const [root, file] = await Promise.all([realpath(folder), realpath(join(folder, ...names))]);
    // A link may lead out of the folder.
    if (!file.startsWith(root + sep)) return undefined;
    return new Response(await readFile(file), { headers: { ...headers, 'content-type': type } });
  } catch {
    return undefined;
  }
}

/** The folder of the studio: beside the built code, or where the build of these sources put it. Undefined: it was not built. */
export function findStudio(): string | undefined {
  return ['../studio', '../../dist/studio']
    .map((place) => join(import.meta.dirname, place))
    .find((folder) => existsSync(join(folder, 'index.html')));
}
