/** Writes a duration as both dialects read it: in its largest unit of whole minutes, seconds or milliseconds. */
export function durationText(ms: number): string {
  if (ms % 60_000 === 0) return `${ms / 60_000}m`;
  return ms % 1_000 === 0 ? `${ms / 1_000}s` : `${ms}ms`;
}
