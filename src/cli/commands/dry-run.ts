/** `cairn run --dry-run`: the ways through a pipeline, as scenarios take them or as they are found. */
import type { DryRun } from '../../app/simulate/dry-run.ts';
import type { SimulationReport } from '../../app/simulate/simulate-pipeline.ts';
import { withApp } from '../live/follow.ts';
import type { Screen } from '../screen.ts';
import type { Session } from '../session.ts';
import { printable } from '../text/printable.ts';
import type { Tone } from '../text/style.ts';
import { wrap } from '../text/width.ts';

/** No store is opened: nothing is kept of a dry run. */
export function dryRunPipeline(
  session: Session,
  run: DryRun,
  workflows: readonly string[] | undefined,
): Promise<number> {
  return withApp(
    { ...session, storeUrl: 'memory:' },
    async (app) => {
      const { dryRun } = await import('../../app/simulate/dry-run.ts');
      const report = await dryRun(app, session.cwd, run);
      if (session.isJson) session.printJson(report);
      else printReport(report, session.screen);
      return 0;
    },
    { workflows },
  );
}

const tones: Readonly<Record<string, Tone>> = { success: 'good', failed: 'bad' };

function printReport(
  { runs, coverage: { stages, edges }, untried }: SimulationReport,
  { print, paint, rowWidth }: Screen,
): void {
  for (const { name, status, path, reason, unused } of runs) {
    const steps = path.map(({ stage, outcome }) => (outcome === 'success' ? stage : `${stage} (${outcome})`));
    print(
      `${printable(name)}: ${paint(tones[status] ?? 'warn', status)}${reason === undefined ? '' : `, ${printable(reason)}`}`,
      ...wrap(`  ${printable(steps.join(' -> '))}`, rowWidth),
      ...unused.map((stage) => paint('dim', `  more was said of ${printable(stage)} than it was asked for`)),
    );
  }
  print('', `stages: ${stages.count - stages.missed.length} of ${stages.count}`);
  if (stages.missed.length > 0) print(`  not come to: ${printable(stages.missed.join(', '))}`);
  print(`edges:  ${edges.count - edges.missed.length} of ${edges.count}`);
  for (const { from, to, label, condition, place } of edges.missed)
    print(
      `  not taken: ${printable(`${from} -> ${to} ${condition === '' ? label : `[${condition}]`}`.trimEnd())}  ${paint('dim', printable(place))}`,
    );
  if (untried > 0)
    print(
      paint(
        'warn',
        `${untried} more ways were found and not tried: a search makes no more runs; say what to try with --simulate`,
      ),
    );
}
