/**
 * Source maps that say of each line of a bundle where it comes from, and no more. Stack traces name the same file and line as with whole
 * maps, which are a third of the package.
 *
 * In a source map, `mappings` has a part for each line of the bundle, ended by `;`. A part has segments, one for each place in the line,
 * separated by `,`. A segment is four numbers (a place), or only the first of them where the code comes from no source.
 */
const digits = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/';

/** Numbers of a segment, each in as many digits of 5 bits as it needs, the sign last. */
function decode(segment: string): readonly number[] {
  const numbers: number[] = [];
  let value = 0;
  let shift = 0;
  for (const digit of segment) {
    const bits = digits.indexOf(digit);
    value += (bits & 31) << shift;
    shift += 5;
    if ((bits & 32) !== 0) continue;
    numbers.push((value & 1) === 0 ? value >> 1 : -(value >> 1));
    value = shift = 0;
  }
  return numbers;
}

function encode(numbers: readonly number[]): string {
  const encodeOne = (number: number): string => {
    let value = number < 0 ? (-number << 1) | 1 : number << 1;
    let text = '';
    do {
      const rest = value >>> 5;
      text += digits[(value & 31) | (rest === 0 ? 0 : 32)];
      value = rest;
    } while (value !== 0);
    return text;
  };
  return numbers.map(encodeOne).join('');
}

/** A column in a line of the bundle, and the file and line that the code there comes from; the column there is told as 0. */
type Place = readonly [column: number, source: number, line: number, sourceColumn: 0];

/** What a segment holds: each number less that of the segment before. */
const differences = (place: Place, before: Place): readonly number[] =>
  place.map((number, index) => number - before[index]!);

/**
 * Keeps of each line of a bundle the places where another line of a source begins. Code of bundled packages counts as one stretch without
 * a source, of which only the beginning stays: stack traces name the bundle there. The first place of a line holds from its beginning, and
 * lines without a word, such as `});`, need none: nothing throws there.
 *
 * @param json - a source map
 * @param code - the bundle
 */
export function keepLines(json: string, code: string): string {
  const map = JSON.parse(json) as { readonly mappings: string; readonly sources: readonly string[] };
  const lines = code.split('\n');
  const parts = map.mappings.split(';');
  const hasWords = (row: number): boolean => /\w/.test(lines[row] ?? '');
  /** Whether the next line with a word has a place of its own, or is a comment. */
  const isPlacedBelow = (row: number): boolean => {
    let next = row + 1;
    while (next < lines.length && !hasWords(next)) next += 1;
    return (parts[next] ?? '') !== '' || (lines[next] ?? '//').startsWith('//');
  };
  let isPackaged = false;
  let [source, line] = [0, 0];
  let written: Place = [0, 0, 0, 0];
  const mappings = parts.map((segments, row) => {
    const isNeeded = hasWords(row) || !isPlacedBelow(row);
    let column = 0;
    let last: string | undefined;
    written = [0, written[1], written[2], 0];
    const kept: string[] = [];
    for (const segment of segments === '' ? [] : segments.split(',')) {
      const [columns = 0, ...rest] = decode(segment);
      column += columns;
      if (rest.length === 0) continue;
      const [sources = 0, lines = 0] = rest;
      source += sources;
      line += lines;
      const wasPackaged = isPackaged;
      isPackaged = map.sources[source]!.includes('/node_modules/');
      if (isPackaged) {
        last = undefined;
        if (wasPackaged) continue;
        kept.push(encode([column - written[0]]));
        written = [column, written[1], written[2], 0];
        continue;
      }
      const own = `${source}:${line}`;
      if (own === last || !isNeeded) continue;
      last = own;
      const place: Place = [kept.length === 0 ? 0 : column, source, line, 0];
      kept.push(encode(differences(place, written)));
      written = place;
    }
    return kept.join(',');
  });
  return JSON.stringify({ ...map, names: [], mappings: mappings.join(';') });
}
