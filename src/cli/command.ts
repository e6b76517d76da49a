/** What a command is: data from which all commands are parsed, explained and executed in the same way. */
import type { AnyOperation, Field, Fields, Next } from '../operations/contract/operation.ts';
import type { Session } from './session.ts';

export const workflowsField: Field = {
  type: 'texts',
  description: 'folders of workflows, later ones override earlier ones; default: the configuration, else workflows',
};

export const allowField: Field = {
  type: 'texts',
  description:
    'what workflows given as texts may reach for: inline, shell, net=HOST, fs=/FOLDER, env=NAME, model=NAME, sqlite, workflow=NAME; default: the configuration, else nothing',
};

export const healthPortField: Field = {
  type: 'text',
  description: 'answer probes (/livez, /readyz) at [HOST:]PORT, also while a node holds the event loop',
};

export interface Example {
  readonly line: string;
  readonly does: string;
}

/** A command. Its options are the fields of its operation, and further ones that only a terminal needs. */
export interface Command<Input extends object = object> {
  readonly name: string;
  /** One line. */
  readonly summary: string;
  readonly fields: Fields;
  /** A few more sentences for `--help`. */
  readonly details?: string;
  readonly examples: readonly Example[];
  /** Whether it runs the folder's configuration if that is code. Only for commands that change something. Default no. */
  readonly runsConfig?: true;
  /** Whether it writes to `process.stdout` itself and keeps what user code prints away from it. Default no. */
  readonly ownsOutput?: true;
  /**
   * Runs the command, prints its output, and returns the exit code. It is declared as a method so that commands with any type of input fit
   * in one list.
   */
  execute(session: Session, input: Input): Promise<number>;
}

/** Commands by the operations that may follow another one. */
const commands: Readonly<Record<string, string>> = { resume_run: 'resume' };

/** Prints what may follow, each as the command that does it. */
export function printNext({ screen, commandLine }: Session, follows: readonly Next[] = []): void {
  for (const { operation, input, why } of follows) {
    const command = screen.paint('good', commandLine(commands[operation] ?? operation, input.run));
    screen.print(`${why[0]?.toUpperCase()}${why.slice(1)}: ${command}`);
  }
}

/** What a command has of its operation. @param own - options that only a terminal needs, or reads otherwise */
export function ofOperation(
  {
    name,
    command = name,
    summary,
    input,
  }: Pick<AnyOperation, 'name' | 'command' | 'summary'> & { readonly input: object },
  own: Fields = {},
): Pick<Command, 'name' | 'summary' | 'fields'> {
  return { name: command, summary, fields: { ...input, ...own } };
}
