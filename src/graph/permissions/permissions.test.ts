/** Grants: least by default, and no way round them. */
import { expect, test } from 'vitest';
import type { Need } from '../contracts/node-type.ts';
import { parsePermissions, everythingAllowed, refusalOf } from './permissions.ts';

const granted = (need: Need, ...allow: readonly string[]): boolean =>
  refusalOf(need, parsePermissions(allow).permissions) === undefined;
const fs = (path: string | undefined): Need => ({ kind: 'fs', path });
const net = (host: string | undefined): Need => ({ kind: 'net', host });

test('Y6 grants are read from texts, which add up', () => {
  expect(parsePermissions(['shell, net=a.org,fs=/x', 'env=K,net=localhost:80', 'inline'])).toEqual({
    permissions: { shell: true, net: ['a.org', 'localhost:80'], fs: ['/x'], env: ['K'] },
    inline: true,
  });
  expect(parsePermissions([])).toEqual({ permissions: {}, inline: false });
  expect(parsePermissions(['net,net=a.org']).permissions.net).toBe(true);
});

test.each([
  'shel',
  'net=',
  'fs=relative',
  'fs=~/x',
  'shell=1',
  'net=http://a.org',
  'inline=yes',
  'sqlite=x',
  'model=',
  'constructor',
])('Y6 a grant that cannot be read is refused: %s', (text) => {
  expect(() => parsePermissions([text])).toThrow(expect.objectContaining({ code: 'CONFIG_INVALID' }));
});

test.each<[need: Need, allow: string, isGranted: boolean]>([
  [{ kind: 'shell' }, '', false],
  [{ kind: 'shell' }, 'shell', true],
  [{ kind: 'env', name: 'K' }, 'env=L', false],
  [{ kind: 'env', name: 'K' }, 'env=K', true],
  [{ kind: 'env', name: 'K' }, 'env', true],
  [{ kind: 'model', name: 'default' }, 'shell,net,fs,env,sqlite', false],
  [{ kind: 'model', name: 'default' }, 'model=default', true],
  [{ kind: 'model', name: 'a:b' }, 'model=default', false],
  [{ kind: 'model', name: 'a:b' }, 'model', true],
  [{ kind: 'model', name: undefined }, 'model=default', true],
  [{ kind: 'model', name: undefined }, '', false],
  [{ kind: 'sqlite' }, 'shell,net,fs,env,model', false],
  [{ kind: 'sqlite' }, 'sqlite', true],
  [fs('/x/y'), 'fs=/x', true],
  [fs('/x'), 'fs=/x/', true],
  [fs('/xy'), 'fs=/x', false],
  [fs('/x/../etc/passwd'), 'fs=/x', false],
  [fs('/x/./y'), 'fs=/x', true],
  [fs('/x/y/../z'), 'fs=/x', false],
  [fs('/w/a\\..\\..\\x/y'), 'fs=/x', false],
  [fs('/w/a\\..\\..\\x'), 'fs=/w', true],
  [fs('\\x\\y'), 'fs=/x', false],
  [fs('/x\\y'), 'fs=/x', false],
  [fs('/x\\y/z'), 'fs=/x\\y', true],
  [fs('/x/\0/y'), 'fs=/x', false],
  [fs('C:\\x\\y'), 'fs=C:\\x', true],
  [fs('C:\\x\\y'), 'fs=C:/x', true],
  [fs('C:\\x:stream'), 'fs=C:\\x', false],
  [fs('C:\\x\\.. \\y'), 'fs=C:\\x', false],
  [fs('x'), 'fs=/x', false],
  [fs(undefined), 'fs=/x', true],
  [fs(undefined), 'shell', false],
  [fs('/etc'), 'fs', true],
  [net('a.org'), 'net=a.org', true],
  [net('A.ORG'), 'net=a.org', true],
  [net('a.org:8080'), 'net=a.org', true],
  [net('a.org'), 'net=a.org:443', false],
  [net('a.org:443'), 'net=a.org:443', true],
  [net('b.a.org'), 'net=a.org', false],
  [net('b.a.org'), 'net=*.a.org', true],
  [net('a.org'), 'net=*.a.org', false],
  [net('evila.org'), 'net=*.a.org', false],
  [{ ...net('a.org'), isNamed: true } as Need, 'net', false],
  [{ ...net('b.a.org'), isNamed: true } as Need, 'net=*.a.org', false],
  [{ ...net('a.org:80'), isNamed: true } as Need, 'net=a.org', true],
  [net(undefined), 'net=a.org', true],
  [net(undefined), '', false],
])('Y6 %o under %s: %s', (need, allow, isGranted) => {
  expect(granted(need, allow)).toBe(isGranted);
});

test('Y6 everything is everything, and a refusal names the grant that is wanting', () => {
  for (const need of [
    fs('/x'),
    net('a'),
    { kind: 'shell' },
    { kind: 'env', name: 'K' },
    { kind: 'model', name: 'm' },
    { kind: 'sqlite' },
  ] satisfies Need[])
    expect(refusalOf(need, everythingAllowed)).toBeUndefined();
  expect(refusalOf(net('a.org'), {})).toContain('--allow net=a.org');
});
