/** A list that is put together anew each time, and is mostly the one before with more at its end: a conversation, as each request holds it. */
export class LastList<Item> {
  readonly #items: Item[] = [];

  /** Takes the list as it is now. @returns how many items at its beginning are the same objects as in the one before */
  take(items: readonly Item[]): number {
    const known = this.#items;
    const most = Math.min(items.length, known.length);
    let count = 0;
    while (count < most && items[count] === known[count]) count += 1;
    known.length = count;
    for (let at = count; at < items.length; at += 1) known.push(items[at] as Item);
    return count;
  }
}
