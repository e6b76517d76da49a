/** `cairn post-mortem` */
import { perform } from '../../operations/declare/perform.ts';
import { withHistory } from '../../app/place/with-history.ts';
import { postMortem, type PostMortemInput, type PostMortemOutput } from '../../operations/runs/post-mortem.ts';
import { CairnError } from '../../errors.ts';
import type { Command, Session } from '../session.ts';
import { writeOwnFile } from '../files.ts';
import { printable } from '../text/terminal-text.ts';
import { formatStory } from '../text/story-text.ts';

interface PostMortemArguments extends PostMortemInput {
  readonly html?: string;
}

/** Writes the page; where nothing can be drawn it has an outline, and why is said. */
async function writePage({ cwd, screen }: Session, file: string, story: PostMortemOutput): Promise<void> {
  const [{ drawDot }, { storyPage }] = await Promise.all([
    import('../../app/draw/draw-dot.ts'),
    import('../../app/draw/story-page.ts'),
  ]);
  let svg: string | undefined;
  try {
    svg = story.dot === undefined ? undefined : await drawDot(story.dot);
  } catch (error) {
    if (!CairnError.is(error, 'CONFIG_MISSING_PEER', 'INPUT_INVALID')) throw error;
    screen.note(`The page has an outline in place of the picture: ${error.message}. ${error.hint}`);
  }
  writeOwnFile(cwd, file, storyPage(story, svg));
  screen.note(`The page is ${printable(file)}; only you may read it.`);
}

export const postMortemCommand: Command<PostMortemArguments> = {
  name: postMortem.name,
  summary: postMortem.summary,
  fields: {
    ...postMortem.input,
    html: { type: 'text', description: 'writes a page that needs nothing but itself, with the graph drawn' },
  },
  details:
    'Conditions are computed again from the state as it was; of functions of a program is told whether their edge was taken. Values under names of secrets are masked. The picture needs Graphviz: npm install @viz-js/viz.',
  examples: [
    { line: 'cairn post-mortem 0198c2f4', does: 'the story of a run' },
    { line: 'cairn post-mortem 0198c2f4 --html run.html', does: 'as a page, with the graph coloured by what happened' },
    { line: 'cairn post-mortem 0198c2f4@40 --json', does: 'up to checkpoint 40, for a program' },
  ],
  execute(session, { html, ...input }) {
    return withHistory(session, async (context) => {
      const story = await perform(postMortem, context, html === undefined ? input : { ...input, picture: true });
      if (html !== undefined) await writePage(session, html, story);
      if (session.isJson) session.printJson(story);
      else if (html === undefined) session.screen.print(formatStory(story, session.screen));
      return 0;
    });
  },
};
