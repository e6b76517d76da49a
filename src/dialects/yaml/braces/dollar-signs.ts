/** Decides what `${` means in a file of the `{{ }}` form: text or shell syntax, unless a namespace follows it. */
import { assignedNames } from '../command/shell-names.ts';
import { namespaces } from '../expression/resolve-names.ts';
import type { TextFault } from '../expression/template.ts';
import { isMapping } from '../file/shape.ts';
import type { FileText } from './file-texts.ts';

const namespaced = new RegExp(`\\$\\{\\s*(?:${namespaces.join('|')})\\s*[.[]`, 'y');
const reference = /(?<!\$)\$\{\s*([A-Za-z_]\w*)\s*([}.[])/g;

/** Whether a `${` is a reference anyway, because no shell variable can have such a name. */
export function dollarRule(text: string, offset: number): boolean {
  namespaced.lastIndex = offset;
  return namespaced.test(text);
}

/** Warns where `${name}` might be meant as a reference in a file whose references are `{{ }}`. */
export function checkDollars(
  { text, kind, inputs }: FileText,
  known: { readonly inputs: readonly string[]; readonly blocks: readonly string[] },
): readonly TextFault[] {
  if (!text.includes('${')) return [];
  const env = isMapping(inputs['env']) ? inputs['env'] : {};
  const isCommand = kind === 'command';
  const assigned = isCommand ? assignedNames(text) : new Set<string>();
  const faults: TextFault[] = [];
  for (const { 1: name = '', 2: next = '', index } of text.matchAll(reference)) {
    if (dollarRule(text, index) || assigned.has(name) || (isCommand && Object.hasOwn(env, name))) continue;
    const isInput = known.inputs.includes(name);
    if (!isInput && !(known.blocks.includes(name) && next === '.')) continue;
    const form = isInput ? `inputs.${name}` : `blocks.${name}.FIELD`;
    faults.push({
      offset: index,
      rule: 'T11',
      severity: isCommand ? 'warning' : 'error',
      message: `\${${name}} is ${isCommand ? "a variable of the shell's" : 'text'} in a file whose references are {{ }}`,
      fix: `write {{ ${form} }}${isCommand ? `, or $${name} for the variable` : ''}, or convert the file as a whole`,
    });
  }
  return faults;
}
