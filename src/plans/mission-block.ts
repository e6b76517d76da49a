/** The block `Mission`: a goal, agents, and a plan of who does what, which a model makes or the file gives. */
import type { InputFault, Inputs, JsonSchema, NodeType } from '../graph/contracts/node-type.ts';
import {
  choiceOption,
  fieldsOf,
  literal,
  numberOption,
  optionFaults,
  readText,
  requireText,
  textField,
} from '../nodes/blocks/block-options.ts';
import { agentBlock } from '../agents/block/agent-block.ts';
import { schemaFault } from '../schema/json-schema.ts';
import { isPlainObject } from '../state/values/plain-object.ts';
import { planSchema, type Plan } from './plan.ts';
import type { Autonomy } from './planned-node.ts';

const autonomy = choiceOption(
  'autonomy',
  'How far it goes without a person: `none` asks about each plan, `guided` about those that may act, `full` about none.',
  ['none', 'guided', 'full'],
  literal,
);
const maxTasks = numberOption('max_tasks', 'Tasks of a plan, at most.', { default: 50, min: 1, max: 1_000 }, literal);
const maxDepth = numberOption(
  'max_depth',
  'The longest chain of tasks that need one another.',
  { default: 10, min: 1, max: 1_000 },
  literal,
);
const options = [autonomy, maxTasks, maxDepth];

const fields: NodeType['inputs'] = {
  goal: textField('What is to be reached. The planner and each agent are told it.', { isRequired: true }),
  agents: {
    schema: { type: 'object', minProperties: 1, additionalProperties: { type: 'object' } },
    kind: 'literal',
    description:
      'Who does the tasks, by name: each has the inputs of an `Agent` block without its prompt, and a `description`.',
    isRequired: true,
  },
  planner: textField('The model that makes the plan. Without one, `plan` is the plan.'),
  planner_instructions: textField('What the planner is told beside the goal and the agents.'),
  plan: {
    schema: { type: 'object' },
    description: 'The plan: `tasks`, each with `id`, `agent`, `task` and `needs`.',
  },
  ...fieldsOf(options),
};

/** Makes the block. @param nodeTypes - the blocks that a file may name as tools of its agents */
export function missionBlock(nodeTypes: readonly NodeType[]): NodeType {
  const single = agentBlock(nodeTypes);
  const schema = agentSchema(single);
  const each = <Value>(inputs: Inputs, read: (agent: Inputs, name: string) => readonly Value[]): readonly Value[] =>
    Object.entries(agentsOf(inputs)).flatMap(([name, agent]) => read(agent, name));
  return {
    name: 'Mission',
    description: 'Lets agents reach a goal by a plan of tasks, which a model makes or the file gives.',
    inputs: fields,
    outputs: {
      results: { schema: { type: 'object' }, description: 'What each task gave, by its id.' },
      plan: { schema: { type: 'object' }, description: 'The plan, as it was approved.' },
    },
    // It may ask about the plan. The effect class tells readers of the plan.
    effect: 'human',
    calls: (inputs) => each(inputs, (agent) => single.calls?.(agent) ?? []),
    tools: (literals, workflow) =>
      each(literals, (agent, name) =>
        (single.tools?.(agent, workflow, []) ?? []).map((tool) => ({ ...tool, name: `${name}.${tool.name}` })),
      ),
    needs: (inputs, pending = []) => [
      ...(inputs['planner'] === undefined && !pending.includes('planner')
        ? []
        : [{ kind: 'model', name: readText(inputs, 'planner') } as const]),
      ...each(inputs, (agent) => single.needs?.(agent) ?? []),
    ],
    check: (inputs) => [
      ...optionFaults(options, inputs),
      ...planFaults(inputs),
      ...each(inputs, (agent, name): readonly InputFault[] => {
        const fault = schemaFault(schema, agent, `agents.${name}`);
        if (fault !== undefined)
          return [{ input: 'agents', message: fault, fix: 'give it the inputs of an `Agent` block' }];
        return (single.check?.({ ...agent, prompt: name }) ?? []).map(({ message, fix }) => ({
          input: 'agents',
          message: `${name}: ${message}`,
          fix,
        }));
      }),
    ],
    run: async (ctx) => {
      // Loaded on demand, because most files have no mission.
      const { runMission } = await import('./run-mission.ts');
      const { inputs } = ctx;
      const planner = readText(inputs, 'planner');
      const instructions = readText(inputs, 'planner_instructions');
      return runMission(ctx, {
        blocks: new Map(nodeTypes.map((type) => [type.name, type])),
        goal: requireText(inputs, 'goal'),
        agents: agentsOf(inputs),
        planner:
          planner === undefined ? undefined : { model: planner, ...(instructions !== undefined && { instructions }) },
        plan: inputs['plan'] as Plan | undefined,
        autonomy: autonomy.read(inputs) satisfies Autonomy,
        limits: { maxTasks: maxTasks.read(inputs), maxDepth: maxDepth.read(inputs) },
      });
    },
  };
}

function agentsOf({ agents }: Inputs): Readonly<Record<string, Inputs>> {
  if (!isPlainObject(agents)) return {};
  return Object.fromEntries(
    Object.entries(agents).filter((entry): entry is [string, Inputs] => isPlainObject(entry[1])),
  );
}

/** Its inputs, but for the prompt, which is the task. */
function agentSchema({ inputs }: NodeType): JsonSchema {
  const fields = Object.entries(inputs).filter(([name]) => name !== 'prompt');
  return {
    type: 'object',
    additionalProperties: false,
    properties: {
      description: { type: 'string' },
      ...Object.fromEntries(fields.map(([name, field]) => [name, field.schema])),
    },
  };
}

function planFaults(inputs: Inputs): readonly InputFault[] {
  const { planner, plan } = inputs;
  if ((planner === undefined) === (plan === undefined))
    return [{ input: 'plan', message: 'a mission has a planner or a plan', fix: 'give one of the two' }];
  const fault = plan === undefined ? undefined : schemaFault(planSchema(Object.keys(agentsOf(inputs))), plan, 'plan');
  return fault === undefined
    ? []
    : [{ input: 'plan', message: fault, fix: 'write `tasks: [{ id, agent, task, needs }]`' }];
}
