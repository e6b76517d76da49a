/** Values as data: a tree that opens, with what changed marked. All of it is text, whatever it looks like. */
import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { isOmitted, readOmitted, type Omitted } from '../data/api.ts';
import { bytes, count } from '../words.ts';

const shownChars = 400;
const shownItems = 100;

/** A text, cut where it is long, with how much there is more. */
export function LongText({ text, max = shownChars }: { readonly text: string; readonly max?: number }): JSX.Element {
  const [isWhole, setWhole] = useState(false);
  if (text.length <= max * 1.25) return <span class="foreign">{text}</span>;
  return (
    <span>
      <span class="foreign">{isWhole ? text : text.slice(0, max)}</span>
      {!isWhole && '… '}
      <button type="button" class="link" onClick={() => setWhole(!isWhole)}>
        {isWhole ? ' less' : `${count(text.length - max)} more characters`}
      </button>
    </span>
  );
}

/** A large value that was left out of what was read: its size, and all of it for who asks. */
function LeftOut({ value }: { readonly value: Omitted }): JSX.Element {
  const [text, setText] = useState<string>();
  if (text !== undefined) return <LongText text={text} />;
  const { bytes: size, href } = value.omitted;
  if (href === undefined) return <span>{`large, ${bytes(size)}, and written over at once`}</span>;
  const read = (): void =>
    void readOmitted(href).then(setText, (problem: Error) => setText(`It cannot be read: ${problem.message}`));
  return (
    <span>
      {`large, ${bytes(size)} `}
      <button type="button" class="link" onClick={read}>
        read it
      </button>
    </span>
  );
}

/** A value that is short enough to stand on a line. */
export function Inline({ value }: { readonly value: unknown }): JSX.Element {
  if (isOmitted(value)) return <LeftOut value={value} />;
  if (value === undefined) return <span class="quiet">nothing</span>;
  const text = typeof value === 'string' ? value : JSON.stringify(value);
  return (
    <code class={`value ${kindOf(value)}`}>
      <LongText text={typeof value === 'string' ? JSON.stringify(value) : text} max={200} />
    </code>
  );
}

const kindOf = (value: unknown): string => (value === null ? 'null' : typeof value);
const isBranch = (value: unknown): value is object => typeof value === 'object' && value !== null && !isOmitted(value);

export interface TreeProps {
  readonly value: unknown;
  /** Paths that changed, joined with dots. */
  readonly changed?: ReadonlySet<string>;
  readonly path?: readonly string[];
  /** How many levels are open at first. */
  readonly depth?: number;
  readonly onPick?: (path: readonly string[]) => void;
}

/** Whether something at or below the path changed. */
const touches = (changed: ReadonlySet<string>, path: string): boolean =>
  [...changed].some((one) => one === path || one.startsWith(`${path}.`) || path.startsWith(`${one}.`));

export function Tree({ value, changed = new Set(), path = [], depth = 2, onPick }: TreeProps): JSX.Element {
  const [shown, setShown] = useState(shownItems);
  const entries = isBranch(value) ? Object.entries(value) : [];
  return (
    <ul class="tree">
      {entries.slice(0, shown).map(([key, item]) => (
        <TreeItem
          key={key}
          name={key}
          value={item}
          changed={changed}
          path={[...path, key]}
          depth={depth}
          {...(onPick !== undefined && { onPick })}
        />
      ))}
      {entries.length > shown && (
        <li>
          <button type="button" class="link" onClick={() => setShown(shown + 10 * shownItems)}>
            {`${count(shown)} of ${count(entries.length)} shown: more`}
          </button>
        </li>
      )}
    </ul>
  );
}

function TreeItem({
  name,
  value,
  changed = new Set(),
  path = [],
  depth = 0,
  onPick,
}: TreeProps & { readonly name: string }): JSX.Element {
  const isChanged = changed.size > 0 && touches(changed, path.join('.'));
  const [isOpen, setOpen] = useState<boolean>();
  const isEmpty = isBranch(value) && Object.keys(value).length === 0;
  const label = (
    <span class={`key${isChanged ? ' changed' : ''}`} title={path.join('.')}>
      {name}
    </span>
  );
  if (!isBranch(value) || isEmpty)
    return (
      <li class="leaf">
        {onPick === undefined ? (
          label
        ) : (
          <button type="button" class="pick" title={`Where ${path.join('.')} came from`} onClick={() => onPick(path)}>
            {label}
          </button>
        )}
        <Inline value={value} />
      </li>
    );
  const open = isOpen ?? (depth > 0 || isChanged);
  const size = Object.keys(value).length;
  return (
    <li>
      <button type="button" class="twig" aria-expanded={open} onClick={() => setOpen(!open)}>
        <span class="twist" aria-hidden="true" />
        {label}
        <span class="quiet tiny">{Array.isArray(value) ? `[${size}]` : `{${size}}`}</span>
      </button>
      {open && (
        <Tree value={value} changed={changed} path={path} depth={depth - 1} {...(onPick !== undefined && { onPick })} />
      )}
    </li>
  );
}

interface Changed {
  readonly path: readonly string[];
  readonly before?: unknown;
  readonly beforeBytes?: number;
  readonly after?: unknown;
  readonly afterBytes?: number;
  readonly isDeleted?: true;
  readonly isAppended?: true;
}

/** What changed: before and after, a line each. */
export function Changes({ changes }: { readonly changes: readonly Changed[] }): JSX.Element {
  return (
    <ul class="changes">
      {changes.map(({ path, before, beforeBytes, after, afterBytes, isDeleted, isAppended }) => (
        <li key={path.join('.')}>
          <code class="key changed foreign">{path.join('.')}</code>
          {(before !== undefined || beforeBytes !== undefined) && isAppended !== true && (
            <del>
              <span class="hidden-text">was </span>
              {beforeBytes === undefined ? <Inline value={before} /> : `large, ${bytes(beforeBytes)}`}
            </del>
          )}
          {isDeleted === true ? (
            <span class="quiet">deleted</span>
          ) : (
            <ins>
              {isAppended === true && <span class="quiet">added </span>}
              {afterBytes === undefined ? <Inline value={after} /> : `large, ${bytes(afterBytes)}`}
            </ins>
          )}
        </li>
      ))}
    </ul>
  );
}
