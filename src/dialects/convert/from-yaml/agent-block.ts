/** `Agent` blocks whose tools are files, programs and a person: a stage has no others. */
import type { BlockFile } from '../../yaml/file/workflow-file.ts';
import { writingTools, type AgentTools } from '../outline/agent-tools.ts';
import { literalOf, lost, type BlockReading, type Done } from './block-reading.ts';
import { readModel } from './model-block.ts';

const loopsMaxDefault = 15;

/** Tools that only a block has, and settings that do not change what it does. */
const ownTools = ['workflows', 'blocks', 'servers'];
const settings = ['fallbacks', 'mode', 'history', 'show_images'];

export function readAgent(block: BlockFile, reading: BlockReading): Done | undefined {
  const { inputs } = block;
  if (ownTools.some((name) => inputs[name] !== undefined)) return undefined;
  const folder = inputs['files'] === undefined ? undefined : literalOf(inputs['files'], reading);
  if (inputs['files'] !== undefined && folder === undefined) return undefined;
  const isOn = (name: string, otherwise: boolean): boolean => {
    const said = inputs[name] ?? otherwise;
    return said === true || said === 'true';
  };
  const shell = isOn('shell', false);
  const asks = isOn('ask_person', true);
  const loopsMax = Number(inputs['max_loops'] ?? loopsMaxDefault);
  // One without tools is a call of a model.
  if ((folder === undefined && !shell && !asks) || !Number.isInteger(loopsMax)) return undefined;
  const done = readModel(asCall(block), reading);
  if (done?.work.kind !== 'model') return undefined;
  for (const name of settings)
    if (inputs[name] !== undefined && inputs[name] !== 'native')
      lost(reading, 'SETTING', `${name} of ${block.id} has no counterpart`, 'take it out, or do without');
  if (block.retry !== undefined)
    lost(reading, 'SETTING', `retry of ${block.id} has no counterpart`, 'take it out, or do without');
  const files = folder === undefined ? {} : { files: { folder, isReadOnly: isOn('files_read_only', false) } };
  const agent: AgentTools = { ...files, shell, asks, allow: allowedOf(block, reading), loopsMax };
  return { ...done, work: { ...done.work, agent }, timeoutMs: undefined, isTriedOnce: true };
}

/** The same as a call of a model, for what both have. */
function asCall(block: BlockFile): BlockFile {
  const { prompt, instructions, model, output_schema: schema, temperature, max_tokens: tokensMax } = block.inputs;
  const given = { prompt, system_instructions: instructions, model, temperature, max_tokens: tokensMax };
  const inputs = Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined));
  return { ...block, inputs: { ...inputs, ...(schema !== undefined && { response_schema: schema }) } };
}

function allowedOf({ id, inputs }: BlockFile, reading: BlockReading): AgentTools['allow'] {
  const allow = Array.isArray(inputs['allow']) ? inputs['allow'].map(String) : [];
  const written = writingTools.filter((name) => allow.includes(name));
  if (written.length === 1)
    lost(
      reading,
      'SETTING',
      `${id} asks before it uses ${written.join('')}, too`,
      'allow all tools that write, or none',
    );
  return [
    ...(written.length === writingTools.length ? (['write'] as const) : []),
    ...(allow.includes('shell') ? (['shell'] as const) : []),
  ];
}
