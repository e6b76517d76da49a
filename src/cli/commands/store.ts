/** `tag`, `prune`, `cleanup`, `identity`, `migrate`: what a store keeps, and for how long. */
import { perform } from '../../operations/contract/perform.ts';
import { tagCheckpoint, type TagCheckpointInput } from '../../operations/checkpoints/tag-checkpoint.ts';
import { type Command, noteBlobs, noteNone, type Session, ofOperation } from '../session.ts';
import { withApp } from '../live/follow.ts';
import { printable } from '../../operations/format/terminal.ts';
import { pruneRuns } from '../../operations/store/prune-runs.ts';
import { deletionCommand, type PrintedReport } from '../live/delete.ts';
import { countOf } from '../../operations/format/amounts.ts';
import { wrap } from '../text/width.ts';
import { cleanUp, type CleanUpReport } from '../../operations/store/clean-up.ts';
import { formatSize } from '../../operations/format/size.ts';
import { formatAge } from '../../operations/format/time.ts';
import { withReading, chooseStore } from '../../app/open-store/open-reading.ts';
import { CairnError } from '../../errors.ts';
import { storeIdentity, type StoreIdentityInput } from '../../operations/store/store-identity.ts';
import { migrateStore } from '../../app/open-store/open-server.ts';
import type { FieldsOf } from '../../operations/contract/operation.ts';

// `cairn tag`

export const tagCommand: Command<TagCheckpointInput> = {
  ...ofOperation(tagCheckpoint),
  examples: [
    { line: 'cairn tag 0198c2f4@12 before-release', does: 'name a checkpoint' },
    { line: 'cairn fork 0198c2f4@before-release', does: 'and come back to it' },
    { line: 'cairn tag 0198c2f4 before-release --remove', does: 'forget the name' },
  ],
  runsConfig: true,
  execute(session, input) {
    return withApp(session, async (app) => {
      const { runId, name, seq } = await perform(tagCheckpoint, app, input);
      if (session.isJson) session.printJson({ runId, name, ...(seq !== undefined && { seq }) });
      else if (seq === undefined) session.screen.print(`removed tag ${printable(name)} of ${printable(runId)}`);
      else session.screen.print(`${printable(runId)}@${seq} is now ${printable(runId)}@${printable(name)}`);
      return 0;
    });
  },
};

// `cairn prune`

type Pruned = Awaited<ReturnType<typeof pruneRuns.run>>;

const spansMax = 8;

/** `1, 3 to 9` */
function formatSpans(spans: Pruned['pruned'][number]['spans']): string {
  const ranges = spans.slice(0, spansMax).map(({ from, to }) => (from === to ? String(from) : `${from} to ${to}`));
  return [...ranges, ...(spans.length > spansMax ? ['…'] : [])].join(', ');
}

function countAll({ pruned }: Pruned): number {
  return pruned.reduce((sum, { removed }) => sum + removed, 0);
}

async function printPruned(
  session: Session,
  { pruned, busy, ...collected }: Pruned,
  { isDry }: PrintedReport,
): Promise<void> {
  const { screen } = session;
  for (const { runId, removed, spans, oldest } of pruned) {
    const went = `${countOf(removed, 'checkpoint')} ${isDry ? 'would be pruned' : 'pruned'}`;
    const line = `${printable(runId)}  ${removed === 0 ? 'nothing to prune' : `${went}: ${formatSpans(spans)}; the oldest kept is ${oldest}`}`;
    screen.print(wrap(line, screen.width));
  }
  if (pruned.length + busy.length === 0) await noteNone(session, 'No runs here');
  for (const runId of busy) screen.note(`${printable(runId)} is being worked on and was left as it is`);
  noteBlobs(session, collected);
}

export const pruneCommand = deletionCommand(pruneRuns, {
  details:
    'Kept are the newest checkpoints, tags, points that were forked from, open waits, and the outcomes of writes and answers as long as anything before them is kept.',
  examples: [
    { line: 'cairn prune 0198c2f4 --keep-last 10', does: 'keep the newest ten of a run' },
    { line: 'cairn prune --all --dry-run', does: 'what would go of every run' },
    { line: 'cairn prune --all --keep-every 100 --yes', does: 'thin out every history, in a script' },
  ],
  print: printPruned,
  questionFor: (plan) => {
    const count = countAll(plan);
    return count === 0 ? undefined : `Prune ${countOf(count, 'checkpoint')}`;
  },
});

// `cairn cleanup`

/** Less room than this is not worth a word. */
const worthVacuumBytes = 1024 * 1024;

async function printCleanUp(session: Session, report: CleanUpReport, { isDry, now }: PrintedReport): Promise<void> {
  const { screen } = session;
  const { removed, pruned, skipped, space, freedBytes } = report;
  for (const { runId, graphId, endedAt } of removed)
    screen.print(
      `${printable(runId)} ${printable(graphId)}  ${isDry ? 'would go' : 'removed'}: ended ${formatAge(now - endedAt)} ago`,
    );
  for (const { runId, graphId, checkpoints } of pruned)
    screen.print(
      `${printable(runId)} ${printable(graphId)}  ${isDry ? 'at most ' : ''}${checkpoints} checkpoints ${isDry ? 'would be pruned' : 'pruned'}`,
    );
  for (const { runId, because } of skipped)
    screen.note(
      `${printable(runId)} was left as it is: ${because === 'busy' ? 'it is being worked on' : 'it has forks'}`,
    );
  if (removed.length + pruned.length === 0) await noteNone(session, 'Nothing to clean up');
  noteBlobs(session, report);
  if (freedBytes !== undefined)
    screen.print(
      `${formatSize(freedBytes)} ${isDry ? 'would be given back' : 'given back'}; the store takes ${formatSize(space?.sizeBytes ?? 0)}${isDry ? ' now' : ''}`,
    );
  else if (space !== undefined && space.freeBytes >= worthVacuumBytes)
    screen.note(
      `${formatSize(space.freeBytes)} of the store's ${formatSize(space.sizeBytes)} are free, for what is written later. To give them back: cairn cleanup --vacuum`,
    );
}

/** `Remove 2 runs and prune 40 checkpoints` */
function questionFor({ removed, pruned, freedBytes = 0 }: CleanUpReport): string | undefined {
  const count = pruned.reduce((sum, { checkpoints }) => sum + checkpoints, 0);
  const parts = [
    ...(removed.length > 0 ? [`remove ${countOf(removed.length, 'run')}`] : []),
    ...(count > 0 ? [`prune at most ${countOf(count, 'checkpoint')}`] : []),
    ...(freedBytes > 0 ? [`rewrite the store to give room back`] : []),
  ].join(' and ');
  return parts === '' ? undefined : `${parts.slice(0, 1).toUpperCase()}${parts.slice(1)}`;
}

export const cleanupCommand = deletionCommand(cleanUp, {
  details:
    'The settings are those of each workflow, and of the configuration for what it leaves open; where neither has any, nothing goes. What a paused run needs to go on always stays.',
  examples: [
    { line: 'cairn cleanup --dry-run', does: 'what would go' },
    { line: 'cairn cleanup --workflow deploy', does: 'only runs of one workflow' },
    { line: 'cairn cleanup --vacuum', does: 'and give the room that is left back to the file system' },
    { line: 'cairn cleanup --yes', does: 'from a schedule, where nobody can be asked' },
  ],
  print: printCleanUp,
  questionFor,
});

// `cairn identity`

export const identityCommand: Command<StoreIdentityInput> = {
  ...ofOperation(storeIdentity),
  details:
    'Runs keep the identity they were admitted under. A copied store keeps that of the original: give the copy another.',
  examples: [
    { line: 'cairn identity', does: 'show it' },
    { line: 'cairn identity --new', does: 'after copying production to a staging machine, on the copy' },
    { line: 'cairn identity --set shop-staging', does: 'the same, with a name' },
  ],
  execute(session, input) {
    const isChange = input.new === true || input.set !== undefined;
    const open = isChange ? withApp : withReading;
    return open(session, async (context) => {
      const { name, capabilities } = context.store;
      // The store does not exist; an empty one in memory takes its place.
      if (isChange && capabilities.durability === 'none')
        throw new CairnError('STORE_UNAVAILABLE', {
          store: name,
          reason: 'it is not there yet; the first run makes it',
        });
      const output = await perform(storeIdentity, context, input);
      const { identity, before } = output;
      if (session.isJson) session.printJson(output);
      else if (identity === '')
        await noteNone(session, 'No identity yet; whoever opens the store for writing gives it one');
      else session.screen.print(printable(identity));
      if (before !== undefined && before !== '' && !session.isJson) session.screen.note(`It was ${printable(before)}.`);
      return 0;
    });
  },
};

// `cairn migrate`

interface MigrateArguments {
  readonly role?: 'app' | 'viewer';
  readonly to?: string;
}

const migrateFields: FieldsOf<MigrateArguments> = {
  role: {
    type: 'text',
    description: 'also grant rights: app, all that workers need; viewer, reading',
    choices: ['app', 'viewer'],
  },
  to: { type: 'text', description: 'the role of the database that gets them' },
};

export const migrateCommand: Command<MigrateArguments> = {
  name: 'migrate',
  summary: 'bring the tables of a store on a server to the newest layout',
  fields: migrateFields,
  details:
    'Makes the tables if there are none. Run it as a role that may make tables; workers then need none of its rights: grant theirs with --role. Several may run it at once. SQLite files are brought up to date when they are opened.',
  examples: [
    { line: 'cairn migrate --store postgres://owner@db/flows', does: 'before the first worker, and after an update' },
    {
      line: 'cairn migrate --role app --to flows_app',
      does: 'the same, and what workers need to a role of the database',
    },
    { line: 'cairn migrate --role viewer --to support', does: 'the same, and reading' },
  ],
  async execute(session, { role, to }) {
    if ((role === undefined) !== (to === undefined))
      throw new CairnError('USAGE_INVALID', {
        reason: '--role and --to are given together: --role app --to flows_app',
      });
    const place = await chooseStore(session);
    if (place.kind !== 'postgres')
      throw new CairnError('USAGE_INVALID', {
        reason: 'only a Postgres store is migrated; others are when they are opened',
        hint: 'Name it: --store postgres://USER@HOST/DATABASE, or CAIRN_STORE.',
      });
    const { name, ...done } = await migrateStore(place.url, role === undefined ? undefined : { role, name: to ?? '' });
    const { from, to: version } = done;
    if (session.isJson) session.printJson({ store: name, from, to: version, ...(role && { granted: { role, to } }) });
    else {
      const change = from === version ? `is of layout ${version}` : `is now of layout ${version}, was of ${from}`;
      session.screen.print(`${printable(name)} ${change}`);
      if (to !== undefined)
        session.screen.print(`${printable(to)} may ${role === 'app' ? 'read and write it' : 'read it'}`);
    }
    return 0;
  },
};
