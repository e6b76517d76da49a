/** The state that conditions and choices read: the state after an activation, with its own output or failure (G6). */
import type { GraphNode } from '../../graph/graph.ts';
import type { StateView } from '../../graph/contracts/node-contract.ts';
import { absent, recordingObject, type Source } from '../../state/channels/versions.ts';
import type { FrameRun } from '../live-run/loop.ts';

/** Adds the outcome, which is not in the tree yet: its record is written together with the edges that are being decided. */
export function settledState(
  state: StateView,
  frameRun: FrameRun,
  node: GraphNode,
  outcome: { readonly output: unknown; readonly error: unknown },
): StateView {
  const { output, error } = outcome;
  const { outputAs } = node;
  const written = frameRun.frame.tree.channels['artifacts'];
  const isSeenAs = outputAs !== undefined && (written === undefined || !Object.hasOwn(written, outputAs));
  const added: Added = { outputs: [node.id, output], failures: [node.id, error] };
  return recordingObject(
    new Settled(state, isSeenAs ? { ...added, artifacts: [outputAs, output] } : added),
  ) as unknown as StateView;
}

/** By area of the state: the key that the outcome adds there, and its value. */
type Added = Partial<Readonly<Record<string, readonly [key: string, value: unknown]>>>;

/** The state with what the outcome adds. An area is put together when it is first read, because most edges read one or none. */
class Settled implements Source {
  readonly #state: Readonly<Record<string, unknown>>;
  readonly #added: Added;
  readonly #areas = new Map<string, unknown>();

  constructor(state: StateView, added: Added) {
    this.#state = state as unknown as Readonly<Record<string, unknown>>;
    this.#added = added;
  }

  get(key: string): unknown {
    const added = Object.hasOwn(this.#added, key) ? this.#added[key] : undefined;
    if (added === undefined) return Object.hasOwn(this.#state, key) ? this.#state[key] : absent;
    let area = this.#areas.get(key);
    if (area === undefined) {
      area = recordingObject(new Overlay(this.#state[key] as Readonly<Record<string, unknown>>, ...added));
      this.#areas.set(key, area);
    }
    return area;
  }

  keys(): readonly string[] {
    return Object.keys(this.#state);
  }
}

class Overlay implements Source {
  readonly #under: Readonly<Record<string, unknown>>;
  readonly #key: string;
  readonly #value: unknown;

  constructor(under: Readonly<Record<string, unknown>>, key: string, value: unknown) {
    this.#under = under;
    this.#key = key;
    this.#value = value;
  }

  get(key: string): unknown {
    if (key === this.#key) return this.#value === undefined ? absent : this.#value;
    return Object.hasOwn(this.#under, key) ? this.#under[key] : absent;
  }

  keys(): readonly string[] {
    const others = Object.keys(this.#under).filter((key) => key !== this.#key);
    return this.#value === undefined ? others : [...others, this.#key];
  }
}
