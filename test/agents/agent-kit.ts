/** One agent, the node `a` of a graph, over scripted models and an engine in memory. */
import { agent, type AgentConfig } from '../../src/agents/agent.ts';
import type { EngineOptions } from '../../src/engine/api.ts';
import type { Graph } from '../../src/graph/graph.ts';
import { createScriptedModels, type Script, type ScriptedModels } from '../../src/models/scripted.ts';
import { createBench, edges, graphOf, type Bench } from '../engine-kit.ts';

export interface AgentKit {
  readonly bench: Bench;
  readonly models: ScriptedModels;
  readonly graph: Graph;
}

export function agentKit(
  script: Script,
  config: Partial<AgentConfig> = {},
  more: Partial<EngineOptions> = {},
): AgentKit {
  const models = createScriptedModels(script);
  const worker = { id: 'a', ...agent({ model: 'm', prompt: 'Go.', ...config }) };
  return { bench: createBench({ models, ...more }), models, graph: graphOf('g', [worker], edges('> a', 'a >')) };
}
