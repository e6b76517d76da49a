/** The beginning of something long, for doors that show a page of it. */

/** At most so many of the items, and whether there are more. No more than one is read beyond them. */
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
