import { expect, test } from 'vitest';
import { forTerminal, jsonText, printable } from './terminal.ts';

const hidden = [0x200b, 0x200c, 0x200d, 0x2060, 0xfeff, 0xad, 0x3164, 0x180e, 0xe0041, 0x202e, 0x2066, 0x61c];

test.each(hidden.map((code) => [code.toString(16), String.fromCodePoint(code)]))(
  'P6 U+%s is not seen, and is written as an escape',
  (hex, sign) => {
    const text = `pay${sign}pal`;
    for (const shown of [printable(text), forTerminal(text)]) {
      expect(shown).not.toContain(sign);
      expect(shown).toMatch(new RegExp(`^pay\\\\[xuU]0*${hex}pal$`));
    }
    expect(jsonText({ text })).not.toContain(sign);
    expect(JSON.parse(jsonText({ text }))).toEqual({ text });
  },
);

test.each(['👩‍👩‍👧', '👩🏽‍🚀', '🏳️‍🌈', 'می‌خواهم', 'क्‍ष', 'é', '日本', 'a\u0301'])('P6 %s is printed as it is', (text) => {
  expect([printable(text), forTerminal(text), jsonText(text)]).toEqual([text, text, JSON.stringify(text)]);
});
