/** `cairn migrate` */
import type { Command } from '../command.ts';
import { printable } from '../../operations/format/terminal.ts';
import { chooseStore } from '../../app/open-store/open-reading.ts';
import { CairnError } from '../../errors.ts';
import { kindOf } from '../../app/open-store/store-kinds.ts';
import type { FieldsOf } from '../../operations/contract/operation.ts';

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
    const done = await kindOf(place).migrate?.(place, role === undefined ? undefined : { role, name: to ?? '' });
    if (done === undefined)
      throw new CairnError('USAGE_INVALID', {
        reason: 'only a Postgres store is migrated; others are when they are opened',
        hint: 'Name it: --store postgres://USER@HOST/DATABASE, or CAIRN_STORE.',
      });
    const { name, from, to: version } = done;
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
