/** Where in the author's file a builder was called: `file:line`, so that a fault names the line to mend. */

/**
 * The place that called the method which calls this. Only two frames are captured, which keeps it cheap (microseconds); a
 * runtime without V8's stack capture gives undefined, and the messages then name the node or edge alone.
 */
export function callPlace(): string | undefined {
  if (typeof Error.captureStackTrace !== 'function') return undefined;
  const limit = Error.stackTraceLimit;
  const holder: { stack?: string } = {};
  // The method, and whoever called it: the last line.
  Error.stackTraceLimit = 2;
  Error.captureStackTrace(holder, callPlace);
  Error.stackTraceLimit = limit;
  const found = /\n\s+at .*\n\s+at (?:.*\()?(?:file:\/\/)?(.+?):(\d+):\d+\)?$/u.exec(holder.stack ?? '');
  return found === null ? undefined : `${found[1]}:${found[2]}`;
}
