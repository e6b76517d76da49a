/** Texts and values of a run as they may stand in a page: visible, harmless, and no longer than somebody reads. */
import { toJson } from '../../operations/declare/to-json.ts';

const marks: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', "'": '&#39;' };

/** Control characters, and marks that turn the direction of writing. Tabs and line feeds stay. */
const unsafe =
  // oxlint-disable-next-line no-control-regex
  /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff]|\p{Cs}/gu;

/** Text for a page, whatever it holds. What cannot be shown is a replacement mark. */
export function escape(text: string): string {
  return text.replace(unsafe, '\ufffd').replace(/[&<>"']/g, (mark) => marks[mark] ?? mark);
}

/** A value for a page: a text as it is, anything else as JSON; cut after so many characters. */
export function valueText(value: unknown, most: number): string {
  const text = typeof value === 'string' ? value : (JSON.stringify(toJson(value), null, 1) ?? String(value));
  if (text.trim() === '') return escape(JSON.stringify(text));
  if (text.length <= most) return escape(text);
  return `${escape(text.slice(0, most))}… <i>${text.length.toLocaleString('en')} characters in all</i>`;
}

/** Longer texts are folded, and cut at {@link textMax}. */
const foldedMin = 600;
const beginning = 240;
const textMax = 20_000;

/** A text for a page. Of a long one the beginning is seen, and the rest when it is unfolded. */
export function foldedText(text: string): string {
  if (text.length <= foldedMin) return escape(text);
  return `<details class="long"><summary>${escape(text.slice(0, beginning))}…</summary><pre>${valueText(text, textMax)}</pre></details>`;
}
