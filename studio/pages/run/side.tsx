/** What stands beside a run's story: its graph and its forks. It can be widened, with the pointer or the keys. */
import { signal } from '@preact/signals';
import type { ComponentChildren, JSX } from 'preact';
import { useRef } from 'preact/hooks';

const narrow = matchMedia('(max-width: 1100px)');
/** Whether there is no room beside the story, so that the graph is a tab. */
export const isNarrow = signal(narrow.matches);
narrow.addEventListener('change', () => (isNarrow.value = narrow.matches));

const widthMin = 320;
const widthMax = 1_200;
const stepPx = 40;
const storedAs = 'cairn.side';
const stored = Number(localStorage.getItem(storedAs));
/** In pixels; 0: as wide as the page has room for. */
const width = signal(Number.isFinite(stored) ? stored : 0);

function widen(to: number): void {
  width.value = Math.round(Math.min(widthMax, Math.max(widthMin, to)));
  localStorage.setItem(storedAs, String(width.value));
}

export function Side({ children }: { readonly children: ComponentChildren }): JSX.Element {
  const side = useRef<HTMLElement>(null);
  const currentWidth = (): number => side.current?.offsetWidth ?? widthMin;
  /** Where its left edge was, less the pointer, when it was taken. */
  const dragEdge = useRef<number>(undefined);
  const take = (event: PointerEvent): void => {
    (event.currentTarget as HTMLElement).setPointerCapture(event.pointerId);
    dragEdge.current = currentWidth() + event.clientX;
  };
  const drag = ({ clientX }: PointerEvent): void => {
    if (dragEdge.current !== undefined) widen(dragEdge.current - clientX);
  };
  const keys = (event: KeyboardEvent): void => {
    const by = { ArrowLeft: stepPx, ArrowRight: -stepPx }[event.key];
    if (by === undefined) return;
    event.preventDefault();
    // Elsewhere these keys go through the history.
    event.stopPropagation();
    widen(currentWidth() + by);
  };
  return (
    <aside
      class="run-side"
      ref={side}
      aria-label="Graph and forks"
      style={width.value === 0 ? {} : { width: `${width.value}px` }}
    >
      {!isNarrow.value && (
        <div
          class="splitter"
          role="separator"
          aria-orientation="vertical"
          aria-label="Width of the graph"
          aria-valuemin={widthMin}
          aria-valuemax={widthMax}
          aria-valuenow={width.value || 440}
          tabIndex={0}
          onPointerDown={take}
          onPointerMove={drag}
          onPointerUp={() => (dragEdge.current = undefined)}
          onKeyDown={keys}
          onDblClick={() => widen(440)}
        />
      )}
      {children}
    </aside>
  );
}
