/** The scope of references during a run: shows the run's state as inputs and blocks. */
import type { StateView } from '../../../graph/contracts/node-contract.ts';
import type { BlockView, Scope } from '../expression/template.ts';
import { CairnError } from '../../../errors.ts';
import { inFolder } from '../file/input-schema.ts';

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

/** What a scope knows of its workflow. */
export interface ScopeParts {
  readonly shapes: ReadonlyMap<string, BlockShape>;
  /** Inputs whose default names the folder of the run, with the default as it is written. */
  readonly folderInputs: ReadonlyMap<string, string>;
}

/** The scope of a run. It reads through the state view, so every read is recorded as the activation's input (E9). */
export class BlockScope implements Scope {
  readonly each: Scope['each'];
  readonly #metadata: () => Scope['metadata'];
  readonly #state: StateView;
  readonly #parts: ScopeParts;

  /** @param metadata - called when an expression reads the metadata, which few do */
  constructor(state: StateView, parts: ScopeParts, metadata: () => Scope['metadata'], each?: Scope['each']) {
    this.#state = state;
    this.#parts = parts;
    this.#metadata = metadata;
    this.each = each;
  }

  get metadata(): Scope['metadata'] {
    return this.#metadata();
  }

  get inputs(): Output {
    const input = this.#state.input as Output;
    const { folderInputs } = this.#parts;
    if (folderInputs.size === 0) return input;
    const inputs: Record<string, unknown> = { ...input };
    for (const [name, initial] of folderInputs) if (input[name] === initial) this.#fillIn(inputs, name, initial);
    return inputs;
  }

  #fillIn(inputs: Record<string, unknown>, name: string, initial: string): void {
    const { tmp } = this.metadata;
    if (typeof tmp === 'string') inputs[name] = inFolder(initial, tmp);
    // Where the run is not known, nobody may take the default as it is written for the value.
    else
      Object.defineProperty(inputs, name, {
        enumerable: true,
        get: () => {
          throw new CairnError('EXPRESSION_FAILED', {
            text: `inputs.${name}`,
            reason: `its default ${initial} names the folder of the run, which is not known here`,
          });
        },
      });
  }

  readonly block = (id: string): BlockView => {
    const stored = valueAt(this.#state.outputs, id);
    const shape = this.#parts.shapes.get(id);
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
    return new BlockScope(this.#state, this.#parts, this.#metadata, each);
  }
}
