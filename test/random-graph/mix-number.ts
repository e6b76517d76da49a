/** A small number made of texts and numbers, the same on every machine: what test nodes compute. */
export function mixNumber(...parts: readonly (string | number)[]): number {
  let hash = 2_166_136_261;
  for (const part of parts) {
    const text = `${part};`;
    for (let index = 0; index < text.length; index += 1) hash = Math.imul(hash ^ text.charCodeAt(index), 16_777_619);
  }
  hash ^= hash >>> 15;
  return (Math.imul(hash, 2_246_822_519) >>> 0) % 997;
}
