/** One change of meaning that some test must notice. */
export interface Mutant {
  /** What the changed code would do wrong, in words. */
  readonly name: string;
  readonly file: string;
  /** A text that the file holds exactly once. */
  readonly old: string;
  readonly new: string;
  /** The test files of which at least one must fail. */
  readonly tests: readonly string[];
  /** Why no test can notice it: it is listed, and not tried. */
  readonly equivalent?: string;
}
