/** Stored checkpoints without what nodes computed and are called: what is left is the engine's, and the same in every dialect. */

/** A part of a change, and an op of a delta, as far as they are looked into here. */
type Part = Readonly<Record<'kind' | 'step', string>> & { readonly node?: readonly (string | number)[] };
type Op = readonly [kind: string, path: readonly string[], value?: unknown];

export interface Stored {
  readonly change: readonly Part[];
  readonly delta: readonly Op[];
}

/** What nodes computed, asked, read and are shown as, and the hashes over that. All else is the engine's, and must not differ. */
const contents: ReadonlySet<string> = new Set(
  'output input as prompt choices matching schema reads hash graphHash codeHash asked code key wait channels writers'.split(
    ' ',
  ),
);

/** The checkpoint without contents, and with the place of each name in the list for the name. */
export function withoutContents({ delta, ...rest }: Stored, names: readonly string[]): Stored {
  return bare(
    { ...rest, delta: delta.filter(([, path]) => !path.some((name) => contents.has(name))) },
    names,
  ) as Stored;
}

function bare(value: unknown, names: readonly string[]): unknown {
  if (typeof value === 'string') return names.includes(value) ? names.indexOf(value) : value.replace(/^w_.*/u, 'w_');
  if (Array.isArray(value)) return value.map((item) => bare(item, names));
  if (typeof value !== 'object' || value === null) return value;
  const kept = Object.entries(value).filter(([name]) => !contents.has(name));
  return Object.fromEntries(
    kept.map(([name, item]) => [bare(name, names), name === 'kind' ? item : bare(item, names)]),
  );
}

/** A history in words, one line for each checkpoint. */
export const told = (history: readonly Stored[]): readonly string[] =>
  history.map(({ change }) =>
    change
      .map(({ kind, node, step }) => [kind, node?.join('/'), step].filter((word) => word !== undefined).join(' '))
      .join(' + '),
  );
