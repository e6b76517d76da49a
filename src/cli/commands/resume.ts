/** `cairn resume` */
import { printable } from '../../operations/format/terminal.ts';
import type { App } from '../../app/open-app.ts';
import type { RunStanding } from '../../operations/contract/operation.ts';
import { perform } from '../../operations/contract/perform.ts';
import { type Command, allowField, ofOperation } from '../command.ts';
import { follow } from '../live/follow.ts';
import { resumeRun, type ResumeRunInput } from '../../operations/runs/resume-run.ts';

interface ResumeArguments extends ResumeRunInput {
  readonly allow?: readonly string[];
}

export const resumeCommand: Command<ResumeArguments> = {
  ...ofOperation(resumeRun, { allow: allowField }),
  details:
    'A workflow goes on from the definition that was kept with the run, other graphs are found where the run was started from. In a terminal, open questions are asked on the spot. A failed run tries again what failed; of an effect that may have happened it is asked first. A command that ended with an exit code is tried again with --retry, also where that was asked already.',
  examples: [
    { line: 'cairn resume 0198c2f4', does: 'go on; the beginning of an id will do' },
    { line: 'cairn resume 0198c2f4 --retry', does: 'run the failed command again' },
    { line: 'cairn resume 0198c2f4 --file moved/release.ts', does: 'the module is elsewhere now' },
  ],
  runsConfig: true,
  execute(session, { allow, ...input }) {
    // What a preview said is compared with the first resume, not with those after answers.
    const { run: _run, expect: _expect, ...resume } = input;
    const begin = async (app: App): Promise<RunStanding> => {
      const standing = await perform(resumeRun, app, input);
      if (input.file !== undefined) session.screen.note(`The run's file is ${printable(input.file)} from now on.`);
      return standing;
    };
    return follow(session, begin, { run: input.run, resume, allow });
  },
};
