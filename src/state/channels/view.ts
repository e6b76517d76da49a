/** What a node sees of the state: a frozen moment, with every read recorded (E9). */
import { CairnError } from '../../errors.ts';
import type { Amounts } from '../../graph/amounts.ts';
import type { StateView } from '../../graph/contracts/node-contract.ts';
import { absent, recordingObject, type Source } from './versions.ts';
import type { Area, Channels } from './channels.ts';
import { isPlainObject } from '../values/plain-object.ts';
import { sameNames, type CodeNames } from './code-names.ts';

/** An activation's view of its frame, open until it settles. */
export interface OpenView {
  /** The state. Values in it are frozen and stay valid; reading from it after `close` is refused. */
  readonly state: StateView;
  /** What the frame's run had spent, by unit. */
  readonly spent: Amounts;
  /** How many names were read so far. It only grows. */
  readonly readCount: number;
  /** Names of the channels read so far, sorted. The name of a partition stands for all of it. */
  reads(): readonly string[];
  /** Channels with their versions in this view: those named, or else those read so far. */
  versions(names?: readonly string[]): readonly (readonly [channel: string, version: string])[];
  /** Closes the view, so that earlier states that it needs can be dropped. */
  close(): void;
}

/** Names of channels, sorted, without those of which the whole partition is among them. */
export function channelNames(names: ReadonlySet<string>): readonly string[] {
  const inWhole = (name: string): boolean => name.includes('.') && names.has(name.slice(0, name.indexOf('.')));
  return [...names].filter((name) => !inWhole(name)).toSorted();
}

/** Whether two channels are the same place, or one is inside the other. The name of a partition stands for all of it. */
export function overlaps(a: string, b: string): boolean {
  return a === b || a.startsWith(`${b}.`) || b.startsWith(`${a}.`);
}

const nothing: Amounts = Object.freeze({});
const areas: readonly Area[] = ['scratch', 'artifacts', 'diagnostics', 'outputs', 'failures'];
const stateKeys: readonly string[] = ['input', ...areas];

export class View implements OpenView {
  readonly spent: Amounts;
  readonly #channels: Channels;
  readonly #id: number;
  readonly #codeNames: CodeNames;
  #read: Set<string> | undefined;
  #state: StateView | undefined;
  #isClosed = false;

  constructor(channels: Channels, spent: Amounts = nothing, codeNames: CodeNames = sameNames) {
    this.spent = spent;
    this.#codeNames = codeNames;
    this.#channels = channels;
    this.#id = channels.log.open();
  }

  get state(): StateView {
    return (this.#state ??= recordingObject(new StateSource((name) => this.#part(name))) as unknown as StateView);
  }

  get readCount(): number {
    return this.#read?.size ?? 0;
  }

  reads(): readonly string[] {
    if (this.#read === undefined) return [];
    return channelNames(this.#read);
  }

  versions(names: readonly string[] = this.reads()): readonly (readonly [string, string])[] {
    return names.map((name) => [name, this.#channels.versionOf(name, this.#id)]);
  }

  close(): void {
    this.#isClosed = true;
    this.#channels.log.close(this.#id);
  }

  #part(name: string): unknown {
    if (name !== 'input')
      return recordingObject(
        new AreaSource(this.#channels, name as Area, this.#id, { note: this.#note, codeNames: this.#codeNames }),
      );
    const { input } = this.#channels;
    if (isPlainObject(input)) return recordingObject(new InputSource(input, this.#note));
    this.#note('input');
    return input;
  }

  readonly #note = (name: string): void => {
    if (this.#isClosed) {
      throw new CairnError('NODE_CALL_REFUSED', { call: 'state', reason: 'its activation is over' });
    }
    (this.#read ??= new Set()).add(name);
  };
}

/** The state itself. Its parts are created on first read, because most nodes read only one or two. */
class StateSource implements Source {
  readonly #parts = new Map<string, unknown>();
  readonly #make: (name: string) => unknown;

  constructor(make: (name: string) => unknown) {
    this.#make = make;
  }

  get(key: string): unknown {
    if (!stateKeys.includes(key)) return absent;
    if (!this.#parts.has(key)) this.#parts.set(key, this.#make(key));
    return this.#parts.get(key);
  }

  keys(): readonly string[] {
    return stateKeys;
  }
}

class AreaSource implements Source {
  readonly #channels: Channels;
  readonly #area: Area;
  readonly #viewId: number;
  readonly #note: (name: string) => void;
  readonly #codeNames: CodeNames;

  constructor(
    channels: Channels,
    area: Area,
    viewId: number,
    { note, codeNames }: { readonly note: (name: string) => void; readonly codeNames: CodeNames },
  ) {
    this.#channels = channels;
    this.#area = area;
    this.#viewId = viewId;
    this.#note = note;
    this.#codeNames = codeNames;
  }

  get(key: string): unknown {
    const recorded = this.#codeNames.recorded(this.#area, key);
    this.#note(`${this.#area}.${recorded}`);
    return this.#channels.read(this.#area, recorded, this.#viewId);
  }

  keys(): readonly string[] {
    this.#note(this.#area);
    return this.#channels
      .keys(this.#area, this.#viewId)
      .map((recorded) => this.#codeNames.inCode(this.#area, recorded));
  }
}

class InputSource implements Source {
  readonly #input: Readonly<Record<string, unknown>>;
  readonly #note: (name: string) => void;

  constructor(input: Readonly<Record<string, unknown>>, note: (name: string) => void) {
    this.#input = input;
    this.#note = note;
  }

  get(key: string): unknown {
    this.#note(`input.${key}`);
    return Object.hasOwn(this.#input, key) ? this.#input[key] : absent;
  }

  keys(): readonly string[] {
    this.#note('input');
    return Object.keys(this.#input);
  }
}
