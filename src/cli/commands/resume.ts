/** `cairn resume` */
import { resumeRun, type ResumeRunInput } from '../../operations/resume-run.ts';
import type { Command } from '../command.ts';
import { follow } from '../follow.ts';

export const resumeCommand: Command<ResumeRunInput> = {
  name: resumeRun.name,
  summary: resumeRun.summary,
  fields: resumeRun.input,
  details:
    'The graph is found where the run was started from. In a terminal, open questions are asked on the spot. A failed run tries again what failed.',
  examples: [
    { line: 'cairn resume 0198c2f4', does: 'go on; the beginning of an id will do' },
    { line: 'cairn resume 0198c2f4 --file moved/release.ts', does: 'the module is elsewhere now' },
  ],
  execute(session, input) {
    const { run: _run, ...resume } = input;
    return follow(session, (app) => resumeRun.run(app, input), resume);
  },
};
