/** The metrics port: counters and distributions. Without one, and without a telemetry, nothing is counted. */
import type { Attributes } from './telemetry.ts';

/** Receives what an engine counts. Calls must return at once. What they throw is ignored. The names are listed in spec E10.9. */
export interface Metrics {
  /** Adds to a counter. */
  count(name: string, by: number, attributes: Attributes): void;
  /** Records one value of a distribution, in ms. */
  measure(name: string, value: number, attributes: Attributes): void;
}
