/** `cairn rm` */
import { perform } from '../../operations/declare/perform.ts';
import { removeRun, type RemoveRunInput } from '../../operations/runs/remove-run.ts';
import { noteBlobs } from '../note-blobs.ts';
import type { Command } from '../command.ts';
import { withApp } from '../live/follow.ts';
import { printable } from '../text/printable.ts';

export const rmCommand: Command<RemoveRunInput> = {
  name: removeRun.name,
  summary: removeRun.summary,
  fields: removeRun.input,
  details: 'What a fork still needs is not removed: forks are named, and go only with --with-forks.',
  examples: [
    { line: 'cairn rm 0198c2f4', does: 'remove one run' },
    { line: 'cairn rm 0198c2f4 --with-forks', does: 'and all that was forked from it' },
  ],
  execute(session, input) {
    return withApp(session, async (app) => {
      const output = await perform(removeRun, app, input);
      if (session.isJson) session.printJson(output);
      else {
        for (const runId of output.removed) session.screen.print(`removed ${printable(runId)}`);
        noteBlobs(session, output.blobs);
      }
      return 0;
    });
  },
};
