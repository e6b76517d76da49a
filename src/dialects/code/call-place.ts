/** Finds where in the author's file a builder method was called (`file:line`), so that an error can name the line to fix. */

/**
 * Returns the place of the code that called the method that calls this function. Only two stack frames are captured, which takes
 * microseconds. Returns undefined on runtimes without V8's stack capture; messages then name only the node or edge.
 */
export function callPlace(): string | undefined {
  if (typeof Error.captureStackTrace !== 'function') return undefined;
  const limit = Error.stackTraceLimit;
  const holder: { stack?: string } = {};
  // Two frames: the builder method, and its caller, which is the last line.
  Error.stackTraceLimit = 2;
  Error.captureStackTrace(holder, callPlace);
  Error.stackTraceLimit = limit;
  const found = /\n\s+at .*\n\s+at (?:.*\()?(?:file:\/\/)?(.+?):(\d+):\d+\)?$/u.exec(holder.stack ?? '');
  return found === null ? undefined : `${found[1]}:${found[2]}`;
}
