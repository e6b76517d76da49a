/** `backup` and `restore`. */
import { resolve } from 'node:path';
import { restore } from '../../app/backup/restore.ts';
import { choosePlaces } from '../../app/open-store/open-reading.ts';
import { requireBackups } from '../../app/open-store/store-kinds.ts';
import { CairnError } from '../../errors.ts';
import type { FieldsOf } from '../../operations/contract/operation.ts';
import type { Command } from '../command.ts';
import { reportFailure } from '../report-failure.ts';
import type { Session } from '../session.ts';
import { printable } from '../../operations/format/terminal.ts';
import { backUp, type BackupReport } from '../../app/backup/back-up.ts';
import { listenForInterrupt } from '../live/interrupt.ts';

// `cairn restore`

interface RestoreArguments {
  readonly file: string;
  readonly replace?: boolean;
  readonly trust?: boolean;
}

const restoreFields: FieldsOf<RestoreArguments> = {
  file: { type: 'text', description: 'the backup', isRequired: true, isPositional: true },
  replace: { type: 'flag', description: 'put a store that is there aside, as STORE.replaced; nobody may have it open' },
  trust: { type: 'flag', description: 'the backup is your own: its runs go on with what they were started with' },
};

export const restoreCommand: Command<RestoreArguments> = {
  name: 'restore',
  summary: 'bring a backup back as a store, its open runs held',
  fields: restoreFields,
  details:
    'All of it is verified before the store has its name. What happened after the backup was made is not in it: runs that were not over are held, and no worker takes them until cairn release says so. Without --trust they are held to your grants (--allow), as an import is, unless a file here gives the workflow that they name; schedules start nothing then.',
  examples: [
    { line: 'cairn restore /backups/cairn.backup', does: 'into the store of this folder, which is not there yet' },
    { line: 'cairn restore /backups/cairn.backup --trust', does: 'the same of your own backup, as it was' },
    { line: 'cairn restore /backups/cairn.backup --store sqlite:trial.db', does: 'somewhere else' },
  ],
  runsConfig: true,
  async execute(session, { file, replace = false, trust = false }) {
    const { place, blobsUrl } = await choosePlaces(session);
    const ofBlobs = blobsUrl === undefined ? {} : { blobs: blobsUrl };
    const { kind, path } = requireBackups(place, 'restore');
    const store = `${kind}:${path}`;
    const report = await restore(resolve(session.cwd, file), store, { replace, trust, ...ofBlobs });
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

interface BackupArguments {
  readonly file: string;
  readonly keep?: number;
  readonly every?: string;
}

const fields: FieldsOf<BackupArguments> = {
  file: {
    type: 'text',
    description: 'where it goes; a backup of that name is replaced',
    isRequired: true,
    isPositional: true,
  },
  keep: { type: 'integer', description: 'keep N: the ones before are FILE.1, FILE.2 and so on' },
  every: { type: 'text', description: 'make one again and again, until it is stopped: 30s, 15m, 1h, 1d' },
};

const unitMs: Readonly<Record<string, number>> = { s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 };
/** The longest delay of a Node timer. */
const longestMs = 2 ** 31 - 1;

function readInterval(text: string): number {
  const [, count, unit = ''] = /^(\d+)([smhd])$/.exec(text) ?? [];
  const ms = Number(count) * (unitMs[unit] ?? Number.NaN);
  if (ms > 0 && ms <= longestMs) return ms;
  throw new CairnError('USAGE_INVALID', {
    reason: `--every ${text} is no interval`,
    hint: 'Write 30s, 15m, 1h or 1d.',
  });
}

function print(session: Session, report: BackupReport): void {
  if (session.isJson) {
    session.printJson(report);
    return;
  }
  const { file, runs, blobs, faults } = report;
  session.screen.print(
    `${printable(file)}: ${runs} ${runs === 1 ? 'run' : 'runs'}, ${blobs} large ${blobs === 1 ? 'value' : 'values'}`,
  );
  if (faults.length === 0) return;
  session.screen.note(
    `The store itself is damaged; the backup holds what could be read: ${printable(faults.slice(0, 5).join('; '))}`,
  );
  if (faults.some((fault) => fault.endsWith(' BLOB_NOT_FOUND')))
    session.screen.note('If its large values are elsewhere, name the place: --blobs or CAIRN_BLOBS');
  session.screen.note('Look at all of it: cairn verify');
}

/** Makes backups until it is stopped; one in progress is finished. A failure is reported, and the next backup is tried. */
async function repeat(session: Session, make: () => Promise<void>, everyMs: number): Promise<number> {
  const interrupt = listenForInterrupt();
  let isInterrupted = false;
  void interrupt.requested.then(() => (isInterrupted = true));
  try {
    for (;;) {
      await make().catch((error: unknown) => void reportFailure(error, session.screen, session.isJson));
      let timer: NodeJS.Timeout | undefined;
      const isDue = new Promise<void>((resolve) => (timer = setTimeout(resolve, everyMs)));
      if (!isInterrupted) await Promise.race([interrupt.requested, isDue]);
      clearTimeout(timer);
      if (isInterrupted) return 0;
    }
  } finally {
    interrupt.release();
  }
}

export const backupCommand: Command<BackupArguments> = {
  name: 'backup',
  summary: 'copy the store with its large values into one file, while runs go on',
  fields,
  details:
    'The copy is of one moment, whole once it has its name, and for its owner only: values stand in it as they are stored, none masked. Copying the database by hand leaves out every value over 256 KiB. Bring it back with cairn restore.',
  examples: [
    { line: 'cairn backup /backups/cairn.backup', does: 'once' },
    { line: 'cairn backup /backups/cairn.backup --every 1h --keep 24', does: 'each hour, the last day of them' },
  ],
  async execute(session, { file, keep, every }) {
    if (keep === 0) throw new CairnError('USAGE_INVALID', { reason: '--keep takes 1 or more' });
    const everyMs = every === undefined ? undefined : readInterval(every);
    const { place, blobsUrl } = await choosePlaces(session);
    const ofBlobs = blobsUrl === undefined ? {} : { blobs: blobsUrl };
    const { kind, path } = requireBackups(place, 'backUp');
    const store = `${kind}:${path}`;
    const make = async (): Promise<void> =>
      print(
        session,
        await backUp(store, resolve(session.cwd, file), { ...ofBlobs, ...(keep !== undefined && { keep }) }),
      );
    if (everyMs !== undefined) return repeat(session, make, everyMs);
    await make();
    return 0;
  },
};
