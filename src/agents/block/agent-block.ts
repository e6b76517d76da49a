/** The `Agent` block: an agent written in a file. Its tools are those that the file names, within the permissions of the process. */
import type { InputFault, Inputs, Need, NodeType } from '../../graph/contracts/node-type.ts';
import { fieldsOf, optionFaults, outputField, readText, textField } from '../../nodes/blocks/block-options.ts';
import { pathNeeds } from '../../nodes/file/local-path.ts';
import { isPlainObject } from '../../state/values/plain-object.ts';
import { historyFault } from '../history/conversation.ts';
import {
  callOptions,
  historyField,
  historyOf,
  isReadOnly,
  listOf,
  maxLoops,
  onChange,
  mode,
  modelField,
  schemaField,
  serversOf,
  showsImages,
  usesShell,
  checkSchema,
  plannedTools,
} from './agent-block-tools.ts';

const options = [maxLoops, mode, onChange, usesShell, isReadOnly, showsImages, ...callOptions];

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
      model: modelField,
      fallbacks: names('Models that are asked in turn where the ones before give no answer.'),
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
      files: textField('A folder whose files it may list, search, read, write and edit; writing asks first.'),
      history: historyField,
      output_schema: schemaField('The JSON Schema that the answer must fit, or its text.'),
      ...fieldsOf(options),
    },
    outputs: {
      response: { schema: {}, description: 'The value that fits the schema, or without one `{ content }`.' },
      success: outputField('boolean', 'True: an agent that gives no fitting answer fails the block.'),
    },
    // The agent may ask a person. The effect class tells readers of the plan.
    effect: 'human',
    limitsItsCalls: true,
    calls: ({ workflows }) => listOf(workflows),
    tools: (literals, workflow, pending) => plannedTools(blocks, literals, workflow, pending),
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
    ...listOf(inputs['fallbacks']).map((name): Need => ({ kind: 'model', name })),
    ...summaryNeeds(inputs),
    ...(inputs['files'] === undefined && !pending.includes('files') ? [] : pathNeeds(inputs['files'])),
    ...(usesShell.read(inputs) ? [{ kind: 'shell' } as const] : []),
    ...servers.map(({ config }): Need =>
      'url' in config ? { kind: 'net', host: new URL(config.url).host } : { kind: 'shell' },
    ),
    ...listOf(inputs['blocks']).flatMap((name) => {
      const type = blocks.get(name);
      return type?.needs?.({}, Object.keys(type.inputs)) ?? [];
    }),
  ];
}

/** A model of its own that tells older messages in short. */
function summaryNeeds({ history }: Inputs): readonly Need[] {
  const { summary } = (history ?? {}) as { readonly summary?: unknown };
  return isPlainObject(summary) && typeof summary['model'] === 'string'
    ? [{ kind: 'model', name: summary['model'] }]
    : [];
}

/** A call of a block is one step. */
function isTool({ effect, isComposed }: NodeType): boolean {
  return effect !== 'human' && isComposed !== true;
}

function faultsOf(blocks: ReadonlyMap<string, NodeType>, inputs: Inputs): readonly InputFault[] {
  const faults = [...optionFaults(options, inputs)];
  if (faults.length === 0) faults.push(...allowFaults(blocks, inputs));
  for (const name of listOf(inputs['blocks'])) {
    const type = blocks.get(name);
    if (type === undefined || !isTool(type)) {
      const known = [...blocks.values()].filter(isTool).map((one) => one.name);
      const message =
        type === undefined ? `there is no block ${name}` : `${name} asks or has steps of its own, and is no tool`;
      faults.push({ input: 'blocks', message, fix: `there are: ${known.join(', ')}` });
    }
  }
  for (const [input, read] of [
    ['servers', () => serversOf(inputs)],
    ['output_schema', () => checkSchema(inputs, 'output_schema')],
    ['history', () => checkHistory(inputs)],
  ] as const)
    try {
      read();
    } catch (error) {
      faults.push({ input, message: (error as Error).message, fix: `change ${input}` });
    }
  return faults;
}

function checkHistory(inputs: Inputs): void {
  const fault = historyFault(historyOf(inputs));
  if (fault !== undefined) throw new Error(fault);
}

/** A name in `allow` that is no tool would allow nothing, and nobody would know. */
function allowFaults(blocks: ReadonlyMap<string, NodeType>, inputs: Inputs): readonly InputFault[] {
  if (inputs['allow'] === undefined) return [];
  const { servers: _, ...own } = inputs;
  const known = plannedTools(blocks, own, () => undefined).map(({ name }) => name);
  const unknown = listOf(inputs['allow']).filter((name) => !known.includes(name));
  return unknown.map((name) => ({
    input: 'allow',
    message: `allow names ${name}, which is none of its tools`,
    fix: `there are: ${known.join(', ') || 'none'}; tools of a server are allowed by its own \`allow\``,
  }));
}
