/** The memory of commands that go through all runs of a store. */

/** What a walk takes in this time, some megabytes, is room enough; with less, V8 would take what is young for old. */
const growsMs = 300;

/**
 * Has V8 soon make no more room for what is young. What such a command reads is garbage a moment later, whatever room there is: with more,
 * a process over 1,000,000 runs takes 230 MB in place of 90, and no less time.
 */
export function boundYoungMemory(): void {
  const bound = (): void => process.getBuiltinModule('node:v8').setFlagsFromString('--semi-space-growth-factor=1');
  setTimeout(bound, growsMs).unref();
}
