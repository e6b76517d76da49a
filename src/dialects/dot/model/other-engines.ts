/**
 * What files of other engines of this format say in their own way: how those engines read it, and what says the same here. Each was seen in
 * the public files and sources of these engines.
 */

export interface Habit {
  /** The engines, by name. */
  readonly engines: string;
  /** How they read it. */
  readonly reads: string;
  /** What to write here. */
  readonly write: string;
}

const habit = (engines: string, reads: string, write: string): Habit => ({ engines, reads, write });

const shapes: Readonly<Record<string, Habit>> = {
  tab: habit('Fabro', 'a prompt that is asked once', 'shape=box'),
  circle: habit('Attractor’s own semport file', 'the start', 'shape=Mdiamond'),
  doublecircle: habit('Attractor’s own semport file', 'the exit', 'shape=Msquare'),
  octagon: habit(
    'Mammoth',
    'a verification',
    'shape=parallelogram with a tool_command, or shape=box with goal_gate=true',
  ),
  folder: habit('Amplifier', 'a pipeline that is run', 'shape=house with stack.child_dotfile'),
  trapezium: habit('Kilroy', 'the beginning of a loop', 'an edge that leads back, with a condition'),
  invtrapezium: habit('Kilroy', 'the end of a loop', 'an edge that leads back, with a condition'),
  insulator: habit('Fabro', 'a wait', 'shape=hexagon to wait for a person, or a tool_command that sleeps'),
  note: habit('several engines', 'a remark that is not run', 'a comment: // …'),
};

const attributes: Readonly<Record<string, Habit>> = {
  retry_preset: habit('samueljklee/attractor', 'the name of a retry policy', 'retry_policy'),
  context_thread_default: habit('Kilroy', 'the thread of all stages', 'default_thread'),
  mode: habit('Tracker', 'the form of a question', 'human.type: multiple_choice, freeform, yes_no or confirmation'),
  human_freeform: habit('Amplifier', 'a question that takes any text', 'human.type=freeform'),
  freeform: habit(
    'Fabro',
    'an edge that any text takes',
    'human.type=freeform at the stage, and the edge without a label',
  ),
  question: habit('Kilroy', 'what is asked', 'label'),
};

/** Of conditions: outcomes by other words. */
const outcomes: Readonly<Record<string, Habit>> = {
  ok: habit('Kilroy', 'success', 'outcome=success'),
  succeeded: habit('Fabro', 'success', 'outcome=success'),
  failed: habit('Fabro', 'fail', 'outcome=fail'),
  failure: habit('Kilroy', 'fail', 'outcome=fail'),
  error: habit('Kilroy', 'fail', 'outcome=fail'),
  skip: habit('Kilroy', 'skipped', 'outcome=skipped'),
};

const found = (table: Readonly<Record<string, Habit>>, name: string): Habit | undefined =>
  Object.hasOwn(table, name) ? table[name] : undefined;

export const habitOfShape = (shape: string): Habit | undefined => found(shapes, shape);
export const habitOfAttribute = (key: string): Habit | undefined => found(attributes, key);
export const habitOfOutcome = (outcome: string): Habit | undefined => found(outcomes, outcome);

/** How the other engines read it, for a message. */
export const readElsewhere = ({ engines, reads }: Habit): string => `${engines} reads it as ${reads}`;

/** Why a condition cannot be read that has operators of Fabro and Tracker; undefined if it has none there. @param rest - from where it cannot */
export function operatorElsewhere(rest: string): string | undefined {
  const [operator] =
    /^(?:\|\||!(?!=)|<=?|>=?|(?:contains|matches|startswith|endswith|in|not|or|and)\b)/u.exec(rest) ?? [];
  if (operator === undefined) return undefined;
  const way =
    operator === '||' || operator === 'or'
      ? 'write an edge for each alternative'
      : operator === 'and'
        ? 'write &&'
        : operator === '!' || operator === 'not'
          ? 'write !='
          : 'let the stage before decide it: an outcome of its own, or preferred_label';
  return `${operator} is of Fabro and Tracker; ${way}`;
}
