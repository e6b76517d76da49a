/** `cairn post-mortem` */
import { perform } from '../../operations/declare/perform.ts';
import { withHistory } from '../../app/place/with-history.ts';
import { postMortem, type PostMortemInput } from '../../operations/runs/post-mortem.ts';
import type { Command } from '../command.ts';
import { formatStory } from '../text/story-text.ts';

export const postMortemCommand: Command<PostMortemInput> = {
  name: postMortem.name,
  summary: postMortem.summary,
  fields: postMortem.input,
  details:
    'Conditions are computed again from the state as it was; of functions of a program is told whether their edge was taken. Values under names of secrets are masked.',
  examples: [
    { line: 'cairn post-mortem 0198c2f4', does: 'the story of a run' },
    { line: 'cairn post-mortem 0198c2f4@40 --json', does: 'up to checkpoint 40, for a program' },
  ],
  execute(session, input) {
    return withHistory(session, async (context) => {
      const story = await perform(postMortem, context, input);
      if (session.isJson) session.printJson(story);
      else session.screen.print(...formatStory(story, session.screen));
      return 0;
    });
  },
};
