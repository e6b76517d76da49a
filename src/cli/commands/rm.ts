/** `cairn rm` */
import { perform } from '../../operations/declare/perform.ts';
import type { FieldsOf } from '../../operations/declare/operation.ts';
import { removeRun, type RemoveRunInput } from '../../operations/runs/remove-run.ts';
import { noteBlobs } from '../note-blobs.ts';
import type { Command } from '../command.ts';
import { asksFirst, deleteAsAsked, yesField } from '../live/delete.ts';
import { withApp } from '../live/follow.ts';
import type { Session } from '../session.ts';
import { countOf } from '../../operations/words/amounts.ts';
import { printable } from '../text/printable.ts';

interface RmArguments extends RemoveRunInput {
  readonly yes?: boolean;
}

const fields: FieldsOf<RmArguments> = { ...removeRun.input, yes: yesField };

type Removed = Awaited<ReturnType<typeof removeRun.run>>;

async function print(session: Session, { removed, blobs }: Removed, isDry: boolean): Promise<void> {
  for (const runId of removed)
    session.screen.print(isDry ? `${printable(runId)}  would be removed` : `removed ${printable(runId)}`);
  noteBlobs(session, blobs);
}

export const rmCommand: Command<RmArguments> = {
  name: removeRun.name,
  summary: removeRun.summary,
  fields,
  details: `${asksFirst} What a fork still needs is not removed: forks are named, and go only with --with-forks.`,
  examples: [
    { line: 'cairn rm 0198c2f4', does: 'remove one run' },
    { line: 'cairn rm 0198c2f4 --with-forks --dry-run', does: 'what would go with all that was forked from it' },
    { line: 'cairn rm 0198c2f4 --yes', does: 'remove it in a script' },
  ],
  execute(session, { yes, dryRun, ...input }) {
    return withApp(session, (app) =>
      deleteAsAsked(
        session,
        { dryRun, yes },
        {
          act: (isDry) => perform(removeRun, app, { ...input, dryRun: isDry }),
          print: (report, isDry) => print(session, report, isDry),
          questionFor: ({ removed }) => `Remove ${countOf(removed.length, 'run')}`,
        },
      ),
    );
  },
};
