/** Small parts that several pages are made of. */
import { signal } from '@preact/signals';
import type { ComponentChildren, JSX } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import type { Problem } from '../data/api.ts';
import { fullTime, timeOf, age } from '../words.ts';
import { Icon, Mark } from './icons.tsx';

/** The time, for what is shown as an age. It moves each second while the page is seen. */
export const now = signal(Date.now());
setInterval(() => {
  if (!document.hidden) now.value = Date.now();
}, 1_000);

/** What is said to screen readers as it happens. */
export const announced = signal('');

/** A point in time: how long ago, and exactly when one looks closer. */
export function When({ at, form = 'age' }: { readonly at: number; readonly form?: 'age' | 'clock' }): JSX.Element {
  const text = form === 'age' ? `${age(Math.max(0, now.value - at))} ago` : timeOf(at, now.value);
  return (
    <time dateTime={new Date(at).toISOString()} title={fullTime(at)}>
      {text}
    </time>
  );
}

/** Letters of a long id that are always seen: its end tells it from others. */
const idEnd = 8;

/** The id of a run. One that is too long for its place is cut in its middle. */
export function RunName({ id }: { readonly id: string }): JSX.Element {
  const split = id.length > 2 * idEnd ? id.length - idEnd : id.length;
  return (
    <span class="run-name" title={id}>
      <span class="cut">{id.slice(0, split)}</span>
      {split < id.length && <span class="end">{id.slice(split)}</span>}
    </span>
  );
}

/** A text to copy, such as a command; whole, and never cut. */
export function Copy({ text, label }: { readonly text: string; readonly label?: string }): JSX.Element {
  const [isCopied, setCopied] = useState(false);
  const copy = async (): Promise<void> => {
    try {
      await navigator.clipboard.writeText(text);
    } catch {
      // Without the right to the clipboard the text can still be marked.
      return;
    }
    setCopied(true);
    announced.value = 'copied';
    setTimeout(() => setCopied(false), 1_500);
  };
  return (
    <button type="button" class="copy" onClick={() => void copy()} title="Copy">
      <code>{label ?? text}</code>
      <Icon name={isCopied ? 'check' : 'copy'} size={14} />
      <span class="hidden-text">{isCopied ? 'copied' : 'copy'}</span>
    </button>
  );
}

/** What could not be loaded or done, with what to do about it. */
export function Trouble({
  problem,
  onRetry,
}: {
  readonly problem: Problem;
  readonly onRetry?: () => void;
}): JSX.Element {
  return (
    <div class="note" data-tone="failed" role="alert">
      <div class="row wrap">
        <Mark tone="failed" />
        <strong class="foreign">{problem.message}</strong>
        {onRetry !== undefined && (
          <button type="button" class="button push" onClick={onRetry}>
            Try again
          </button>
        )}
      </div>
      {problem.hint !== undefined && <p class="quiet foreign">{problem.hint}</p>}
    </div>
  );
}

/** What stands where nothing is yet, and how something comes there. */
export function Empty({
  title,
  children,
  isPage = false,
}: {
  readonly title: string;
  readonly children: ComponentChildren;
  /** Whether the page is nothing else. */
  readonly isPage?: boolean;
}): JSX.Element {
  const Title = isPage ? 'h1' : 'h2';
  return (
    <div class="empty">
      <svg
        width="56"
        height="44"
        viewBox="0 0 56 44"
        fill="none"
        stroke="currentColor"
        stroke-width="1.500"
        aria-hidden="true"
      >
        <ellipse cx="28" cy="36" rx="20" ry="6.500" />
        <ellipse cx="28" cy="22" rx="14" ry="5.500" />
        <ellipse cx="28" cy="9.500" rx="8" ry="4.500" stroke-dasharray="3 3" />
      </svg>
      <Title>{title}</Title>
      {children}
    </div>
  );
}

/** Lines where text will be, of the same height, so that nothing moves when it comes. */
export function Awaited({ lines = 3 }: { readonly lines?: number }): JSX.Element {
  return (
    <div class="stack" aria-busy="true">
      <span class="hidden-text">loading</span>
      {Array.from({ length: lines }, (_, index) => (
        <div class="wait-line" style={{ width: `${90 - ((index * 23) % 50)}%` }} />
      ))}
    </div>
  );
}

/** A window over the page, closed by Escape. */
export function Dialog({
  title,
  onClose,
  children,
}: {
  readonly title: string;
  readonly onClose: () => void;
  readonly children: ComponentChildren;
}): JSX.Element {
  const box = useRef<HTMLDialogElement>(null);
  useEffect(() => {
    const { current } = box;
    if (current?.open === false) current.showModal();
  }, []);
  return (
    <dialog
      ref={box}
      aria-label={title}
      onClose={onClose}
      onClick={(event) => {
        if (event.target === box.current) box.current?.close();
      }}
    >
      <div class="body">{children}</div>
    </dialog>
  );
}
