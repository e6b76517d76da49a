/** Names of steps as people read them. */

const hash = /(?<!\S)[\w-]{22,}(?!\S)/gu;
const hashPrefixLength = 8;
/** A key in words: the record puts a mark before the count of a call whose name was called before, and two before a call to a child run. */
function inWords(key: string): string {
  return key.replaceAll('\0\0', ' ').replaceAll('\0', ' ');
}

/** A step's name with its count in words, and its hashes cut short: enough of each to tell two apart. JSON output has them whole. */
export function shortStepName(name: string): string {
  return inWords(name).replaceAll(hash, (whole) =>
    /[A-Z\d]/u.test(whole) ? `${whole.slice(0, hashPrefixLength)}…` : whole,
  );
}

/** What steps do alike, whatever their input: their names without hashes and counts. Those of a list's items are their numbers. */
export function stepKind(name: string): string {
  const kind = inWords(name)
    .replaceAll(hash, (whole) => (/[A-Z\d]/u.test(whole) ? '' : whole))
    .replaceAll(/\s+\d*(?=\s|$)/gu, ' ');
  if (/^\d+$/u.test(name)) return 'item';
  return kind.trim() || name;
}
