/** The operation `stats`: what a store holds, counted. */
import { described, listOf, objectOf, text, whole } from '../contract/output-shapes.ts';
import type { HistoryContext, RoutedOperation } from '../contract/operation.ts';
import { readStoreStats, type StatsOptions, type StoreStats } from '../../history/retention/store-stats.ts';

const size = described(whole, 'what the checkpoints take, without snapshots and large values');

export const readStats: RoutedOperation<StatsOptions, StoreStats, HistoryContext> = {
  name: 'read_stats',
  command: 'stats',
  summary: 'count runs and checkpoints by workflow, status and age, and what belongs to nothing',
  details:
    'Checkpoints are as old as the last write of their run. Saves that failed are in no store: a process counts them (metrics).',
  input: { sizes: { type: 'flag', description: 'also add up sizes, for which all checkpoints are read' } },
  output: 'the counts',
  outputSchema: objectOf(
    {
      groups: described(
        listOf(
          objectOf(
            {
              graphId: text,
              status: text,
              runs: described(whole, 'how many runs'),
              checkpoints: described(whole, 'how many checkpoints'),
              ages: described(
                objectOf({
                  day: described(whole, 'of runs that were written within a day'),
                  week: described(whole, 'within a week'),
                  month: described(whole, 'within 30 days'),
                  older: described(whole, 'before'),
                }),
                'the checkpoints by age',
              ),
            },
            { sizeBytes: size },
          ),
        ),
        'by workflow, then by status',
      ),
      runs: described(whole, 'how many runs'),
      checkpoints: described(whole, 'how many checkpoints'),
      orphans: described(
        objectOf({
          blobs: described(whole, 'large values that no run names, older than a day'),
          forks: described(whole, 'forks whose original is gone'),
        }),
        'what belongs to nothing',
      ),
    },
    { sizeBytes: size },
  ),
  isReadOnly: true,
  scope: 'read',
  route: 'GET /stats',
  tool: {},
  run: (context, options) => readStoreStats(context, options),
};
