/** The tool `signal_with_start`: as its operation, but what is started is a workflow by its name. A model names no file. */
import { signalWithStart as operation } from '../../operations/waits/signal-with-start.ts';
import { toolOf } from './derived-tool.ts';
import type { AnyTool } from './tool.ts';

const derived = toolOf(operation);

export const signalWithStart: AnyTool = {
  ...derived,
  run(call, given) {
    const loadGraph: typeof call.context.loadGraph = async (name) => {
      const { workflow, source } = (await call.context.openWorkflows()).get(name);
      return { graph: workflow.graph, source: call.context.savedSource(source), workflow };
    };
    return derived.run({ ...call, context: { ...call.context, loadGraph } }, given);
  },
};
