/** `cairn completion` */
import { listRuns } from '../../operations/runs/list-runs.ts';
import { withReading } from '../../app/open-store/open-reading.ts';
import { perform } from '../../operations/contract/perform.ts';
import type { Command } from '../command.ts';
import {
  bashCompletion,
  completedCommands,
  type CompletedCommand,
  fishCompletion,
  zshCompletion,
} from '../completion/shells.ts';

interface CompletionArguments {
  readonly shell: string;
}

const scripts: Readonly<Record<string, (commands: readonly CompletedCommand[]) => string>> = {
  bash: bashCompletion,
  zsh: zshCompletion,
  fish: fishCompletion,
};

/** Ids that mean nothing to a shell. A store may come from anywhere, and bash expands the words it is offered. */
const plainId = /^[\p{L}\p{N}_][\p{L}\p{N}_.:@/+-]*$/u;

/** The most runs to offer, newest first. */
const runsMax = 50;

/** @param commands - all there are, this one included */
export function createCompletionCommand(commands: () => readonly Command[]): Command<CompletionArguments> {
  return {
    name: 'completion',
    summary: 'print what a shell needs to complete commands, options and runs',
    fields: {
      shell: {
        type: 'text',
        description: 'the shell',
        isRequired: true,
        isPositional: true,
        choices: [...Object.keys(scripts), 'runs'],
      },
    },
    details:
      'The scripts ask for runs by: cairn completion runs, which prints the newest, a line each. It runs no configuration that is code.',
    examples: [
      { line: 'source <(cairn completion bash)', does: 'in ~/.bashrc; for zsh alike in ~/.zshrc, behind compinit' },
      { line: 'cairn completion fish > ~/.config/fish/completions/cairn.fish', does: 'for fish, once' },
    ],
    async execute(session, { shell }) {
      const script = scripts[shell]?.(completedCommands(commands()));
      if (script !== undefined) {
        session.screen.print(script.trimEnd());
        return 0;
      }
      const { runs } = await withReading(session, (context) => perform(listRuns, context, { limit: runsMax }));
      session.screen.print(runs.map(({ runId }) => runId).filter((runId) => plainId.test(runId)));
      return 0;
    },
  };
}
