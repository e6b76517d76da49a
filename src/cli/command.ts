/** What a command is: data that is parsed, explained and executed alike for all of them. */
import type { Fields } from '../operations/declare/operation.ts';
import type { Session } from './session.ts';

export interface Example {
  readonly line: string;
  readonly does: string;
}

/** A command of the command line. Its options are the fields of its operation, and what only a terminal needs. */
export interface Command<Input extends object = object> {
  readonly name: string;
  /** One line. */
  readonly summary: string;
  readonly fields: Fields;
  /** What `--help` says besides: a few sentences. */
  readonly details?: string;
  readonly examples: readonly Example[];
  /** Does it, prints, and returns the exit code. Declared as a method, so that commands of any input fit one list. */
  execute(session: Session, input: Input): Promise<number>;
}
