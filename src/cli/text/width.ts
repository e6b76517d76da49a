/** How many columns a text takes on a terminal, and how to make it fit. */

// oxlint-disable-next-line no-control-regex
const simple = /^[\u0020-\u007e]*$/;
// oxlint-disable-next-line no-control-regex
const style = /\u001b\[[\d;]*m/g;
const zeroWidth = /^[\p{Mn}\p{Me}\p{Cf}]$/u;
const wide =
  /^(?:\p{Emoji_Presentation}|[\u1100-\u115f\u2e80-\u303e\u3041-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6]|[\u{20000}-\u{3fffd}])$/u;

function widthOfCharacter(character: string): number {
  if (zeroWidth.test(character)) return 0;
  return wide.test(character) ? 2 : 1;
}

/** Columns of a printable text; its colours take none. */
export function widthOf(text: string): number {
  const bare = text.includes('\u001b') ? text.replace(style, '') : text;
  if (simple.test(bare)) return bare.length;
  let width = 0;
  for (const character of bare) width += widthOfCharacter(character);
  return width;
}

/** Cuts a text without colours to a width, with `…` where something is missing. */
export function fit(text: string, width: number): string {
  if (widthOf(text) <= width) return text;
  let kept = '';
  let used = 0;
  for (const character of text) {
    used += widthOfCharacter(character);
    if (used > width - 1) break;
    kept += character;
  }
  return width > 0 ? `${kept}…` : '';
}

export function pad(text: string, width: number): string {
  return text + ' '.repeat(Math.max(0, width - widthOf(text)));
}

/** Cuts a word into pieces of at most a width. */
function cut(word: string, width: number): readonly string[] {
  if (widthOf(word) <= width) return [word];
  const pieces = [''];
  for (const character of word) {
    const longer = `${pieces.at(-1)}${character}`;
    if (widthOf(longer) > width) pieces.push(character);
    else pieces[pieces.length - 1] = longer;
  }
  return pieces;
}

/** Breaks a text into lines of at most a width, between words where it can. */
export function wrap(text: string, width: number): readonly string[] {
  return text.split('\n').flatMap((line) => {
    const lines: string[] = [];
    let current = '';
    for (const word of line.split(' ').flatMap((part) => cut(part, width))) {
      const longer = current === '' ? word : `${current} ${word}`;
      if (current !== '' && widthOf(longer) > width) lines.push(current);
      current = current !== '' && widthOf(longer) > width ? word : longer;
    }
    return [...lines, current];
  });
}
