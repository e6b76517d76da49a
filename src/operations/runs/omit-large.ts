/**
 * Leaves large values of a run's state out of an answer, be it a whole state, what a checkpoint changed in it, or what a visit of a node gave. In place of each stand its size, its hash and where it is read, whole or by ranges:
 * whoever asks where a run stands gets an answer, whatever its nodes gave.
 */
import { createHash } from 'node:crypto';
import type { JsonSchema } from '../../graph/contracts/node-type.ts';
import { runName } from '../../history/read/references.ts';
import { formatPath } from '../../history/read/state-path.ts';
import { isPlainObject } from '../../state/values/plain-object.ts';
import { state as stateSchema } from '../contract/output-shapes.ts';
import { toJson } from '../contract/to-json.ts';
import { outputsPathOf } from './run-outputs.ts';

/** Stands in place of a value that is left out. */
export interface OmittedValue {
  readonly omitted: {
    /** Of its bytes, in hexadecimal. */
    readonly sha256: string;
    /** Its size: of a text in UTF-8, of anything else as JSON. */
    readonly bytes: number;
    /** Path of the route that sends these bytes, or a range of them. Absent: they are in no state, since their checkpoint wrote there again. */
    readonly href?: string;
    /** At a command line, the command that prints the value. */
    readonly command?: string;
  };
}

/** The largest value that stands in an answer. */
const valueBytesMax = 64 * 1024;
/** The same where the values that stand in it are too many. What is in no state is marked from an eighth of it on. */
const oneOfManyBytesMax = 8 * 1024;
/** The size up to which an answer may have values of any size that stands in one. */
const answerBytesMax = 768 * 1024;
/** The largest state. Of a larger one, parts such as `scratch` are left out as a whole. */
const stateBytesMax = 512 * 1024;
/** Quotes, a comma, or brackets. */
const markBytes = 4;

type Path = readonly string[];

const statePartNames: ReadonlySet<string> = new Set(Object.keys(stateSchema['properties'] as object));

/** A value as it is sent, and its size. */
interface Measured {
  readonly value: unknown;
  readonly bytes: number;
}

interface Checkpoint {
  readonly runId: string;
  readonly seq: number;
}

/** How values are read at a door. */
export interface Door {
  /** Path at which the HTTP interface begins: `/cairn` for `/cairn/v1/runs`. */
  readonly base?: string;
  /** At a command line, the command that prints a value. */
  readonly command?: (checkpoint: string, path: string) => string;
}

/** The values of one checkpoint. */
class LargeValues {
  readonly #checkpoint: string;
  readonly #door: Pick<Place, 'bytesMax'> & Door;
  readonly #isPassing: boolean;

  /** @param isPassing - whether they are in no state */
  constructor(door: Pick<Place, 'bytesMax'> & Door, { runId, seq }: Checkpoint, isPassing = false) {
    this.#checkpoint = `${runName(runId)}@${seq}`;
    this.#door = door;
    this.#isPassing = isPassing;
  }

  /** The parts of a state stay, with what is small in them, unless they are too large together. */
  omitFromState(state: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> {
    const parts = Object.entries(state).map(([name, part]) => {
      const measured = isPlainObject(part) ? this.#measureParts(part, [name]) : this.#measure(part, [name]);
      return [name, part, measured] as const;
    });
    const isTooLarge = parts.reduce((sum, [, , { bytes }]) => sum + bytes, 0) > stateBytesMax;
    return Object.fromEntries(
      parts.map(([name, part, { value, bytes }]) => [
        name,
        isTooLarge && bytes > this.#door.bytesMax ? this.#omit(part, [name]) : value,
      ]),
    );
  }

  omitFrom(value: unknown, path: Path): unknown {
    return this.#measure(value, path).value;
  }

  #measure(value: unknown, path: Path): Measured {
    const measured = this.#measureParts(value, path);
    return measured.bytes > this.#door.bytesMax ? { value: this.#omit(value, path), bytes: markBytes } : measured;
  }

  /** A value whose large parts are left out. */
  #measureParts(value: unknown, path: Path): Measured {
    if (typeof value === 'string') return { value, bytes: Buffer.byteLength(value) };
    if (typeof value !== 'object' || value === null) return { value, bytes: markBytes };
    const parts = Object.entries(value).map(
      ([key, part]) => [key, part as unknown, this.#measure(part, [...path, key])] as const,
    );
    const bytes = parts.reduce((sum, [key, , part]) => sum + key.length + markBytes + part.bytes, markBytes);
    if (parts.every(([, part, sent]) => Object.is(part, sent.value))) return { value, bytes };
    const sent = parts.map(([key, , part]) => [key, part.value] as const);
    return { value: Array.isArray(value) ? sent.map(([, part]) => part) : Object.fromEntries(sent), bytes };
  }

  #omit(value: unknown, path: Path): OmittedValue {
    const bytes = Buffer.from(typeof value === 'string' ? value : JSON.stringify(value));
    return {
      omitted: {
        sha256: createHash('sha256').update(bytes).digest('hex'),
        bytes: bytes.length,
        ...(!this.#isPassing && this.#place(formatPath(path))),
      },
    };
  }

  /** Where the value is read. */
  #place(path: string): Pick<OmittedValue['omitted'], 'href' | 'command'> {
    const { base = '', command } = this.#door;
    return {
      href: `${base}/v1/checkpoints/${encodeURIComponent(this.#checkpoint)}/file?path=${encodeURIComponent(path)}`,
      ...(command !== undefined && { command: command(this.#checkpoint, path) }),
    };
  }
}

/**
 * An output as JSON, without the large values of the states in it.
 *
 * @param schema - of the output: tells where states are
 */
export function omitLargeValues(output: unknown, schema: JsonSchema, door: Door = {}): unknown {
  const whole = toJson(output);
  const sent = omitFrom(whole, schema, { door, bytesMax: valueBytesMax });
  const isTooLarge = sent !== whole && Buffer.byteLength(JSON.stringify(sent) ?? '') > answerBytesMax;
  return isTooLarge ? omitFrom(whole, schema, { door, bytesMax: oneOfManyBytesMax }) : sent;
}

/** Where a part of an answer stands. */
interface Place {
  readonly door: Door;
  /** The largest value that stays. */
  readonly bytesMax: number;
  /** The checkpoint that it is of, if it is of one. */
  readonly at?: Checkpoint;
  /** Whether it is of a child run, whose values have no path of their own. */
  readonly isInside?: boolean;
  /** Whether the values of it are in no state. */
  readonly isPassing?: boolean;
}

/** Characters of a long question that stay. */
const promptLength = 4 * 1024;

/** A question's text, or its beginning. Texts of many megabytes are no questions; all the same they must not keep a run from being shown. */
function cutPrompt(text: string, bytesMax: number): string {
  if (Buffer.byteLength(text) <= bytesMax) return text;
  const start = text.slice(0, promptLength).toWellFormed();
  return `${start}… (${text.length - start.length} more characters)`;
}

function omitFrom(value: unknown, { properties, items, format }: JsonSchema, around: Place): unknown {
  if (format === 'prompt' && typeof value === 'string') return cutPrompt(value, around.bytesMax);
  if (Array.isArray(value) && isPlainObject(items))
    return value.map((item) => omitFrom(item, items as JsonSchema, around));
  if (!isPlainObject(value) || !isPlainObject(properties)) return value;
  const parts = properties as Readonly<Record<string, JsonSchema>>;
  const { runId, seq, state } = value;
  const isPlaced = typeof runId === 'string' && typeof seq === 'number';
  const place = {
    ...around,
    ...(isPlaced && { at: { runId, seq } }),
    ...(format === 'visit' && { isInside: Array.isArray(value['path']) && value['path'].length > 1 }),
  };
  const isPassing = value['isPassing'] === true;
  if (format === 'difference') return omitFromDifference(value, { ...place, isPassing });
  const values = valuesAt({ ...place, isPassing });
  const hasState = values !== undefined && parts['state']?.['format'] === 'state' && isPlainObject(state);
  return Object.fromEntries(
    Object.entries(value).map(([name, part]) => {
      if (hasState && name === 'state') return [name, values?.omitFromState(part as typeof value)];
      const path =
        hasState && name === 'outputs'
          ? outputsPathOf(state, part)
          : format === 'visit' && name === 'value'
            ? ['outputs', ...(value['path'] as readonly string[])]
            : undefined;
      if (path !== undefined) return [name, place.isInside === true ? part : values?.omitFrom(part, path)];
      return [name, omitFrom(part, parts[name] ?? {}, place)];
    }),
  );
}

function valuesAt({ door, bytesMax, at, isInside, isPassing }: Place, before = 0): LargeValues | undefined {
  return at === undefined || isInside === true || at.seq < before
    ? undefined
    : new LargeValues({ ...door, bytesMax }, { runId: at.runId, seq: at.seq - before }, isPassing);
}

/** Of what was appended only the new part is there, which has no path of its own. */
function omitFromDifference(value: Readonly<Record<string, unknown>>, place: Place): unknown {
  const { path, before, after, isAppended } = value;
  const isOfState = Array.isArray(path) && statePartNames.has(path[0] as string) && isAppended !== true;
  if (!isOfState) return value;
  const omit = (side: unknown, values: LargeValues | undefined): unknown =>
    values === undefined ? side : values.omitFrom(side, path as Path);
  return {
    ...value,
    ...(before !== undefined && { before: omit(before, valuesAt(place, 1)) }),
    ...(after !== undefined && { after: omit(after, valuesAt(place)) }),
  };
}
