/** Marks on values that we copied, checked and froze ourselves, so that they are not copied again when they come back. */

/** What is known of a marked value. */
export interface OwnershipMark {
  readonly hasTags: boolean;
  /** How deep it nests, at most. */
  readonly depth: number;
  /** What it went through when it was taken in, by identity. */
  readonly intake: object | undefined;
}

/** Returning another object from a constructor lets a subclass put its private field on it. */
// oxlint-disable-next-line typescript/no-extraneous-class -- there for its constructor only
class Adopted {
  constructor(adopted: object) {
    // The field below lands on the object given, where nobody else can see or forge it.
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

/** Marks an object as ours; a private field costs a third of an entry in a WeakMap. An object is marked once. */
export function markOwned(value: object, mark: OwnershipMark): void {
  if (Marked.markOf(value) === undefined) Marked.put(value, mark);
}

/** The mark of an object that is ours and frozen in depth. */
export function findMark(value: object): OwnershipMark | undefined {
  return Marked.markOf(value);
}
