/** The `Agent` block: an agent written in a file. Its tools are those that the file names, within the permissions of the process. */
import type { InputFault, Inputs, Need, NodeType } from '../../graph/contracts/node-type.ts';
import { fieldsOf, optionFaults, outputField, readText, textField } from '../../nodes/blocks/fields.ts';
import { schemaDefect } from '../../schema/json-schema.ts';
import { listOf, maxLoops, schemaOf, serversOf } from './agent-inputs.ts';

const names = (description: string): NodeType['inputs'][string] => ({
  schema: { type: 'array', uniqueItems: true, items: { type: 'string', minLength: 1 } },
  kind: 'literal',
  description,
});

/** Makes the block. @param nodeTypes - the blocks that a file may name as tools */
export function agentBlock(nodeTypes: readonly NodeType[]): NodeType {
  const blocks = new Map(nodeTypes.map((type) => [type.name, type]));
  return {
    name: 'Agent',
    description: 'Lets a language model work with tools until it answers.',
    inputs: {
      prompt: textField('What it is asked.', { isRequired: true }),
      instructions: textField('Who it is and what it is to do.'),
      model: textField('A model as `provider:name`, or by the name that the configuration gives it.', {
        default: 'default',
      }),
      workflows: names('Workflows that it may run, by name.'),
      blocks: names('Blocks that it may run, by type, such as ReadFiles; with what the process grants.'),
      servers: {
        schema: { type: 'array', items: { type: 'object', required: ['server'] } },
        description:
          'MCP servers: `server`, and `command` with `args`, `env`, `cwd`, or `url` with `headers`; `only`, `allow`.',
        takesSecrets: true,
      },
      ask_person: {
        schema: { type: 'boolean' },
        kind: 'literal',
        default: true,
        description: 'Whether it may ask a person.',
      },
      allow: names('Tools that act on the world and are called without asking a person first.'),
      output_schema: {
        schema: { type: ['object', 'string'] },
        description: 'The JSON Schema that the answer must fit, or its text.',
      },
      ...fieldsOf([maxLoops]),
    },
    outputs: {
      response: { schema: {}, description: 'The value that fits the schema, or without one `{ content }`.' },
      success: outputField('boolean', 'True: an agent that gives no fitting answer fails the block.'),
    },
    // The agent may ask a person. The effect class tells readers of the plan.
    effect: 'human',
    calls: ({ workflows }) => listOf(workflows),
    needs: (inputs, pending = []) => needsOf(blocks, inputs, pending),
    check: (inputs) => faultsOf(blocks, inputs),
    run: async (ctx) => {
      // Loaded on demand, because most files have no agent.
      const { runAgent } = await import('./run-agent.ts');
      return runAgent(blocks, ctx);
    },
  };
}

/** What the agent needs: its model, the programs and hosts of its MCP servers, and whatever the blocks that are its tools might need. */
function needsOf(blocks: ReadonlyMap<string, NodeType>, inputs: Inputs, pending: readonly string[]): readonly Need[] {
  const model = pending.includes('model') ? undefined : (readText(inputs, 'model') ?? 'default');
  const servers = pending.includes('servers') ? [] : serversOf(inputs);
  return [
    { kind: 'model', name: model },
    ...servers.map(({ config }): Need =>
      'url' in config ? { kind: 'net', host: new URL(config.url).host } : { kind: 'shell' },
    ),
    ...listOf(inputs['blocks']).flatMap((name) => {
      const type = blocks.get(name);
      return type?.needs?.({}, Object.keys(type.inputs)) ?? [];
    }),
  ];
}

function faultsOf(blocks: ReadonlyMap<string, NodeType>, inputs: Inputs): readonly InputFault[] {
  const faults = [...optionFaults([maxLoops], inputs)];
  for (const name of listOf(inputs['blocks'])) {
    const type = blocks.get(name);
    if (type === undefined || type.effect === 'human') {
      const known = [...blocks.values()].filter(({ effect }) => effect !== 'human').map((one) => one.name);
      const message = type === undefined ? `there is no block ${name}` : `${name} asks, and is no tool`;
      faults.push({ input: 'blocks', message, fix: `there are: ${known.join(', ')}` });
    }
  }
  for (const [input, read] of [
    ['servers', () => serversOf(inputs)],
    ['output_schema', () => checkSchema(inputs)],
  ] as const)
    try {
      read();
    } catch (error) {
      faults.push({ input, message: (error as Error).message, fix: `change ${input}` });
    }
  return faults;
}

function checkSchema(inputs: Inputs): void {
  const schema = schemaOf(inputs);
  const defect = schema === undefined ? undefined : schemaDefect(schema);
  if (defect !== undefined) throw new Error(defect);
}
