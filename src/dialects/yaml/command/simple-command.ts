/** A command of a shell script, in words. */

export interface WordReference {
  readonly offset: number;
  /** Number of characters of the word that are before it. */
  readonly at: number;
  /** Whether it is inside of a command whose output is part of the word. */
  readonly isIndirect: boolean;
}

/** A word without quotes. References contribute nothing to its text. */
export interface Word {
  readonly text: string;
  readonly references: readonly WordReference[];
}

export interface SimpleCommand {
  readonly assignments: readonly Word[];
  /** The command's name and arguments. */
  readonly words: readonly Word[];
}

/** The name of a program without its folder. */
export const baseName = ({ text }: Word): string => text.slice(text.lastIndexOf('/') + 1);
