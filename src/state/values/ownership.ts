/** Marks values that we copied, checked and froze ourselves, so that they are not copied again when they come back. */

/** What is known of a marked value. */
export interface OwnershipMark {
  readonly hasTags: boolean;
  /** The value's nesting depth, at most. */
  readonly depth: number;
  /** The intake that was applied to it, compared by identity. */
  readonly intake: object | undefined;
}

/** Base class whose constructor returns its argument, so that a subclass's private field is added to that object. */
// oxlint-disable-next-line typescript/no-extraneous-class -- there for its constructor only
class Adopted {
  constructor(adopted: object) {
    // The subclass's field is added to this object, where nobody else can see or forge it.
    return adopted;
  }
}

class Marked extends Adopted {
  #mark: OwnershipMark;
  constructor(value: object, mark: OwnershipMark) {
    super(value);
    this.#mark = mark;
  }
  static put(value: object, mark: OwnershipMark): Marked {
    return new Marked(value, mark);
  }
  static markOf(value: object): OwnershipMark | undefined {
    return #mark in value ? value.#mark : undefined;
  }
}

/** Marks an object as ours, once. A private field costs a third of an entry in a WeakMap. */
export function markOwned(value: object, mark: OwnershipMark): void {
  if (Marked.markOf(value) === undefined) Marked.put(value, mark);
}

/** The mark of an object that is ours and deeply frozen; undefined for others. */
export function findMark(value: object): OwnershipMark | undefined {
  return Marked.markOf(value);
}
