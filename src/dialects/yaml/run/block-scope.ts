/** What references read while a run goes on: its state, seen as inputs and blocks. */
import type { StateView } from '../../../graph/contracts/node-contract.ts';
import type { BlockView, Scope } from '../expression/template.ts';

type Output = Readonly<Record<string, unknown>>;

/** Makes of what is stored of a block's output what references see of it. */
export type OutputShape = (stored: unknown) => Output;

/** How references see a block. */
export interface BlockShape {
  readonly output: OutputShape;
  readonly mode?: NonNullable<BlockView['mode']>;
}

const skipped: BlockView = Object.freeze({ status: 'skipped', output: undefined, error: undefined });

/** A state is an object, and every object has functions by some names (`constructor`); no stored value is one. */
function valueAt(part: Output, id: string): unknown {
  const value = part[id];
  return typeof value === 'function' ? undefined : value;
}

/** Reads are those of the state, so they are recorded as the activation's input (E9). */
export class BlockScope implements Scope {
  readonly each: Scope['each'];
  readonly #metadata: () => Scope['metadata'];
  readonly #state: StateView;
  readonly #shapes: ReadonlyMap<string, BlockShape>;

  /** @param metadata - asked for when an expression reads it, which few do */
  constructor(
    state: StateView,
    shapes: ReadonlyMap<string, BlockShape>,
    metadata: () => Scope['metadata'],
    each?: Scope['each'],
  ) {
    this.#state = state;
    this.#shapes = shapes;
    this.#metadata = metadata;
    this.each = each;
  }

  get metadata(): Scope['metadata'] {
    return this.#metadata();
  }

  get inputs(): Output {
    return this.#state.input as Output;
  }

  readonly block = (id: string): BlockView => {
    const stored = valueAt(this.#state.outputs, id);
    const shape = this.#shapes.get(id);
    const mode = shape?.mode === undefined ? {} : { mode: shape.mode };
    if (stored !== undefined) {
      // A person who says of an effect that it happened need not know what it gave.
      const output =
        typeof stored === 'object' && stored !== null ? (shape?.output(stored) ?? (stored as Output)) : undefined;
      return { status: 'completed', output, error: undefined, ...mode };
    }
    const error = valueAt(this.#state.failures, id) as Error | undefined;
    return error === undefined ? { ...skipped, ...mode } : { status: 'failed', output: undefined, error, ...mode };
  };

  /** The same state with one item of a for_each. */
  withEach(each: NonNullable<Scope['each']>): BlockScope {
    return new BlockScope(this.#state, this.#shapes, this.#metadata, each);
  }
}
