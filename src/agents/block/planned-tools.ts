/** What the model of an `Agent` block may call, before anything runs: for the plan, and for `allow`. */
import type { CallableWorkflow, Inputs, NodeType, PlannedTool } from '../../graph/contracts/node-type.ts';
import { actsOutside } from '../tools/agent-tool.ts';
import { fileTools } from '../files/file-tools.ts';
import { localFiles } from '../files/local-files.ts';
import { shellTool } from '../shell/shell-tool.ts';
import { isReadOnly, listOf, serversOf, usesShell } from './agent-inputs.ts';
import { effectOfBlock } from './block-tool.ts';

/** What models accept as a name of a workflow. */
export const workflowToolName = (workflow: string): string => workflow.replaceAll(/[^A-Za-z0-9_-]/gu, '_');

export function plannedTools(
  blocks: ReadonlyMap<string, NodeType>,
  inputs: Inputs,
  workflow: (name: string) => CallableWorkflow | undefined,
): readonly PlannedTool[] {
  const allow = listOf(inputs['allow']);
  const planned = (name: string, effect: PlannedTool['effect']): PlannedTool => ({
    name,
    effect,
    asks: (effect === 'write' || effect === 'external') && !allow.includes(name),
  });
  return [
    ...listOf(inputs['workflows']).map((name) => planned(workflowToolName(name), workflow(name)?.effect ?? 'external')),
    ...listOf(inputs['blocks']).flatMap((name) => {
      const type = blocks.get(name);
      return type === undefined ? [] : [planned(name, effectOfBlock(type))];
    }),
    ...ownTools(inputs).map(({ name, acts }) => planned(name, acts)),
    ...(inputs['servers'] === undefined ? [] : servedTools(inputs)),
    ...(inputs['ask_person'] === false ? [] : [{ name: 'ask_person', effect: 'human', asks: true } as const]),
  ];
}

/** The tools for files and programs. */
function ownTools(inputs: Inputs): readonly { readonly name: string; readonly acts: PlannedTool['effect'] }[] {
  const store = localFiles({ root: '.', isReadOnly: isReadOnly.read(inputs) });
  const files = inputs['files'] === undefined ? {} : fileTools(store);
  const own = { ...files, ...(usesShell.read(inputs) && { shell: shellTool() }) };
  return Object.entries(own).map(([name, tool]) => {
    const acts = 'effect' in tool ? tool.effect : undefined;
    return { name, acts: acts ?? (actsOutside(tool) ? 'external' : 'pure') };
  });
}

function servedTools(inputs: Inputs): readonly PlannedTool[] {
  return serversOf(inputs).map(({ config: { server, allow } }) => ({
    name: `${server}__*`,
    effect: 'external',
    asks: allow !== true,
  }));
}
