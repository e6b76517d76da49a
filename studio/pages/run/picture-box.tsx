/** The box of a graph's picture: it is zoomed, fitted and dragged, and is one stop of the tab key. */
import type { ComponentChildren, JSX } from 'preact';
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';
import { Icon } from '../../parts/icons.tsx';

/** What one looks for in a graph that is larger than its box, the first that there is. */
const sought = [
  '.selected',
  ...['doubt', 'failed', 'waiting', 'running'].map((tone) => `.box[data-tone=${tone}]:not(.fold)`),
  '.box',
];

function showWhatMatters(box: HTMLElement | null): void {
  const found = sought.map((selector) => box?.querySelector(selector)).find((one) => one instanceof Element);
  if (!box || !found) return;
  const [inner, outer] = [found.getBoundingClientRect(), box.getBoundingClientRect()];
  box.scrollLeft += inner.left + inner.width / 2 - outer.left - outer.width / 2;
  box.scrollTop += inner.top + inner.height / 2 - outer.top - outer.height / 2;
}

/** A graph is one stop of the tab key: the node that is picked, or else the first. */
function keepOneStop(box: HTMLElement | null): void {
  const links = [...(box?.querySelectorAll<SVGAElement>('a') ?? [])];
  const stop = links.find((link) => link.querySelector('.selected') !== null) ?? links[0];
  for (const link of links) link.setAttribute('tabindex', link === stop ? '0' : '-1');
}

const directions: Readonly<Record<string, readonly [x: number, y: number]>> = {
  ArrowLeft: [-1, 0],
  ArrowRight: [1, 0],
  ArrowUp: [0, -1],
  ArrowDown: [0, 1],
};

/** Arrow keys go to the nearest node in their direction. */
function moveInPicture(event: KeyboardEvent): void {
  const direction = directions[event.key];
  const from = (event.target as Element).closest('a');
  if (direction === undefined || from === null) return;
  event.preventDefault();
  event.stopPropagation();
  const centre = (element: Element): readonly [number, number] => {
    const { left, top, width, height } = element.getBoundingClientRect();
    return [left + width / 2, top + height / 2];
  };
  const [x, y] = centre(from);
  const [dx, dy] = direction;
  let best: { readonly link: SVGAElement; readonly far: number } | undefined;
  for (const link of from.closest('.picture-box')?.querySelectorAll<SVGAElement>('svg a') ?? []) {
    const [toX, toY] = centre(link);
    const along = (toX - x) * dx + (toY - y) * dy;
    // What lies aside counts more, so that a column is walked before its neighbour.
    const far = along + 2 * Math.abs((toX - x) * dy + (toY - y) * dx);
    if (along > 1 && (best === undefined || far < best.far)) best = { link, far };
  }
  if (best === undefined) return;
  from.setAttribute('tabindex', '-1');
  best.link.setAttribute('tabindex', '0');
  best.link.focus();
}

const zoomMin = 0.2;
const zoomMax = 3;
const zoomStep = 1.25;
/** A pointer that moves less than this many pixels clicks. */
const dragMin = 4;

const withinBounds = (zoom: number): number => Math.min(zoomMax, Math.max(zoomMin, zoom));

/** How large the box is, in pictures. */
function roomIn(box: HTMLElement): { readonly wide: number; readonly high: number } {
  const svg = box.querySelector('svg');
  if (svg === null) return { wide: 1, high: 1 };
  const { width, height } = svg;
  return { wide: box.clientWidth / width.baseVal.value, high: box.clientHeight / height.baseVal.value };
}

/** The zoom at which all of the picture is seen: a little less than there is room, for what is around it. */
function fitting(box: HTMLElement): number {
  const { wide, high } = roomIn(box);
  return withinBounds(Math.min(1, 0.94 * Math.min(wide, high)));
}

/** Below this names are no longer read with ease. */
const readableZoom = 0.7;

/** The zoom at first: a picture that is a little too wide for its box is seen whole; of a larger one, what matters is seen as it is. */
function zoomAtFirst(box: HTMLElement): number {
  const { wide } = roomIn(box);
  return wide >= 1 || wide < readableZoom ? 1 : 0.94 * wide;
}

/** Moves what a box shows with the pointer. What was dragged is not clicked. @returns what ends it */
function makeDraggable(box: HTMLElement): () => void {
  let from: { readonly x: number; readonly y: number; readonly left: number; readonly top: number } | undefined;
  let isDragged = false;
  const down = ({ button, clientX: x, clientY: y, pointerType }: PointerEvent): void => {
    // Fingers scroll by themselves.
    if (button !== 0 || pointerType === 'touch') return;
    from = { x, y, left: box.scrollLeft, top: box.scrollTop };
    isDragged = false;
  };
  const move = ({ clientX, clientY, pointerId }: PointerEvent): void => {
    if (from === undefined) return;
    const [dx, dy] = [clientX - from.x, clientY - from.y];
    if (!isDragged && Math.hypot(dx, dy) < dragMin) return;
    if (!isDragged) box.setPointerCapture(pointerId);
    isDragged = true;
    box.scrollLeft = from.left - dx;
    box.scrollTop = from.top - dy;
  };
  const up = (): void => (from = undefined);
  const click = (event: MouseEvent): void => {
    if (isDragged) event.preventDefault();
    if (isDragged) event.stopPropagation();
    isDragged = false;
  };
  const still = (event: Event): void => event.preventDefault();
  const listeners = [
    ['pointerdown', down],
    ['pointermove', move],
    ['pointerup', up],
    ['pointercancel', up],
    ['dragstart', still],
  ] as const;
  for (const [name, listen] of listeners) box.addEventListener(name, listen as EventListener);
  box.addEventListener('click', click, { capture: true });
  return () => {
    for (const [name, listen] of listeners) box.removeEventListener(name, listen as EventListener);
    box.removeEventListener('click', click, { capture: true });
  };
}

interface BoxProps {
  /** When this changes, what matters is brought into view. */
  readonly seen: string;
  /** Whether some node acts outside, so that the sign for it is explained. */
  readonly acts: boolean;
  readonly children: ComponentChildren;
}

export function PictureBox({ seen, acts, children }: BoxProps): JSX.Element {
  const box = useRef<HTMLDivElement>(null);
  const [zoom, setZoom] = useState(1);
  const isChosen = useRef(false);
  const choose = (next: (old: number) => number): void => {
    isChosen.current = true;
    setZoom(next);
  };
  const zoomBy = (factor: number): void => choose((old) => withinBounds(old * factor));
  const fit = (): void => choose((old) => (box.current === null ? old : fitting(box.current)));
  useLayoutEffect(() => {
    if (!isChosen.current && box.current !== null) setZoom(zoomAtFirst(box.current));
  }, [seen]);
  useLayoutEffect(() => showWhatMatters(box.current), [seen, zoom]);
  useLayoutEffect(() => keepOneStop(box.current));
  useEffect(() => {
    const { current } = box;
    if (current === null) return undefined;
    const wheel = (event: WheelEvent): void => {
      if (!event.ctrlKey && !event.metaKey) return;
      event.preventDefault();
      zoomBy(event.deltaY < 0 ? 1.1 : 1 / 1.1);
    };
    current.addEventListener('wheel', wheel, { passive: false });
    const stopDragging = makeDraggable(current);
    return () => {
      current.removeEventListener('wheel', wheel);
      stopDragging();
    };
  }, []);
  const onKeyDown = (event: KeyboardEvent): void => {
    const act = { '+': () => zoomBy(zoomStep), '-': () => zoomBy(1 / zoomStep), '0': fit }[event.key];
    if (act === undefined) return moveInPicture(event);
    event.preventDefault();
    act();
  };
  return (
    <>
      <div class="picture-box" tabIndex={-1} ref={box} onKeyDown={onKeyDown}>
        <div class="zoomed" style={{ zoom }}>
          {children}
        </div>
      </div>
      <div class="row picture-foot small">
        {acts && (
          <span class="quiet row">
            <svg width="16" height="14" viewBox="0 0 16 14" class="picture" aria-hidden="true">
              <path class="acts" d="M1 12h14" />
            </svg>
            acts outside
          </span>
        )}
        <div class="row push" role="group" aria-label="Size of the picture">
          <button type="button" class="button bare icon" aria-label="Smaller" onClick={() => zoomBy(1 / zoomStep)}>
            <Icon name="minus" size={14} />
          </button>
          <button type="button" class="button bare" onClick={fit}>
            {zoom === 1 ? 'Fit' : `Fit, now ${Math.round(100 * zoom)} %`}
          </button>
          <button type="button" class="button bare icon" aria-label="Larger" onClick={() => zoomBy(zoomStep)}>
            <Icon name="plus" size={14} />
          </button>
        </div>
      </div>
    </>
  );
}
