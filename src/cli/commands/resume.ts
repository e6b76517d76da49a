/** `cairn resume` */
import { perform } from '../../operations/declare/perform.ts';
import { resumeRun, type ResumeRunInput } from '../../operations/runs/resume-run.ts';
import { allowField, type Command } from '../session.ts';
import { follow } from '../live/follow.ts';

interface ResumeArguments extends ResumeRunInput {
  readonly allow?: readonly string[];
}

export const resumeCommand: Command<ResumeArguments> = {
  name: resumeRun.name,
  summary: resumeRun.summary,
  fields: { ...resumeRun.input, allow: allowField },
  details:
    'A workflow goes on from the definition that was kept with the run, other graphs are found where the run was started from. In a terminal, open questions are asked on the spot. A failed run tries again what failed; of an effect that may have happened it is asked first. A command that ended with an exit code is tried again with --retry, also where that was asked already.',
  examples: [
    { line: 'cairn resume 0198c2f4', does: 'go on; the beginning of an id will do' },
    { line: 'cairn resume 0198c2f4 --retry', does: 'run the failed command again' },
    { line: 'cairn resume 0198c2f4 --file moved/release.ts', does: 'the module is elsewhere now' },
  ],
  runsConfig: true,
  execute(session, { allow, ...input }) {
    // What a preview said is held against the first resume, not against those after answers.
    const { run: _run, expect: _expect, ...resume } = input;
    return follow(session, (app) => perform(resumeRun, app, input), { run: input.run, resume, allow });
  },
};
