/** The tools of one agent by name: what the model is told about each, and what a call runs. */
import { CairnError } from '../../errors.ts';
import { compileGraph } from '../../graph/compile/compile-graph.ts';
import { END, START, type Graph } from '../../graph/graph.ts';
import type { ModelTool, ProviderTool } from '../../graph/contracts/model-contract.ts';
import type { JsonSchema } from '../../graph/contracts/node-type.ts';
import type { NodeDraft } from '../../nodes/draft/node-draft.ts';
import { jsonSchemaOf } from '../../schema/standard-schema.ts';
import type { AgentTool } from './agent-tool.ts';
import { agentTraits } from './agent-traits.ts';
import { checkToolOptions } from './check-tool.ts';
import type { KeptOffer } from '../turn-note.ts';

/** What may be given as a tool: a tool, another agent, or a tool run by the provider. */
export type ToolEntry = AgentTool | NodeDraft | ProviderTool;

/** A tool with its name. */
export interface NamedTool {
  readonly name: string;
  readonly definition: AgentTool;
  /** JSON Schema of the arguments. */
  readonly inputSchema: JsonSchema;
  /** Graph that the tool runs; undefined for functions. */
  readonly graph: Graph | undefined;
  /** Id of the node whose output is the result; undefined if the graph's artifacts are the result. */
  readonly nodeId: string | undefined;
}

/** The tools offered to the model at the moment. */
export interface ToolOffer {
  /** In the order in which they were given. The list is the same object until something changes. */
  readonly offered: readonly (ModelTool | ProviderTool)[];
  find(name: string): NamedTool | undefined;
  readonly names: readonly string[];
  /**
   * Checks for changed tools. Called before each request, and before the calls of each answer.
   * @param place - number of the model's answers so far
   * @param isCaughtUp - whether every recorded answer was used
   */
  check?(place: number, isCaughtUp: boolean): Promise<void>;
  /** What a repeated function needs to offer the same tools after their records were retired. */
  keep?(): KeptOffer;
}

/** The tools that an agent was given. */
export interface ToolBox extends ToolOffer {
  /** The tools' code, as text to hash. */
  readonly codeText: string;
}

/** Names that models accept for tools. */
const namePattern = /^[A-Za-z_][A-Za-z0-9_-]{0,63}$/u;

/** @throws CONFIG_INVALID a name that models do not accept, or a value that is not a tool */
export function createToolBox(tools: Readonly<Record<string, ToolEntry>>): ToolBox {
  const named = new Map<string, NamedTool>();
  const offered: (ModelTool | ProviderTool)[] = [];
  for (const [name, entry] of Object.entries(tools)) {
    if (!namePattern.test(name))
      throw new CairnError('CONFIG_INVALID', {
        reason: `agent: tool ${JSON.stringify(name)}: models know tools by letters, digits, _ and -, 64 at most`,
      });
    if (typeof entry !== 'object' || entry === null) throw noTool(name);
    if ('providerTool' in entry) {
      offered.push({ ...entry, name });
      continue;
    }
    const definition = definitionOf(name, entry);
    const inputSchema = jsonSchemaOf(definition.input, 'input', `tool ${name}: input`);
    named.set(name, { name, definition, inputSchema, ...targetOf(name, definition) });
    offered.push({ name, description: definition.description, inputSchema });
  }
  return {
    offered,
    names: [...named.keys()],
    find: (name) => named.get(name),
    codeText: [...named.values()]
      .map(({ definition }) => ('run' in definition ? String(definition.run) : ''))
      .join('\n'),
  };
}

function definitionOf(name: string, entry: AgentTool | NodeDraft): AgentTool {
  if ('description' in entry) {
    if (!('run' in entry) && !('node' in entry)) throw noTool(name);
    // A tool may be a changed copy of another, which nobody has checked.
    checkToolOptions(`agent: tool ${name}`, entry);
    return entry;
  }
  const traits = 'implementation' in entry ? agentTraits.get(entry.implementation) : undefined;
  if (traits === undefined) throw noTool(name);
  return { ...traits, node: entry };
}

function noTool(name: string): CairnError {
  return new CairnError('CONFIG_INVALID', {
    reason: `agent: tool ${name} is no tool: make one with tool({ description, input, run }), or tool({ description, input, node })`,
  });
}

function targetOf(name: string, definition: AgentTool): Pick<NamedTool, 'graph' | 'nodeId'> {
  if (!('node' in definition)) return { graph: undefined, nodeId: undefined };
  if ('nodeIndex' in definition.node) return { graph: definition.node, nodeId: definition.result };
  const graph = compileGraph({
    id: name,
    nodes: [{ id: name, ...definition.node }],
    edges: [
      { from: START, to: name },
      { from: name, to: END },
    ],
  });
  return { graph, nodeId: name };
}
