/** What functions call nodes and artifacts that are on record under other names (G15). */
import type { Area } from './channels.ts';

type Pairs = Iterable<readonly [inCode: string, recorded: string]>;

/** Translates between the keys of a view and those of the state. Keys that were not renamed are the same in both. */
export class CodeNames {
  readonly #nodes: ReadonlyMap<string, string>;
  readonly #artifacts: ReadonlyMap<string, string>;
  readonly #backNodes: ReadonlyMap<string, string>;
  readonly #backArtifacts: ReadonlyMap<string, string>;

  constructor(nodes: Pairs = [], artifacts: Pairs = []) {
    this.#nodes = new Map(nodes);
    this.#artifacts = new Map(artifacts);
    this.#backNodes = reversed(this.#nodes);
    this.#backArtifacts = reversed(this.#artifacts);
  }

  recorded(area: Area, key: string): string {
    if (area === 'outputs' || area === 'failures') return this.#nodes.get(key) ?? key;
    return area === 'artifacts' ? (this.#artifacts.get(key) ?? key) : key;
  }

  inCode(area: Area, key: string): string {
    if (area === 'outputs' || area === 'failures') return this.#backNodes.get(key) ?? key;
    return area === 'artifacts' ? (this.#backArtifacts.get(key) ?? key) : key;
  }
}

function reversed(names: ReadonlyMap<string, string>): ReadonlyMap<string, string> {
  return new Map([...names].map(([inCode, recorded]) => [recorded, inCode]));
}

/** Where nothing was renamed. */
export const sameNames: CodeNames = new CodeNames();
