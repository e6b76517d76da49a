/** Turns a workflow's output into the type it declares. */
import { CairnError } from '../../../errors.ts';
import { renderText } from '../../../graph/expression/expression-values.ts';
import { schemaFault } from '../../../schema/json-schema.ts';
import { schemaOfType } from '../file/read-inputs.ts';
import { readJson } from '../file/read-json.ts';
import type { WorkflowInput } from '../../text-workflow.ts';

const flags: ReadonlyMap<string, boolean> = new Map([
  ['true', true],
  ['yes', true],
  ['1', true],
  ['false', false],
  ['no', false],
  ['0', false],
]);

/**
 * Converts a value to the type: a text is parsed, and `str` gives the text of any value. @throws NODE_OUTPUT_INVALID it cannot be converted
 */
export function convertOutput(name: string, type: WorkflowInput['type'], value: unknown): unknown {
  if (type === 'str') return typeof value === 'string' ? value.trim() : renderText(value);
  const converted = typeof value === 'string' ? readText(type, value.trim()) : value;
  const fault = schemaFault(schemaOfType(type), converted, name);
  if (fault === undefined) return converted;
  throw new CairnError('NODE_OUTPUT_INVALID', {
    node: 'outputs',
    path: name,
    reason: `${fault}; it is declared ${type}`,
  });
}

function readText(type: WorkflowInput['type'], text: string): unknown {
  if (type === 'num' || type === 'int') return text !== '' && Number.isFinite(Number(text)) ? Number(text) : text;
  if (type === 'bool') return flags.get(text.toLowerCase()) ?? text;
  return type === 'list' || type === 'dict' || type === 'json' ? readJson(text) : text;
}
