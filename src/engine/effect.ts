/** What sets `write` and `external` apart from the other effect classes. */

/** A node whose effect the world can see: it starts only when its intent is durable. */
export function isEffect(node: { readonly effect: string }): boolean {
  return node.effect === 'write' || node.effect === 'external';
}
