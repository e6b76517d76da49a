/** Parts of a node's work that go on side by side, such as the items of a map. */

/** Called when a part of a node's work waits: `isInDoubt` if somebody is to say whether an effect of it happened. */
export type OnWaiting = (isInDoubt: boolean) => void;

/** How a part of a node's work runs beside the others. */
export interface PartOptions {
  /** Default false. */
  readonly isOrdered?: boolean;
}
