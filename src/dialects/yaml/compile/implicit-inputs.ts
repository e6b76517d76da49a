/** Finds the inputs of a workflow that declares none: the unknown names that its texts read. */
import { reservedIds } from '../file/format.ts';
import { isMapping } from '../file/shape.ts';
import type { WorkflowFile } from '../file/workflow-file.ts';

const words: readonly string[] = [...reservedIds, 'true', 'false', 'null'];

/** Matches `${name}`, `${name.field}` and `${name[`, but not `$${` and not a shell's `${name:-x}`. */
const reference = /(?<!\$)\$\{\s*([A-Za-z_][A-Za-z0-9_]*)\s*[.[}]/g;
const namespaced = /(?<!\$)\$\{\s*inputs\.([A-Za-z_][A-Za-z0-9_]*)/g;

/**
 * Names that the texts of a workflow without an `inputs` section read, and that nothing in it has, in the order of the file.
 * @param isCommand - whether an input of a block is a command, in which `${NAME}` may be the shell's
 */
export function implicitInputs(
  file: WorkflowFile,
  isCommand: (blockType: string, input: string) => boolean,
): readonly string[] {
  const blocks = new Set(file.blocks.map(({ id }) => id));
  const found = new Set<string>();
  const add = (text: string, isShell: boolean): void => {
    for (const [, name = ''] of text.matchAll(namespaced)) found.add(name);
    for (const [, name = ''] of text.matchAll(reference)) {
      if (words.includes(name) || blocks.has(name)) continue;
      if (isShell && (name === name.toUpperCase() || isAssigned(text, name))) continue;
      found.add(name);
    }
  };
  for (const block of file.blocks) {
    for (const [input, value] of Object.entries(block.inputs))
      eachText(value, (text) => add(text, isCommand(block.type, input)));
    if (block.condition !== undefined) add(block.condition, false);
    if (block.forEach !== undefined) eachText(block.forEach.over, (text) => add(text, false));
    for (const { path } of block.fileOutputs) add(path, false);
  }
  for (const { value } of file.outputs) eachText(value, (text) => add(text, false));
  return [...found];
}

function eachText(value: unknown, visit: (text: string) => void): void {
  if (typeof value === 'string') visit(value);
  else if (Array.isArray(value)) for (const item of value) eachText(item, visit);
  else if (isMapping(value)) for (const item of Object.values(value)) eachText(item, visit);
}

/** Whether a command sets a variable with this name. */
function isAssigned(command: string, name: string): boolean {
  return new RegExp(
    `(?:^|[\\s;&|(])(?:${name}=|for\\s+${name}\\s|(?:read|local|export|declare|typeset|readonly)\\s[^;\\n]*\\b${name}\\b)`,
  ).test(command);
}
