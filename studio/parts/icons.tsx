/** Pictures. The mark of a status differs in shape, not in colour alone. */
import type { JSX } from 'preact';
import { marks } from '../../src/graph/drawing/marks.ts';
import type { Tone } from '../words.ts';

/** The mark of a status. Its meaning stands beside it in words. */
export function Mark({ tone, size = 16 }: { readonly tone: Tone; readonly size?: number }): JSX.Element {
  return (
    <svg
      class={`mark${tone === 'running' ? ' turns' : ''}`}
      data-tone={tone}
      width={size}
      height={size}
      viewBox="0 0 16 16"
      aria-hidden="true"
    >
      {marks[tone].map(({ paint, d, dashes }) => (
        <path class={paint} d={d} stroke-dasharray={dashes} />
      ))}
    </svg>
  );
}

const shapes = {
  runs: 'M2.500 4h11M2.500 8h11M2.500 12h7',
  inbox: 'M2 9.500h3.200l1 2h3.600l1-2H14M2 9.500l2-6h8l2 6v3a1 1 0 0 1-1 1H3a1 1 0 0 1-1-1z',
  chat: 'M2.500 3.500h11v7.500h-6l-3 2.500V11h-2z',
  start: 'M5 3.200l7.500 4.800L5 12.800z',
  fork: 'M5 5.500v5M5 5.500a1.700 1.700 0 1 0 0-3.400 1.700 1.700 0 0 0 0 3.400zM5 13.900a1.700 1.700 0 1 0 0-3.400 1.700 1.700 0 0 0 0 3.400zM11 5.500a1.700 1.700 0 1 0 0-3.400 1.700 1.700 0 0 0 0 3.400zM11 5.500c0 2.500-2 3-6 3.500',
  clock: 'M8 14A6 6 0 1 0 8 2a6 6 0 0 0 0 12zM8 4.500V8l2.500 1.500',
  workers: 'M2.500 3h11v4h-11zM2.500 9h11v4h-11zM5 5h.01M5 11h.01',
  copy: 'M5.500 5.500V3a1 1 0 0 1 1-1H13a1 1 0 0 1 1 1v6.500a1 1 0 0 1-1 1h-2.500M3 5.500h6.500a1 1 0 0 1 1 1V13a1 1 0 0 1-1 1H3a1 1 0 0 1-1-1V6.500a1 1 0 0 1 1-1z',
  check: 'M3.500 8.500l3 3 6-7',
  left: 'M10 3L5 8l5 5',
  right: 'M6 3l5 5-5 5',
  down: 'M3 6l5 5 5-5',
  search: 'M7 12A5 5 0 1 0 7 2a5 5 0 0 0 0 10zM10.700 10.700L14 14',
  sun: 'M8 11a3 3 0 1 0 0-6 3 3 0 0 0 0 6zM8 1v1.500M8 13.500V15M1 8h1.500M13.500 8H15M3 3l1 1M12 12l1 1M13 3l-1 1M4 12l-1 1',
  moon: 'M13.500 9.500A6 6 0 0 1 6.500 2.500a6 6 0 1 0 7 7z',
  out: 'M9 3H4a1 1 0 0 0-1 1v8a1 1 0 0 0 1 1h5M7 8h7M11.500 5.500L14 8l-2.500 2.500',
  plus: 'M8 3v10M3 8h10',
  minus: 'M3 8h10',
  grow: 'M9 3h4v4M7 13H3V9M13 3L9 7M3 13l4-4',
  shrink: 'M13 7H9V3M3 9h4v4M9 7l4-4M7 9l-4 4',
  close: 'M4 4l8 8M12 4l-8 8',
  live: 'M8 10a2 2 0 1 0 0-4 2 2 0 0 0 0 4zM3.500 12.500a6.400 6.400 0 0 1 0-9M12.500 3.500a6.400 6.400 0 0 1 0 9',
} as const;

export function Icon({ name, size = 16 }: { readonly name: keyof typeof shapes; readonly size?: number }): JSX.Element {
  return (
    <svg
      class="icon-line"
      width={size}
      height={size}
      viewBox="0 0 16 16"
      fill="none"
      stroke="currentColor"
      stroke-width="1.500"
      stroke-linecap="round"
      stroke-linejoin="round"
      aria-hidden="true"
    >
      <path d={shapes[name]} />
    </svg>
  );
}
