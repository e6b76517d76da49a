/** `cairn restore` */
import { resolve } from 'node:path';
import { restore } from '../../app/backup/restore.ts';
import { chooseStore } from '../../app/place/open-reading.ts';
import { CairnError } from '../../errors.ts';
import type { FieldsOf } from '../../operations/declare/operation.ts';
import type { Command } from '../session.ts';
import { printable } from '../text/terminal-text.ts';

interface RestoreArguments {
  readonly file: string;
  readonly replace?: boolean;
}

const fields: FieldsOf<RestoreArguments> = {
  file: { type: 'text', description: 'the backup', isRequired: true, isPositional: true },
  replace: { type: 'flag', description: 'put a store that is there aside, as STORE.replaced; nobody may have it open' },
};

export const restoreCommand: Command<RestoreArguments> = {
  name: 'restore',
  summary: 'bring a backup back as a store, its open runs held',
  fields,
  details:
    'All of it is verified before the store has its name. What happened after the backup was made is not in it: runs that were not over are held, and no worker takes them until cairn release says so.',
  examples: [
    { line: 'cairn restore /backups/cairn.backup', does: 'into the store of this folder, which is not there yet' },
    { line: 'cairn restore /backups/cairn.backup --store sqlite:trial.db', does: 'somewhere else' },
  ],
  runsConfig: true,
  async execute(session, { file, replace = false }) {
    const place = await chooseStore(session);
    if (place.kind === 'postgres')
      throw new CairnError('CONFIG_INVALID', { path: 'store', reason: 'a Postgres store is restored with pg_restore' });
    const store = place.kind === 'sqlite' ? `sqlite:${place.path}` : 'memory:';
    const report = await restore(resolve(session.cwd, file), store, { replace });
    if (session.isJson) session.printJson(report);
    else {
      const { screen } = session;
      screen.print(`${printable(report.store)}: as it was on ${new Date(report.madeAt).toISOString()}, verified`);
      for (const { runId, status, head } of report.held)
        screen.print(`held  ${printable(runId)}  ${status} at checkpoint ${head}`);
      if (report.faults.length > 0)
        screen.note(`The store was damaged when it was backed up: ${printable(report.faults.slice(0, 5).join('; '))}`);
      if (report.held.length > 0)
        screen.note(
          'What these runs did after the backup is not known here. Look what they may have done, then: cairn release RUN, or cairn release --all',
        );
    }
    return 0;
  },
};
