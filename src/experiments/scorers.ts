/** What tells whether an output that changed is better: functions of the original and the changed one. */
import { isDeepStrictEqual } from 'node:util';
import { CairnError } from '../errors.ts';
import { refuseUnknownKeys } from '../graph/known-keys.ts';
import { textOf, type ModelAccess } from '../graph/contracts/model-messages.ts';

/** What a scorer may say in words. A number says how good the changed output is: more is better. */
export type Judged = 'equal' | 'improved' | 'regressed' | 'different';

/** Compares what a run gave with what it gave under a change. */
export interface Scorer {
  readonly name: string;
  /** Whether it asks a model. Such calls are recorded, one for each pair. */
  readonly asksModel?: boolean;
  /** What a person is asked of a pair, who is not told which is which. */
  readonly question?: string;
  /**
   * Absent of a scorer that asks a person.
   * @param original - what the run gave, or what was expected
   * @param changed - what it gave under the change
   * @param models - of a scorer that asks one
   */
  readonly score?: (
    original: unknown,
    changed: unknown,
    models?: ModelAccess,
  ) => Promise<Judged | number> | Judged | number;
}

/** A value in an output, by a dotted path. */
function valueAt(output: unknown, path: string): unknown {
  return path
    .split('.')
    .reduce<unknown>((at, key) => (at as Readonly<Record<string, unknown>> | null | undefined)?.[key], output);
}

/** Equal or different, at a path of what is compared. Default: all of it. */
export function exact(path?: string): Scorer {
  const partOf = (output: unknown): unknown => {
    const part = path === undefined ? undefined : valueAt(output, path);
    // Where the path leads nowhere it says nothing: two outputs are not equal because neither has it.
    return part === undefined ? output : part;
  };
  return {
    name: path === undefined ? 'exact' : `exact ${path}`,
    score: (original, changed) => (isDeepStrictEqual(partOf(original), partOf(changed)) ? 'equal' : 'different'),
  };
}

/** How a model judges. */
export interface JudgeOptions {
  /** `provider:name`, or a name of the configuration. */
  readonly model: string;
  /** By what it judges, in words. */
  readonly rubric: string;
}

/** A model says how good an output is, from 0 to 1, by a rubric. It sees one output at a time, and not which arm it is of. */
export function judge(options: JudgeOptions): Scorer {
  refuseUnknownKeys('judge', options, ['model', 'rubric']);
  const { model, rubric } = options;
  return {
    name: 'judge',
    asksModel: true,
    score: async (_, changed, models) => {
      const content = `${rubric}\n\nWhat is judged:\n${JSON.stringify(changed)}\n\nAnswer with a number from 0 to 1 alone.`;
      const answer = await models?.generate({ model, messages: [{ role: 'user', content }] });
      const rating = Number(textOf(answer?.content ?? '').trim());
      if (!(rating >= 0 && rating <= 1))
        throw new CairnError('NODE_OUTPUT_INVALID', { node: 'judge', reason: 'the model gave no number from 0 to 1' });
      return rating;
    },
  };
}

/** How people judge. */
export interface ReviewOptions {
  /** What they are asked of each pair: `Which letter would you send?` */
  readonly prompt: string;
}

/** A person says which of two outputs is better, by a question in the inbox for each pair that is not equal. The experiment waits for them. */
export function review(options: ReviewOptions): Scorer {
  refuseUnknownKeys('review', options, ['prompt']);
  return { name: 'review', question: options.prompt };
}
