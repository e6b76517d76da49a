/** A long list of which only the rows in view exist. Rows have one height. It scrolls with the page. */
import type { ComponentChildren, JSX } from 'preact';
import { useLayoutEffect, useRef, useState } from 'preact/hooks';

interface Rows {
  readonly first: number;
  readonly last: number;
}

/** Rows that are drawn above and below what is seen, so that fast scrolling shows no gap. */
const spare = 8;

export interface VirtualListProps<T> {
  readonly items: readonly T[];
  readonly keyOf: (item: T) => string;
  readonly rowPx: number;
  readonly label: string;
  readonly children: (item: T, index: number) => ComponentChildren;
  /** Called when the end comes into view. */
  readonly onEnd?: () => void;
}

export function VirtualList<T>({ items, keyOf, rowPx, label, children, onEnd }: VirtualListProps<T>): JSX.Element {
  const list = useRef<HTMLUListElement>(null);
  const [rows, setRows] = useState<Rows>({ first: 0, last: 40 });
  const count = items.length;
  const end = useRef(onEnd);
  end.current = onEnd;
  useLayoutEffect(() => {
    const measure = (): void => {
      const top = list.current?.getBoundingClientRect().top ?? 0;
      const first = Math.max(0, Math.floor(-top / rowPx) - spare);
      const last = Math.min(count, Math.ceil((innerHeight - top) / rowPx) + spare);
      setRows((old) => (old.first === first && old.last === last ? old : { first, last }));
      if (last >= count) end.current?.();
    };
    measure();
    addEventListener('scroll', measure, { passive: true });
    addEventListener('resize', measure);
    return () => {
      removeEventListener('scroll', measure);
      removeEventListener('resize', measure);
    };
  }, [count, rowPx]);
  const shown = items.slice(rows.first, rows.last);
  return (
    <ul ref={list} class="virtual" aria-label={label} style={{ height: `${count * rowPx}px` }} onKeyDown={moveFocus}>
      {shown.map((item, index) => (
        <li
          key={keyOf(item)}
          aria-setsize={count}
          aria-posinset={rows.first + index + 1}
          style={{ transform: `translateY(${(rows.first + index) * rowPx}px)`, height: `${rowPx}px` }}
        >
          {children(item, rows.first + index)}
        </li>
      ))}
    </ul>
  );
}

/** Arrow keys go from row to row. */
function moveFocus(event: KeyboardEvent): void {
  const step = { ArrowDown: 1, j: 1, ArrowUp: -1, k: -1 }[event.key];
  const row = (event.target as Element).closest('li');
  if (step === undefined || row === null || (event.target as Element).matches('input, select, textarea')) return;
  const place = Number(row.ariaPosInSet) + step;
  const next = row.parentElement?.querySelector<HTMLElement>(`li[aria-posinset="${place}"] :is(a, button)`);
  if (!next) return;
  event.preventDefault();
  next.focus();
  next.scrollIntoView({ block: 'nearest' });
}
