/** What of a workflow its conversion does not carry over, or says otherwise. */

/**
 * Why something does not carry over. Codes are API.
 *
 * - `WORK`: what a node, block or stage does. `CODE`: a function of a program.
 * - `CONDITION`: what decides on the way. `LOOP`: a way back. `GATE`: a goal gate. `PARALLEL`: work side by side.
 * - `INPUT`, `OUTPUT`, `VALUE`: inputs, outputs, and values that pass from one to another. `TEXT`: a text that would mean something else.
 * - `PROMPT`: the prompt of a model. `ANSWER`: how a person is asked and answers. `REPORT`: what a command reports of itself.
 * - `SETTING`: any other attribute or field. `NAME`: an id or a name that the other dialect cannot have.
 * - `NOTHING`: nothing remains that runs without a person.
 */
export type NoteCode =
  | 'WORK'
  | 'CODE'
  | 'CONDITION'
  | 'LOOP'
  | 'GATE'
  | 'PARALLEL'
  | 'INPUT'
  | 'OUTPUT'
  | 'VALUE'
  | 'TEXT'
  | 'PROMPT'
  | 'ANSWER'
  | 'REPORT'
  | 'SETTING'
  | 'NAME'
  | 'NOTHING';

export interface ConversionNote {
  readonly code: NoteCode;
  /** `lost`: a run may do something else than before. `changed`: it does the same, though the text says it otherwise, or says less. */
  readonly severity: 'lost' | 'changed';
  /** Where it stands in the workflow that was converted. */
  readonly place: string;
  /** What does not carry over, and what stands in for it. */
  readonly message: string;
  /** What to do about it. */
  readonly fix: string;
}

/** Collects notes, each once. */
export class Notes {
  readonly #notes = new Map<string, ConversionNote>();

  lost(code: NoteCode, place: string, message: string, fix: string): void {
    this.#add({ code, severity: 'lost', place, message, fix });
  }
  changed(code: NoteCode, place: string, message: string, fix: string): void {
    this.#add({ code, severity: 'changed', place, message, fix });
  }
  #add(note: ConversionNote): void {
    this.#notes.set(JSON.stringify(note), note);
  }
  /** In the order of their places where these are lines of one file, else as they were added. */
  get all(): readonly ConversionNote[] {
    const lineOf = ({ place }: ConversionNote): number => Number(/:(\d+)(?::\d+)?$/.exec(place)?.[1] ?? 0);
    return [...this.#notes.values()].toSorted((a, b) => lineOf(a) - lineOf(b));
  }
}
