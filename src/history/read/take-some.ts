/** The first `limit` items, and whether there are more. At most one item is read beyond the limit. */
export async function takeSome<Item>(
  items: AsyncIterable<Item>,
  limit: number,
): Promise<{ readonly taken: readonly Item[]; readonly hasMore: boolean }> {
  const taken: Item[] = [];
  for await (const item of items) {
    if (taken.length >= limit) return { taken, hasMore: true };
    taken.push(item);
  }
  return { taken, hasMore: false };
}
