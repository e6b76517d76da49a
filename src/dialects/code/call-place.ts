/** Where in the author's file a builder was called: `file:line`, so that a fault names the line to mend. */

/** Frames above the author's: this function, and the builder's method that called it. */
const ownFrames = 2;

/**
 * The place that called the method which calls this. Only three frames are captured, which keeps it cheap (microseconds); a
 * runtime without V8's stack capture gives undefined, and the messages then name the node or edge alone.
 */
export function callPlace(): string | undefined {
  if (typeof Error.captureStackTrace !== 'function') return undefined;
  const limit = Error.stackTraceLimit;
  const holder: { stack?: string } = {};
  Error.stackTraceLimit = ownFrames + 1;
  Error.captureStackTrace(holder);
  Error.stackTraceLimit = limit;
  const frames = (holder.stack ?? '').split('\n').filter((line) => /^\s+at /u.test(line));
  const found = /^\s+at (?:.*\()?(?:file:\/\/)?(.+?):(\d+):\d+\)?$/u.exec(frames[ownFrames] ?? '');
  return found === null ? undefined : `${found[1]}:${found[2]}`;
}
