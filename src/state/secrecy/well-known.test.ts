import { expect, test } from 'vitest';
import { maskWellKnown, maskWellKnownIn } from './well-known.ts';

const x = 'hunter2planted';

test.each([
  `Authorization: Bearer ${x}`,
  `curl -H "Authorization: Bearer ${x}" https://example.org`,
  `authorization: Basic ${x}==`,
  `Authorization: ${x}`,
  `Cookie: sid=1; session_token=${x}`,
  `DB_PASSWORD=${x} node main.js`,
  `export GITHUB_TOKEN='${x} and more'`,
  `password: "${x} and more", user: ann`,
  `--token=${x} --verbose`,
  `--token ${x} --verbose`,
  `--api-key "${x} and more"`,
  `https://example.org/?a=1&access_token=${x}&b=2`,
  `postgres://ann:${x}@db.example.org/runs`,
  `git clone https://ann:${x}@example.org/a.git`,
  `rsync ann:${x}@host`,
  `-----BEGIN PRIVATE KEY-----\n${x}\n-----END PRIVATE KEY-----`,
  `sk-${x}0123456789`,
  `ghp_${x}0123456789`,
  `the JWT eyJhbGciOiJIUzI1NiJ9.${x}abcdef.${x}`,
])('H4.1 the secret in %j is masked', (text) => {
  expect(maskWellKnown(text)).not.toContain(x);
  expect(maskWellKnown(text)).toContain('[redacted]');
});

test.each([
  'the token count: 512 tokens',
  'a password is needed',
  'password: true, tokens: 12',
  'see https://example.org:8080/a@b and mail ann@example.org at 12:30',
  'basic things',
  '{"status":"completed"}',
  'token: [secret:KEY]',
])('H4.1 %j stays as it is', (text) => {
  expect(maskWellKnown(text)).toBe(text);
});

test('H4.1 names are kept, and so is what stands around a secret, in keys too', () => {
  expect(maskWellKnown(`A_TOKEN=${x} run --password=${x} now`)).toBe(
    'A_TOKEN=[redacted] run --password=[redacted] now',
  );
  expect(maskWellKnownIn({ a: [`Bearer ${x}`], [`TOKEN=${x}`]: { n: 1, no: null } })).toEqual({
    a: ['Bearer [redacted]'],
    'TOKEN=[redacted]': { n: 1, no: null },
  });
});

test('P8 a long text costs what its length is', () => {
  for (const text of [
    'a'.repeat(2e6),
    '-'.repeat(2e6),
    'a:'.repeat(1e6),
    'a.'.repeat(1e6),
    ' '.repeat(2e6),
    'token='.repeat(3e5),
  ])
    expect(maskWellKnown(text).length).toBeGreaterThan(0);
});
