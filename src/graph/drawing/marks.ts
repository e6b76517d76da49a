/** The marks of how something stands. They differ in shape, not in colour alone. */

/** How a node or a run stands, as it is shown. */
export type Tone =
  | 'running'
  | 'queued'
  | 'waiting'
  | 'doubt'
  | 'failed'
  | 'completed'
  | 'cancelled'
  | 'stopped'
  | 'sleeping'
  | 'skipped'
  | 'idle';

/** A line, an area, or a sign that an area leaves open in the colour of what is behind it. */
export interface MarkPart {
  readonly paint: 'stroke' | 'fill' | 'sign';
  readonly d: string;
  /** As `stroke-dasharray`. */
  readonly dashes?: string;
}

/** What marks are made of. */
const line = (d: string, dashes?: string): MarkPart => ({
  paint: 'stroke',
  d,
  ...(dashes !== undefined && { dashes }),
});
const area = (d: string, sign: string): readonly MarkPart[] => [
  { paint: 'fill', d },
  { paint: 'sign', d: sign },
];

const ring = 'M13.75 8a5.75 5.75 0 1 1-11.5 0a5.75 5.75 0 1 1 11.5 0z';

/** Each drawn in a square of 16. */
export const marks: Readonly<Record<Tone, readonly MarkPart[]>> = {
  // A ring that is open, and turns.
  running: [line('M8 2a6 6 0 1 1-5.2 3')],
  queued: [line(ring, '2 2.5')],
  // A speech bubble.
  waiting: area(
    'M3.5 2h9A1.5 1.5 0 0 1 14 3.5v6a1.5 1.5 0 0 1-1.5 1.5H9l-3.5 3.2V11h-2A1.5 1.5 0 0 1 2 9.5v-6A1.5 1.5 0 0 1 3.5 2z',
    'M5 5.3h6M5 7.8h4',
  ),
  // A triangle with an exclamation mark.
  doubt: area(
    'M8 1.6a1 1 0 0 1 .87.5l6 10.4a1 1 0 0 1-.87 1.5H2a1 1 0 0 1-.87-1.5l6-10.4A1 1 0 0 1 8 1.6z',
    'M8 5.8v3.4M8 11.4v.2',
  ),
  // A square with a cross.
  failed: area(
    'M4.5 2h7A2.5 2.5 0 0 1 14 4.5v7A2.5 2.5 0 0 1 11.5 14h-7A2.5 2.5 0 0 1 2 11.5v-7A2.5 2.5 0 0 1 4.5 2z',
    'M5.6 5.6l4.8 4.8M10.4 5.6l-4.8 4.8',
  ),
  // A disc with a check.
  completed: area('M14.5 8a6.5 6.5 0 1 1-13 0a6.5 6.5 0 1 1 13 0z', 'M5.2 8.2l2 2 3.6-4'),
  // A ring that is struck through.
  cancelled: [line(ring), line('M4.2 11.8l7.6-7.6')],
  // An open square.
  stopped: [line('M5 3h6a2 2 0 0 1 2 2v6a2 2 0 0 1-2 2H5a2 2 0 0 1-2-2V5a2 2 0 0 1 2-2z')],
  // A clock.
  sleeping: [line(ring), line('M8 4.8V8l2.2 1.6')],
  // An arrow that leads past something.
  skipped: [line('M3 8h7M8 5l3 3-3 3M13.5 4.5v7')],
  idle: [line('M10 8a2 2 0 1 1-4 0a2 2 0 1 1 4 0z')],
};
