/** The agent of stages in workflows written as text. */
import type { StageAgent } from '../../graph/contracts/stage-agent.ts';
import { pathNeeds } from '../../nodes/file/local-path.ts';

/** An agent that works on the files of this machine; pass it to `readDot` for pipelines whose stages have `tools`. */
export function stageAgent(): StageAgent {
  return {
    needs: (tools, folder) => [
      ...(tools.includes('read') || tools.includes('write') ? pathNeeds(folder) : []),
      ...(tools.includes('shell') ? [{ kind: 'shell' } as const] : []),
    ],
    run: async (ctx, request) => {
      // Most pipelines have no agent: what works for one is loaded when it is needed.
      const { runStageAgent } = await import('./run-stage-agent.ts');
      return runStageAgent(ctx, request);
    },
  };
}
