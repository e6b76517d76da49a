/** A command of a shell script, in words. */

export interface WordReference {
  readonly offset: number;
  /** How much of the word is written before it. */
  readonly at: number;
  /** It stands in a command whose output is part of the word. */
  readonly isIndirect: boolean;
}

/** A word without its quotes; references leave nothing in its text. */
export interface Word {
  readonly text: string;
  readonly references: readonly WordReference[];
}

export interface SimpleCommand {
  readonly assignments: readonly Word[];
  /** Its name, and what it is given. */
  readonly words: readonly Word[];
}

/** The name of a program without its folder. */
export const baseName = ({ text }: Word): string => text.slice(text.lastIndexOf('/') + 1);
