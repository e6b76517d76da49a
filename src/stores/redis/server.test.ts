/** Where a Redis store may be: URLs, and what they never tell. */
import { expect, test } from 'vitest';
import { readRedisUrl } from './server.ts';

test('S4 a URL names server, database and prefix, and its name tells no password', () => {
  const place = readRedisUrl('rediss://ann:p%40ss@db.example.org:7000/3?prefix=flows&ca=/ca.pem&connect_timeout=2');
  expect(place).toEqual({
    name: 'rediss://db.example.org:7000/3?prefix=flows',
    host: 'db.example.org',
    port: 7000,
    database: 3,
    prefix: 'flows:',
    user: 'ann',
    password: 'p@ss',
    isTls: true,
    certificates: '/ca.pem',
    connectTimeoutMs: 2000,
  });
  expect(readRedisUrl('redis://[::1]')).toMatchObject({ host: '::1', port: 6379, database: 0, isTls: false });
});

test.each([
  ['redis://db.example.org', /would send all in clear/],
  ['redis://localhost.example.org', /would send all in clear/],
  ['redis://127.example.org', /would send all in clear/],
  ['redis://127.0.0.1/?tls=no', /parameter "tls"/],
  ['redis://127.0.0.1/flows', /is a number/],
  ['redis://127.0.0.1?prefix=a:b', /a prefix has/],
  ['redis://127.0.0.1?cleartext=no', /cleartext=allow/],
  ['redis://127.0.0.1?connect_timeout=0', /connect_timeout/],
  ['http://127.0.0.1', /has a URL/],
])('S4 %s is refused', (url, reason) => {
  expect(() => readRedisUrl(url)).toThrow(reason);
});

test('S4 plain connections leave this machine only where the URL allows it', () => {
  expect(readRedisUrl('redis://db.example.org?cleartext=allow')).toMatchObject({ isTls: false });
});
