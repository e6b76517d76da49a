/** `cairn prune` */
import { perform } from '../../operations/declare/perform.ts';
import { pruneRuns, type PruneRunsInput } from '../../operations/store/prune-runs.ts';
import { noteBlobs } from '../note-blobs.ts';
import type { Command } from '../command.ts';
import { withApp } from '../live/follow.ts';
import { printable } from '../text/printable.ts';

export const pruneCommand: Command<PruneRunsInput> = {
  name: pruneRuns.name,
  summary: pruneRuns.summary,
  fields: pruneRuns.input,
  details:
    'Kept are the newest checkpoints, tags, points that were forked from, open waits, and the outcomes of writes and answers as long as anything before them is kept.',
  examples: [
    { line: 'cairn prune 0198c2f4 --keep-last 10', does: 'keep the newest ten of a run' },
    { line: 'cairn prune --all --keep-every 100', does: 'thin out every history' },
  ],
  execute(session, input) {
    return withApp(session, async (app) => {
      const output = await perform(pruneRuns, app, input);
      if (session.isJson) {
        session.printJson(output);
        return 0;
      }
      for (const { runId, removed, folded, oldest } of output.pruned)
        session.screen.print(`${printable(runId)}  ${removed} removed, ${folded} folded, the oldest is ${oldest}`);
      if (output.pruned.length + output.busy.length === 0) session.screen.note('No runs here.');
      for (const runId of output.busy)
        session.screen.note(`${printable(runId)} is being worked on and was left as it is`);
      noteBlobs(session, output.blobs);
      return 0;
    });
  },
};
