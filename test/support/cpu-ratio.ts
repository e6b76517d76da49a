/** Compares what works take of the CPU, on machines that others use too. */

type Work = () => unknown;

async function cpuMs(works: readonly Work[]): Promise<number> {
  const before = process.cpuUsage();
  for (const work of works) await work();
  return process.cpuUsage(before).user / 1_000;
}

/**
 * How many times as much CPU one work takes as another: the least of up to five tries, since what else the process does, collecting and
 * compiling among it, is counted now and then, and what truly takes more takes more each time.
 *
 * @param options - `times`: how often the other work is done, so that both sides take about as long (default 1);
 * `bound`: the first try below it is the last (default: all five count)
 */
export async function leastCpuRatio(
  work: Work,
  other: Work,
  { times = 1, bound = 0 }: { readonly times?: number; readonly bound?: number } = {},
): Promise<number> {
  const others = Array.from({ length: times }, () => other);
  // Code that runs for the first time is compiled.
  await cpuMs(others);
  let least = Number.POSITIVE_INFINITY;
  for (let tries = 0; tries < 5 && least >= bound; tries += 1)
    least = Math.min(least, (await cpuMs([work])) / (await cpuMs(others)));
  return least;
}
