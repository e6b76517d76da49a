/** What a deploy changes of agents in the middle of their work, as far as their definitions tell: in code, in YAML and in DOT (X5.4). */
import type { Graph, GraphStructure } from '../../graph/graph.ts';
import { schemaFault, type Schema } from '../../schema/json-schema.ts';
import type { RunTree, WaitRecord } from '../../state/tree.ts';
import type { RunFinding } from '../run-check.ts';

type Data = Readonly<Record<string, unknown>>;

/** An agent by its parts, in the words in which the history tells that they have changed. */
interface AgentDefinition {
  readonly parts: ReadonlyMap<string, unknown>;
  /** Its tools by name; undefined where only their names are known. */
  readonly tools: ReadonlyMap<string, Data | undefined>;
}

const asData = (value: unknown): Data => (typeof value === 'object' && value !== null ? (value as Data) : {});
const asList = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : []);
const asTexts = (value: unknown): readonly string[] =>
  asList(value).filter((one): one is string => typeof one === 'string');

const nodeOf = (structure: GraphStructure, id: string): Data | undefined =>
  structure.nodes.find((node) => node['id'] === id);

/** What a conversation keeps as it began, whatever it is now. */
const stays = ' (stays as it was)';

/** Of a node of code. What it does not have is left out of its configuration. */
function ofCode(config: Data): AgentDefinition {
  const { instructions, prompt, mode, output, settings } = config;
  const { model, tools, ...others } = asData(settings);
  const named = asList(tools).map((tool) => [String(asData(tool)['name']), asData(tool)] as const);
  return { parts: partsOf({ instructions, prompt, mode, model, output, settings: others }), tools: new Map(named) };
}

/** Of a block of a YAML workflow. */
function ofBlock({ inputs }: Data): AgentDefinition {
  const { instructions, prompt, mode, model, output_schema: output, blocks, workflows, shell } = asData(inputs);
  const names = [
    ...asTexts(blocks),
    ...asTexts(workflows).map((name) => name.replaceAll(/[^A-Za-z0-9_-]/gu, '_')),
    ...(shell === true ? ['shell'] : []),
  ];
  return {
    parts: partsOf({ instructions, prompt, mode, model, output }),
    tools: new Map(names.map((name) => [name, undefined])),
  };
}

/** Of a stage of a pipeline; undefined if it is no agent. Its tools are groups. */
function ofStage({ attributes }: Data): AgentDefinition | undefined {
  const { prompt, llm_model: model, tools } = asData(attributes);
  if (typeof tools !== 'string') return undefined;
  const names = tools.split(',').map((name) => name.trim());
  return { parts: partsOf({ prompt, model }), tools: new Map(names.map((name) => [name, undefined])) };
}

function partsOf({
  instructions,
  prompt,
  mode,
  model,
  output,
  settings,
}: Readonly<
  Partial<Record<'instructions' | 'prompt' | 'mode' | 'model' | 'output' | 'settings', unknown>>
>): AgentDefinition['parts'] {
  return new Map([
    ['instructions', instructions],
    [`prompt${stays}`, prompt],
    [`mode${stays}`, mode],
    ['model', model],
    ['answer form', output],
    ['settings', settings],
  ]);
}

function agentIn(node: Data | undefined): AgentDefinition | undefined {
  const config = asData(node?.['config']);
  if (node?.['type'] === 'agent') return ofCode(config);
  if (node?.['type'] === 'Agent') return ofBlock(config);
  return node?.['type'] === 'codergen' ? ofStage(config) : undefined;
}

/** Agents in the middle of their conversation that are other ones now. */
export function ofAgents(stored: GraphStructure, { structure }: Graph, { frame }: RunTree): readonly RunFinding[] {
  return Object.entries(frame.nodes).flatMap(([node, { fired }]): readonly RunFinding[] => {
    const [before, after] = [agentIn(nodeOf(stored, node)), agentIn(nodeOf(structure, node))];
    if (fired !== undefined || before === undefined || after === undefined) return [];
    return changesOf(before, after).map((why) => ({ kind: 'agent', node, why }));
  });
}

function changesOf(before: AgentDefinition, after: AgentDefinition): readonly string[] {
  const parts = [...before.parts].flatMap(([name, value]) =>
    isSame(value, after.parts.get(name)) ? [] : [`${name} changed`],
  );
  const names = [...new Set([...before.tools.keys(), ...after.tools.keys()])];
  const tools = names.flatMap((name) => {
    if (!after.tools.has(name)) return [`tool ${name} removed`];
    if (!before.tools.has(name)) return [`tool ${name} added`];
    return isSame(before.tools.get(name), after.tools.get(name)) ? [] : [`tool ${name} changed`];
  });
  return [...parts, ...tools];
}

const isSame = (a: unknown, b: unknown): boolean => JSON.stringify(a) === JSON.stringify(b);

/** Approvals of tools that are gone, or whose schema the arguments do not fit any more. */
export function ofApprovals(stored: GraphStructure, { structure }: Graph, { waits }: RunTree): readonly RunFinding[] {
  return Object.values(waits).flatMap((wait): readonly RunFinding[] => {
    const { tool, args } = approvedCall(wait);
    const [id = ''] = wait.node;
    const [before, agent] = [agentIn(nodeOf(stored, id)), agentIn(nodeOf(structure, id))];
    // Tools of servers are in no definition.
    if (tool === undefined || agent === undefined || before?.tools.has(tool) !== true) return [];
    if (!agent.tools.has(tool))
      return [{ kind: 'asks', node: id, why: `the approval of ${tool} is closed: the tool is gone` }];
    const { inputSchema, input } = asData(agent.tools.get(tool)) as {
      readonly inputSchema?: Schema;
      readonly input?: Schema;
    };
    const schema = inputSchema ?? input;
    const fault = schema === undefined ? undefined : schemaFault(schema, args, 'arguments');
    return fault === undefined ? [] : [{ kind: 'asks', node: id, why: `the approval of ${tool} is closed: ${fault}` }];
  });
}

function approvedCall({ metadata }: WaitRecord): { readonly tool?: string; readonly args?: unknown } {
  const { tool, args, arguments: given } = asData(metadata);
  return typeof tool === 'string' ? { tool, args: args ?? given } : {};
}
