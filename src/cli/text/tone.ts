/** Colours, where they are wanted. */

export type Tone = 'good' | 'bad' | 'warn' | 'dim' | 'strong' | 'plain';

const codes: Readonly<Record<Exclude<Tone, 'plain'>, readonly [number, number]>> = {
  good: [32, 39],
  bad: [31, 39],
  warn: [33, 39],
  dim: [2, 22],
  strong: [1, 22],
};

/** Paints a text in a tone; the identity where colours are off. */
export type Paint = (tone: Tone, text: string) => string;

export const plain: Paint = (_tone, text) => text;

export const coloured: Paint = (tone, text) => {
  if (tone === 'plain' || text === '') return text;
  const [on, off] = codes[tone];
  return `\u001b[${on}m${text}\u001b[${off}m`;
};

const tones: Readonly<Record<string, Tone>> = {
  completed: 'good',
  failed: 'bad',
  'in doubt': 'bad',
  cancelled: 'warn',
  cancelling: 'warn',
  paused: 'warn',
  waiting: 'warn',
  running: 'strong',
  'not ended': 'warn',
  skipped: 'dim',
  success: 'good',
  partial_success: 'warn',
  fail: 'bad',
  retry: 'bad',
};

/** The tone of a status of a run or a node, or of what a stage of a pipeline says of itself. */
export function toneOf(status: string): Tone {
  return tones[status] ?? 'plain';
}
