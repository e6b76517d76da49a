/** YAML workflows with a little less in them, for a failure that can be read. */
import { parse, stringify } from 'yaml';
import type { CrashProcess } from '../../src/testing/crash-kit/process-life.ts';
import { withEach, withoutEach, type Property } from './smallest.ts';
import { buildYamlPlan, type YamlPlan } from './yaml-plan.ts';

type Fields = Readonly<Record<string, unknown>>;

interface Workflow {
  readonly blocks: readonly (Fields & { readonly id: string })[];
  readonly outputs?: Fields;
}

/** How a workflow that fails is made smaller and told. */
export const yamlProperty: Pick<Property<YamlPlan>, 'smaller' | 'isValid' | 'describe'> = {
  smaller: smallerYaml,
  isValid: isReadable,
  describe: ({ text, others }) => {
    const called = Object.entries(others).filter(([name]) => text.includes(`workflow: ${name}`));
    return [text, ...called.map(([, other]) => other)].join('---\n');
  },
};

function isReadable(plan: YamlPlan): boolean {
  const process = { oracle: undefined, sleep: undefined } as unknown as CrashProcess;
  try {
    buildYamlPlan(plan, process);
    return true;
  } catch {
    return false;
  }
}

/** Without a block, or with a block that has a field or a need less; of called workflows too. */
function* smallerYaml(plan: YamlPlan): Generator<YamlPlan> {
  for (const text of smallerTexts(plan.text)) yield { ...plan, text };
  for (const [name, other] of Object.entries(plan.others))
    for (const text of smallerTexts(other)) yield { ...plan, others: { ...plan.others, [name]: text } };
}

function* smallerTexts(text: string): Generator<string> {
  const workflow = parse(text) as Workflow;
  const { blocks } = workflow;
  for (const { id } of blocks.toReversed()) if (blocks.length > 1) yield stringify(withoutBlock(workflow, id));
  for (const smaller of withEach(blocks, smallerBlocks)) yield stringify({ ...workflow, blocks: smaller });
}

/** What named the block names it no more; where that leaves nonsense, the workflow is refused and not counted. */
function withoutBlock(workflow: Workflow, id: string): Workflow {
  const isNamed = (value: unknown): boolean => new RegExp(`\\b${id}\\b`).test(JSON.stringify(value));
  const strip = (value: unknown): unknown => {
    if (typeof value === 'string') return value.replaceAll(/\$\{[^}]*\}/g, (part) => (isNamed(part) ? 'gone' : part));
    if (Array.isArray(value)) return value.filter((item) => item !== id && (item as Fields)['block'] !== id).map(strip);
    if (typeof value !== 'object' || value === null) return value;
    return Object.fromEntries(Object.entries(value).map(([key, field]) => [key, strip(field)]));
  };
  const outputs = Object.entries(workflow.outputs ?? {}).filter(([, value]) => !isNamed(value));
  const blocks = workflow.blocks.filter((block) => block.id !== id).map((block) => strip(block));
  return { ...workflow, blocks, outputs: Object.fromEntries(outputs) } as Workflow;
}

function* smallerBlocks(block: Workflow['blocks'][number]): Generator<Workflow['blocks'][number]> {
  for (const key of Object.keys(block)) {
    if (['id', 'type', 'inputs'].includes(key)) continue;
    const { [key]: _, ...rest } = block;
    yield rest as typeof block;
  }
  const { depends_on: needs } = block;
  if (Array.isArray(needs)) for (const fewer of withoutEach(needs)) yield { ...block, depends_on: fewer };
}
