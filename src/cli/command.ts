/** What a command is: data from which all commands are parsed, explained and executed in the same way. */
import type { Fields } from '../operations/declare/operation.ts';
import type { Session } from './session.ts';

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
  /**
   * Runs the command, prints its output, and returns the exit code. It is declared as a method so that commands with any type of input fit
   * in one list.
   */
  execute(session: Session, input: Input): Promise<number>;
}
