/** What the measured nodes return: pseudo-words, about as compressible as prose, the same in every run. */

const words = makeWords(3000);

function makeWords(count: number): readonly string[] {
  let seed = 42;
  const next = (below: number): number => {
    seed = (Math.imul(seed, 1103515245) + 12345) & 0x7fffffff;
    return Math.floor((seed / 0x80000000) * below);
  };
  return Array.from({ length: count }, () =>
    Array.from({ length: 2 + next(8) }, () => String.fromCharCode(97 + next(26))).join(''),
  );
}

function makeText(bytes: number, salt: number): string {
  let state = Math.imul(salt, 2654435761) >>> 0;
  let text = '';
  while (text.length < bytes) {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    text += `${words[state % words.length]} `;
  }
  return text.slice(0, bytes);
}

export interface Message {
  readonly id: string;
  readonly role: string;
  readonly content: string;
}

/** An output of 1 KiB as JSON. */
export const outputOfKib = (index: number): object => ({ index, ok: true, text: makeText(990, index + 1) });

/** A text of 1 KiB. */
export const textOfKib = (index: number): string => makeText(1024, index + 1);

/** A message of 2 KiB as JSON. */
export const messageOf2Kib = (index: number): Message => ({
  id: `m${index}`,
  role: index % 2 === 0 ? 'user' : 'assistant',
  content: makeText(1990, index + 7),
});

/** Made beforehand, since making 1 KiB of text takes as long as the engine takes for a node. */
export function makeList<T>(count: number, make: (index: number) => T): readonly T[] {
  return Array.from({ length: count }, (_, index) => make(index));
}
