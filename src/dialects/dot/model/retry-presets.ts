/** The retry policies that a stage can name. */
import type { RetryPolicy } from '../../../graph/contracts/retry-policy.ts';

type Preset = Pick<Required<RetryPolicy>, 'attempts' | 'backoff' | 'delayMs' | 'factor'>;

const standard: Preset = { attempts: 5, backoff: 'exponential', delayMs: 200, factor: 2 };
const presets: Readonly<Record<string, Preset>> = {
  none: { ...standard, attempts: 1 },
  standard,
  aggressive: { ...standard, delayMs: 500 },
  linear: { attempts: 3, backoff: 'fixed', delayMs: 500, factor: 1 },
  patient: { attempts: 3, backoff: 'exponential', delayMs: 2_000, factor: 3 },
};

export const retryPresets: readonly string[] = Object.keys(presets);

/** The policy of a preset; of no name, the standard one. Delays vary by up to half. */
export function presetPolicy(name: string): RetryPolicy {
  const { attempts, backoff, delayMs, factor } = presets[name] ?? standard;
  return {
    attempts,
    backoff,
    delayMs,
    delayMsMax: 60_000,
    jitter: 0.5,
    ...(backoff === 'exponential' && { factor }),
  };
}
