import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { createMask } from './mask.ts';

const token = 'tok+en/"42"\\';
const mask = createMask(
  new Map([
    ['TOKEN', token],
    ['PIN', '0042'],
  ]),
);

test('secrets are masked plain, quoted, percent-encoded and in base64', () => {
  const base64 = Buffer.from(token).toString('base64');
  const forms = [
    token,
    JSON.stringify(token).slice(1, -1),
    encodeURIComponent(token),
    base64,
    base64.replace(/=+$/, ''),
  ];
  for (const form of forms) expect(mask.text(`<${form}>`)).toBe('<[secret:TOKEN]>');
  expect(mask.text('pin 0042!')).toBe('pin [secret:PIN]!');
});

test('secrets are masked in values and keys, and in bytes that are no text; all else stays', () => {
  const when = new Date(0);
  expect(mask.all({ a: [token, 1, null, when, Buffer.from(token)], [token]: true })).toEqual({
    a: ['[secret:TOKEN]', 1, null, when, new Uint8Array(Buffer.from('[secret:TOKEN]'))],
    '[secret:TOKEN]': true,
  });
  const bytes = Buffer.concat([Buffer.from([0xff, 0]), Buffer.from(token), Buffer.from([0xfe])]);
  expect(Buffer.from(mask.bytes(bytes))).toEqual(
    Buffer.concat([Buffer.from([0xff, 0]), Buffer.from('[secret:TOKEN]'), Buffer.from([0xfe])]),
  );
});

test('a secret cut into pieces anywhere is masked, and nothing else is changed', () => {
  fc.assert(
    fc.property(
      fc.array(fc.oneof(fc.constant(token), fc.constant('0042'), fc.string())),
      fc.array(fc.nat(8)),
      (parts, cuts) => {
        const whole = parts.join(' ');
        const stream = mask.createStream();
        let shown = '';
        let place = 0;
        for (const cut of cuts) {
          shown += stream.push(whole.slice(place, place + cut));
          place += cut;
        }
        shown += stream.push(whole.slice(place)) + stream.end();
        expect(shown).toBe(mask.text(whole));
      },
    ),
  );
});

test('without secrets nothing is held back or copied', () => {
  const none = createMask(new Map([['EMPTY', '']]));
  const value = { a: 1 };
  expect(none.all(value)).toBe(value);
  expect(none.createStream().push('all')).toBe('all');
});
