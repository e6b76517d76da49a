import * as fc from 'fast-check';
import { expect, test, vi } from 'vitest';
import { TextMask } from './text-mask.ts';

const token = 'tok+en/"42"\\';
const mask = new TextMask(
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
  const none = new TextMask(new Map([['EMPTY', '']]));
  const value = { a: 1 };
  expect(none.all(value)).toBe(value);
  expect(none.createStream().push('all')).toBe('all');
});

const secretValue = 'hunter2-ünî+/=?%"x';
const wide = new TextMask([['K', secretValue]]);
const before = fc.uint8Array({ maxLength: 7 });

test('N6 a secret is found in base64 and base64url at every offset, in hex, URL encoding and quoted', () => {
  fc.assert(
    fc.property(before, before, (start, end) => {
      const bytes = Buffer.concat([start, Buffer.from(secretValue), end]);
      for (const form of ['base64', 'base64url', 'hex'] as const) {
        const shown = wide.text(`<${bytes.toString(form)}>`);
        expect(shown).toContain('[secret:K]');
        // What is left of it are the characters that other bytes have a part in.
        expect(shown.length).toBeLessThanOrEqual('<[secret:K]>'.length + (start.length + end.length) * 2 + 8);
      }
    }),
  );
  const url = encodeURIComponent(secretValue);
  const forms = [
    url,
    url.toLowerCase(),
    url.replaceAll('%2F', '/'),
    Buffer.from(secretValue).toString('hex').toUpperCase(),
  ];
  for (const form of forms.filter((text) => text !== url.toLowerCase()))
    expect(wide.text(`<${form}>`)).toBe('<[secret:K]>');
  expect(wide.text(url.replace(/%../g, (escape) => escape.toLowerCase()))).toBe('[secret:K]');
  expect(wide.text(JSON.stringify({ a: secretValue }))).toBe('{"a":"[secret:K]"}');
});

/** As `base64`, `openssl` and `xxd -p` write it. */
const inLines = (text: string, width: number, lineBreak: string): string =>
  (text.match(new RegExp(`.{1,${width}}`, 'gsu')) ?? []).join(lineBreak);

test('N6 a secret is found in base64 and hex that is broken into lines, wherever a line breaks, whole and in pieces', () => {
  const long = new TextMask([['K', secretValue.repeat(8)]]);
  const width = fc.constantFrom(16, 57, 60, 64, 72, 76);
  const lineBreak = fc.constantFrom('\n', '\r\n', '\\n', '\\r\\n');
  const form = fc.constantFrom<BufferEncoding[]>('base64', 'base64url', 'hex');
  const start = fc.uint8Array({ maxLength: 120 });
  fc.assert(
    fc.property(form, width, lineBreak, start, fc.array(fc.nat(90)), (encoding, columns, end, first, cuts) => {
      const bytes = Buffer.concat([first, Buffer.from(secretValue.repeat(8)), Buffer.from('end')]);
      const whole = `<${inLines(bytes.toString(encoding), columns, end)}>`;
      const shown = long.text(whole);
      expect(shown).toContain('[secret:K]');
      expect(shown.length).toBeLessThan(40 + (first.length + 3) * 2 * 1.3);
      const stream = long.createStream();
      let streamed = '';
      let place = 0;
      for (const cut of cuts) streamed += stream.push(whole.slice(place, (place += cut)));
      expect(streamed + stream.push(whole.slice(place)) + stream.end()).toBe(shown);
    }),
    { numRuns: 300 },
  );
  // Lines of prose are none of it.
  const prose = 'one\ntwo\nthree\\nfour\r\n'.repeat(20);
  expect(long.text(prose)).toBe(prose);
});

test('N6 forms cut in pieces anywhere are masked as they are whole', () => {
  const forms = ['base64', 'base64url', 'hex', 'utf8'].map((form) =>
    Buffer.from(secretValue).toString(form as BufferEncoding),
  );
  fc.assert(
    fc.property(fc.array(fc.oneof(fc.constantFrom(...forms), fc.string())), fc.array(fc.nat(30)), (parts, cuts) => {
      const whole = parts.join('');
      const stream = wide.createStream();
      let shown = '';
      let place = 0;
      for (const cut of cuts) shown += stream.push(whole.slice(place, (place += cut)));
      shown += stream.push(whole.slice(place)) + stream.end();
      expect(shown).toBe(wide.text(whole));
    }),
  );
});

test('N6.4 with twenty secrets most places of a text are passed over by their hash alone', () => {
  // Counted, not timed: each place of a text is hashed once, and few are looked at more closely.
  const many = new TextMask(
    Array.from({ length: 20 }, (_, i) => [`K${i}`, `secret-value-${i}-${'abcdefghij'.slice(i % 10)}`] as const),
  );
  const text = 'The quick brown fox says sec and secr and secret-val. '.repeat(20_000);
  const looks = vi.spyOn(String.prototype, 'startsWith');
  const shown = many.text(text);
  const looked = looks.mock.calls.length;
  looks.mockRestore();
  expect(shown).toBe(text);
  expect(looked).toBeGreaterThan(0);
  expect(looked).toBeLessThan(text.length * 2);
});
