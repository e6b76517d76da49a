/** A stage for an agent: a model that works with tools until it answers. Its model calls and its tool calls are steps: a kill repeats none. */
import {
  stageTools,
  type StageAgent,
  type StageAgentRequest,
  type StageTool,
  type ToolHooks,
} from '../../../../graph/contracts/stage-agent.ts';
import type { Stage } from '../../model/pipeline.ts';
import { inAttempts } from '../stage/attempts.ts';
import { askingOf, modelNameOf, outcomeOf, settingsOf, shownHead } from './codergen.ts';
import { asText } from '../context/context-keys.ts';
import type { Asking, StageContext, StageHandler } from '../stage/stage-parts.ts';
import type { StageOutcome } from '../stage/stage-outcome.ts';

/** @param isGranted - held against the places of files when they are used. Default: all is granted */
export function agentHandler(agent: StageAgent, isGranted?: StageAgentRequest['isGranted']): StageHandler {
  return {
    needs: (stage, folder) => [
      { kind: 'model', name: modelNameOf(stage) },
      ...agent.needs(toolsIn(stage, 'tools'), folder),
      ...(hookNames.some((name) => stage.attributes.text(name) !== '') ? [{ kind: 'shell' } as const] : []),
    ],
    asks: askingOf,
    run: (stage) => inAttempts(stage, (attempt) => work(stage, agent, { attempt, ...(isGranted && { isGranted }) })),
  };
}

const hookNames = ['tool_hooks.pre', 'tool_hooks.post'] as const;

async function work(
  stage: StageContext,
  agent: StageAgent,
  given: Pick<StageAgentRequest, 'attempt' | 'isGranted'>,
): Promise<StageOutcome> {
  const { ctx, parts, attributes } = stage;
  const { earlier, prompt } = stage.asking as Asking;
  const loopsMax = attributes.integer('max_turns');
  const hooks = hooksOf(stage);
  const answer = await agent.run(ctx, {
    model: modelNameOf(parts.stage),
    messages: [...earlier, { role: 'user', content: prompt }],
    tools: toolsIn(parts.stage, 'tools'),
    allow: toolsIn(parts.stage, 'allow_tools'),
    folder: parts.folder,
    counted: ['tokens', 'seconds'].filter((unit) => ctx.isBudgeted?.(unit) === true),
    ...given,
    ...(loopsMax !== undefined && { loopsMax }),
    ...(parts.timeoutMs !== undefined && { timeoutMs: parts.timeoutMs }),
    settings: settingsOf(parts.stage),
    ...(hooks !== undefined && { hooks }),
  });
  const outcome = outcomeOf(stage, answer);
  return {
    ...outcome,
    contextUpdates: { ...outcome.contextUpdates, last_response: shownHead(answer) },
    response: answer,
  };
}

/** The tools that an attribute names. Other names are left out here, since the lint reports them. */
function toolsIn({ attributes }: Stage, attribute: string): readonly StageTool[] {
  const named = attributes.list(attribute);
  return stageTools.filter((tool) => named.includes(tool));
}

function hooksOf({ parts, attributes, value }: StageContext): ToolHooks | undefined {
  const [pre, post] = hookNames.map((name) => attributes.text(name) || parts.graph.text(name));
  if (pre === '' && post === '') return undefined;
  const params = parts.params.map((name) => [name, asText(value(`graph.${name}`))] as const);
  return {
    env: { ...Object.fromEntries(params), CAIRN_STAGE: parts.stage.id },
    ...(pre !== undefined && pre !== '' && { pre }),
    ...(post !== undefined && post !== '' && { post }),
  };
}
