/**
 * Addresses that are written to reach another host than the granted one. The oracle is the other host: a server of its own, which counts who
 * connects, whatever the address, its user part, its separators, or a redirect said.
 */
import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import * as fc from 'fast-check';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Need } from '../../src/graph/contracts/node-type.ts';
import { parsePermissions, refusalOf } from '../../src/graph/permissions/permissions.ts';
import { httpCall } from '../../src/nodes/blocks/http-call.ts';
import { scale } from '../support/scale.ts';
import { createBlockContext } from '../support/run-block.ts';

const servers: Server[] = [];
const connected = { granted: 0, other: 0 };
/** How many requests the granted host got. */
let requests = 0;
/** Where the granted host redirects to. */
let location = '';

async function listen(name: keyof typeof connected): Promise<number> {
  const server = createServer((request, response) => {
    requests += Number(name === 'granted');
    if (name === 'granted' && request.url?.includes('redirect') === true)
      response.writeHead(302, { location: encodeURI(location).replaceAll('%25', '%') });
    response.end('{}');
  });
  server.on('connection', () => (connected[name] += 1));
  servers.push(server);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return (server.address() as AddressInfo).port;
}

let granted = 0;
let other = 0;
beforeAll(async () => {
  [granted, other] = [await listen('granted'), await listen('other')];
});
afterAll(() => {
  for (const server of servers) server.close();
});

interface Ports {
  readonly granted: number;
  readonly other: number;
}
/** Part of an address. The ports are known only when the servers listen. */
type Piece = string | ((ports: Ports) => string);
type Address = readonly [scheme: string, pieces: readonly Piece[]];

const piece = fc.constantFrom<Piece>(
  (ports) => `127.0.0.1:${ports.granted}`,
  (ports) => `127.0.0.1:${ports.other}`,
  (ports) => `:${ports.other}`,
  (ports) => `[::ffff:127.0.0.1]:${ports.other}`,
  (ports) => `2130706433:${ports.other}`,
  (ports) => `0x7f.1:${ports.other}`,
  (ports) => `１２７.0.0.1:${ports.other}`,
  (ports) => `127。0。0。1:${ports.other}`,
  (ports) => `localhost:${ports.other}`,
  (ports) => `127.0.0.1.:${ports.other}`,
  '@',
  '/',
  '//',
  '\\',
  '#',
  '?',
  '%40',
  '\t',
  '\n',
  ' ',
  'user:pass',
  'redirect',
  '..',
);
const address: fc.Arbitrary<Address> = fc.tuple(
  fc.constantFrom('http://', 'http:', 'http:/', 'HTTP://', 'http:\\\\', '//'),
  fc.array(piece, { minLength: 1, maxLength: 5 }),
);
/** An address that certainly reaches the granted host, which redirects. */
const redirecting = fc.constant<Address>(['http://', [(ports) => `127.0.0.1:${ports.granted}/redirect`]]);

test('Y6 no address and no redirect leads a request to a host that is not granted', { timeout: 600_000 }, async () => {
  const { permissions } = parsePermissions([`net=127.0.0.1:${granted}`]);
  const isGranted = (need: Need): boolean => refusalOf(need, permissions) === undefined;
  const textOf = ([scheme, pieces]: Address): string =>
    scheme + pieces.map((part) => (typeof part === 'string' ? part : part({ granted, other }))).join('');
  await fc.assert(
    fc.asyncProperty(fc.oneof(address, redirecting), address, async (to, next) => {
      location = textOf(next);
      connected.other = 0;
      const inputs = { url: textOf(to), method: 'GET', timeout: 0.5, follow_redirects: true };
      if (httpCall.needs?.(inputs).every(isGranted) === false) return;
      await Promise.resolve(httpCall.run(createBlockContext(inputs, { isGranted }))).catch(() => undefined);
      expect([inputs.url, location, connected.other]).toEqual([inputs.url, location, 0]);
    }),
    { numRuns: scale(200, 10_000) },
  );
  // It was a contest: requests reached the granted host, and the other one can be reached.
  expect(requests).toBeGreaterThan(10);
  await httpCall.run(
    createBlockContext({ url: `http://127.0.0.1:${other}/`, method: 'GET' }, { isGranted: () => true }),
  );
  expect(connected.other).toBe(1);
});
