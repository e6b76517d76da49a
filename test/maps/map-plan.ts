/** Random maps: what their items do, how many have a place at once, and whether failures are gathered. */
import { createSeededRandom, type SeededRandom } from '../../src/ports/seeded-random.ts';
import { withEach, withoutEach } from '../support/smallest.ts';

/** What an item does in one of its calls: something outside, a question, or work that leaves no trace. */
export type Call = 'act' | 'ask' | 'work';

export interface MapItemPlan {
  /** One after the other, but for those of the form `beside`. */
  readonly calls: readonly Call[];
  /** Its last call fails, or its effect where a question is asked beside it. */
  readonly fails: boolean;
  /** How many turns of the event loop each of its calls takes. */
  readonly turns: number;
}

/**
 * How the items are written. `steps`: each is a step of a map node; `graphs`: a child run with a composed node; `nodes`: a child run with a
 * node for the question and one for the effect; `beside`: the same, side by side. `blocks`, `interviews`, `workflows`: a for_each over a
 * block with an effect, over a block that asks, and over workflows.
 */
export const mapForms = ['steps', 'graphs', 'nodes', 'beside', 'blocks', 'interviews', 'workflows'] as const;
export type MapForm = (typeof mapForms)[number];

export interface MapPlan {
  readonly seed: number;
  readonly form: MapForm;
  readonly places: number;
  /** Whether one item ends before the next begins, whatever it waits for. */
  readonly isSequential: boolean;
  /** Whether all items are gone through though some fail. */
  readonly gathers: boolean;
  readonly items: readonly MapItemPlan[];
}

/** The calls that an item of each form may make. */
const callsOf: Readonly<Record<MapForm, readonly (readonly Call[])[]>> = {
  steps: [['act']],
  blocks: [['act']],
  nodes: [['act'], ['ask', 'act']],
  beside: [['act', 'ask']],
  graphs: [['act'], ['act', 'act'], ['ask'], ['ask', 'act'], ['act', 'ask'], ['work'], ['work', 'act']],
  interviews: [['act'], ['act', 'act'], ['ask'], ['ask', 'act'], ['act', 'ask'], ['work', 'act']],
  workflows: [['act'], ['ask'], ['ask', 'act'], ['work', 'act']],
};

/** The call with which an item fails. */
export function failingCall({ form }: MapPlan, { calls }: MapItemPlan): number {
  return form === 'beside' ? 0 : calls.length - 1;
}

export function isYaml(form: MapForm): boolean {
  return form === 'blocks' || form === 'interviews' || form === 'workflows';
}

export function drawMap(seed: number): MapPlan {
  const random = createSeededRandom(seed);
  const form = random.pick(mapForms);
  const isSequential = isYaml(form) && random.chance(0.3);
  const places = isSequential ? 1 : 1 + random.integer(4);
  const count = 2 + random.integer(4);
  return {
    seed,
    form,
    places,
    isSequential,
    gathers: random.chance(0.25),
    items: Array.from({ length: count }, () => drawItem(random, form)),
  };
}

function drawItem(random: SeededRandom, form: MapForm): MapItemPlan {
  return { calls: random.pick(callsOf[form]), fails: random.chance(0.35), turns: random.integer(6) };
}

export function* smallerMaps(plan: MapPlan): Iterable<MapPlan> {
  if (plan.items.length > 1) for (const items of withoutEach(plan.items)) yield { ...plan, items };
  if (plan.places > 1) yield { ...plan, places: plan.places - 1 };
  for (const items of withEach(plan.items, smallerItems(plan.form))) yield { ...plan, items };
}

const smallerItems = (form: MapForm) =>
  function* (item: MapItemPlan): Iterable<MapItemPlan> {
    if (item.turns > 0) yield { ...item, turns: 0 };
    if (item.fails) yield { ...item, fails: false };
    for (const calls of callsOf[form]) if (calls.length < item.calls.length) yield { ...item, calls };
  };

export function describeMap({ form, places, isSequential, gathers, items }: MapPlan): string {
  const lines = items.map(
    ({ calls, fails, turns }, index) =>
      `  i${index}: ${calls.join(', then ')}${fails ? ', and fails' : ''}${turns === 0 ? '' : ` (${turns} turns a call)`}`,
  );
  const how = `${isSequential ? 'one after the other' : `${places} at once`}${gathers ? ', failures gathered' : ''}`;
  return `a map of ${form}, ${how}:\n${lines.join('\n')}`;
}
