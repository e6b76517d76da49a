/** `cairn state` */
import { perform } from '../../operations/declare/perform.ts';
import { withHistory } from '../../app/place/with-history.ts';
import { readState, type ReadStateInput } from '../../operations/checkpoints/read-state.ts';
import type { Command } from '../session.ts';
import { formatBlock } from '../text/value.ts';

export const stateCommand: Command<ReadStateInput> = {
  name: readState.name,
  summary: readState.summary,
  fields: readState.input,
  details:
    'The state has input, scratch, artifacts, diagnostics and the outputs of nodes. Text is printed as it is, all else as JSON.',
  examples: [
    { line: 'cairn state 0198c2f4', does: 'where the run stands' },
    { line: 'cairn state 0198c2f4@12 scratch.messages.-1', does: 'the last message at checkpoint 12' },
    { line: 'cairn state 0198c2f4 --agent review', does: 'the conversation of the agent review, and what it is at' },
    { line: 'cairn state 0198c2f4 outputs.draft --json', does: 'what node draft gave, as JSON' },
  ],
  execute(session, input) {
    return withHistory(session, async (context) => {
      const { value } = await perform(readState, context, input);
      if (session.isJson) session.printJson(value ?? null);
      else session.screen.print(formatBlock(value));
      return 0;
    });
  },
};
