/** The state that conditions and choices read: the state after an activation, with its own output or failure (G6). */
import type { GraphNode } from '../../graph/graph.ts';
import type { StateView } from '../../graph/contracts/node-contract.ts';
import { absent } from '../../state/channels/cell.ts';
import { recordingObject, type Source } from '../../state/channels/recording-object.ts';
import type { FrameRun } from '../run/frame-run.ts';

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
  return Object.freeze({
    ...state,
    outputs: recordingObject(new Overlay(state.outputs, node.id, output)),
    failures: recordingObject(new Overlay(state.failures, node.id, error)) as StateView['failures'],
    ...(isSeenAs ? { artifacts: recordingObject(new Overlay(state.artifacts, outputAs, output)) } : {}),
  });
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
