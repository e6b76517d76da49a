/** The tool `fork_checkpoint`: made of its operation, but that it follows the new run and asks the person what that asks. */
import { perform } from '../../operations/contract/perform.ts';
import { forkRun, type ForkRunInput } from '../../operations/runs/fork-run.ts';
import { readStanding } from '../../operations/runs/read-standing.ts';
import type { JsonSchema } from '../ask/ask-client.ts';
import { inputOf, tellPart, toolOf } from './derived-tool.ts';
import { converse } from './resume-workflow.ts';
import { followRun, runsWorkflows, showStanding, standingSchema, type AnyTool } from './tool.ts';

const derived = toolOf(forkRun);
const { earlier } = derived.output['properties'] as Readonly<Record<'earlier', JsonSchema>>;

export const forkCheckpoint: AnyTool = {
  ...derived,
  output: { ...standingSchema, properties: { ...(standingSchema['properties'] as object), earlier } },
  hints: { ...runsWorkflows, isDestructive: false },
  async run(call, given) {
    const { context } = call;
    const { run, ...input } = inputOf(forkRun, given) as unknown as ForkRunInput;
    const made = await perform(forkRun, context, input);
    const { runId } = made.fork;
    const standing =
      run === true
        ? await converse(call, () => followRun(call, runId))
        : await showStanding(context, await perform(readStanding, context, { run: runId }));
    if ('inputRequired' in standing || made.earlier === undefined) return standing;
    return {
      ...standing,
      content: { ...standing.content, earlier: tellPart(context, made.earlier, forkRun, 'earlier') },
    };
  },
};
