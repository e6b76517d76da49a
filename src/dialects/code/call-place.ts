/** Where in the author's file a builder was called: `file:line`, so that a fault names the line to mend. */

type Callee = (...args: never[]) => unknown;

/**
 * The place that called `callee`. Only one frame is captured, which keeps it cheap (microseconds); a runtime without
 * V8's stack capture gives undefined, and the messages then name the node or edge alone.
 */
export function callPlace(callee: Callee): string | undefined {
  if (typeof Error.captureStackTrace !== 'function') return undefined;
  const limit = Error.stackTraceLimit;
  const holder: { stack?: string } = {};
  Error.stackTraceLimit = 1;
  Error.captureStackTrace(holder, callee);
  // V8 formats the trace when it is first read, but has captured its frames by now.
  Error.stackTraceLimit = limit;
  const found = /^\s+at (?:.*\()?(?:file:\/\/)?(.+?):(\d+):\d+\)?$/mu.exec(holder.stack ?? '');
  return found === null ? undefined : `${found[1]}:${found[2]}`;
}
