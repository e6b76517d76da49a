/** `cairn tag` */
import { perform } from '../../operations/contract/perform.ts';
import { tagCheckpoint, type TagCheckpointInput } from '../../operations/checkpoints/tag-checkpoint.ts';
import { type Command, ofOperation } from '../command.ts';
import { withApp } from '../live/follow.ts';
import { printable } from '../../operations/format/terminal.ts';

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
