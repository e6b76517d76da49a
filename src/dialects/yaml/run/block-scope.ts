/** The scope of references during a run: shows the run's state as inputs and blocks. */
import type { StateView } from '../../../graph/contracts/node-contract.ts';
import type { BlockView, Scope } from '../expression/template.ts';

type Output = Readonly<Record<string, unknown>>;

/** Turns the stored output of a block into the output that references see. */
export type OutputShape = (stored: unknown) => Output;

/** How references see a block. */
export interface BlockShape {
  readonly output: OutputShape;
  readonly mode?: NonNullable<BlockView['mode']>;
}

const skipped: BlockView = Object.freeze({ status: 'skipped', output: undefined, error: undefined });

/** Reads a stored value. Every object inherits functions by some names (`constructor`): those are not stored values. */
function valueAt(part: Output, id: string): unknown {
  const value = part[id];
  return typeof value === 'function' ? undefined : value;
}

/** The scope of a run. It reads through the state view, so every read is recorded as the activation's input (E9). */
export class BlockScope implements Scope {
  readonly each: Scope['each'];
  readonly #metadata: () => Scope['metadata'];
  readonly #state: StateView;
  readonly #shapes: ReadonlyMap<string, BlockShape>;

  /** @param metadata - called when an expression reads the metadata, which few do */
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
      // A person who confirms that an effect happened may not know its output: then there is none.
      const output =
        typeof stored === 'object' && stored !== null ? (shape?.output(stored) ?? (stored as Output)) : undefined;
      return { status: 'completed', output, error: undefined, ...mode };
    }
    const error = valueAt(this.#state.failures, id) as Error | undefined;
    return error === undefined ? { ...skipped, ...mode } : { status: 'failed', output: undefined, error, ...mode };
  };

  /** The same scope with one item of a for_each. */
  withEach(each: NonNullable<Scope['each']>): BlockScope {
    return new BlockScope(this.#state, this.#shapes, this.#metadata, each);
  }
}
