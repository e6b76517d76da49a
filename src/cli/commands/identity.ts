/** `cairn identity` */
import { perform } from '../../operations/contract/perform.ts';
import { type Command, ofOperation } from '../command.ts';
import { noteNone } from '../session.ts';
import { withApp } from '../live/follow.ts';
import { printable } from '../../operations/format/terminal.ts';
import { withReading } from '../../app/open-store/open-reading.ts';
import { CairnError } from '../../errors.ts';
import { storeIdentity, type StoreIdentityInput } from '../../operations/store/store-identity.ts';

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
