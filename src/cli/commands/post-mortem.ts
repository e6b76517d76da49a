/** `cairn post-mortem` */
import { perform } from '../../operations/contract/perform.ts';
import { withHistory } from '../../app/open-store/with-history.ts';
import { type Command, ofOperation } from '../command.ts';
import { printWithoutLarge, wholeField } from '../large-json.ts';
import type { Session } from '../session.ts';
import { printable } from '../../operations/format/terminal.ts';
import { postMortem, type PostMortemInput, type PostMortemOutput } from '../../operations/runs/post-mortem.ts';
import { writeOwnFile } from '../files.ts';
import { formatStory } from '../text/story-text.ts';

interface PostMortemArguments extends PostMortemInput {
  readonly html?: string;
  readonly whole?: boolean;
}

async function writePage({ cwd, screen }: Session, file: string, story: PostMortemOutput): Promise<void> {
  const { storyPage } = await import('../../app/draw/story-page.ts');
  writeOwnFile(cwd, file, storyPage(story, story.svg));
  screen.note(`The page is ${printable(file)}; only you may read it.`);
}

export const postMortemCommand: Command<PostMortemArguments> = {
  ...ofOperation(postMortem),
  fields: {
    ...postMortem.input,
    html: { type: 'text', description: 'writes a page that needs nothing but itself, with the graph drawn' },
    whole: wholeField,
  },
  details:
    'Conditions are computed again from the state as it was; of functions of a program is told whether their edge was taken. Values under names of secrets are masked.',
  examples: [
    { line: 'cairn post-mortem 0198c2f4', does: 'the story of a run' },
    { line: 'cairn post-mortem 0198c2f4 --html run.html', does: 'as a page, with the graph coloured by what happened' },
    { line: 'cairn post-mortem 0198c2f4@40 --json', does: 'up to checkpoint 40, for a program' },
  ],
  execute(session, { html, whole = false, ...input }) {
    return withHistory(session, async (context) => {
      const story = await perform(postMortem, context, html === undefined ? input : { ...input, picture: true });
      if (html !== undefined) await writePage(session, html, story);
      if (session.isJson) printWithoutLarge(session, story, { operation: postMortem, whole });
      else if (html === undefined) session.screen.print(formatStory(story, session.screen));
      return 0;
    });
  },
};
