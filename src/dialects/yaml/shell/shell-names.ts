/** Decides whether a `${…}` in a command is a reference of the workflow or an expansion of the shell (T7). */
import { isListed, namespaces } from '../expression/resolve-names.ts';
import type { Names } from '../expression/template.ts';

const assignments: readonly RegExp[] = [
  /(?<![\w$-])([A-Za-z_]\w*)(?:\[[^\]\n]{0,200}\])?\+?=/g,
  /\b(?:for|select)\s+([A-Za-z_]\w*)/g,
  /\bgetopts\s+\S+\s+([A-Za-z_]\w*)/g,
  /\bprintf\s+-v\s*([A-Za-z_]\w*)/g,
];
const lists =
  /\b(?:read|local|export|declare|typeset|readonly|mapfile|readarray)\b((?:[ \t]+(?:-\w+(?:[ \t]+(?:"[^"\n]*"|'[^'\n]*'))?|[A-Za-z_]\w*(?:=\S*)?))+)/g;

/** Names of variables that a command sets, as far as its text shows. Quoted scripts inside of it count too. */
export function assignedNames(script: string): ReadonlySet<string> {
  const names = new Set<string>();
  for (const pattern of assignments) for (const [, name] of script.matchAll(pattern)) names.add(name ?? '');
  for (const [, rest = ''] of script.matchAll(lists)) {
    const words = rest.replaceAll(/"[^"]*"|'[^']*'|=\S*/g, '');
    for (const [name] of words.matchAll(/(?<![\w-])[A-Za-z_]\w*/g)) names.add(name);
  }
  return names;
}

export type Owner = 'workflow' | 'shell' | 'nobody';

const isUpper = (name: string): boolean => /^[A-Z_][A-Z0-9_]*$/.test(name);

const start = /\$\{([A-Za-z_]\w*)/y;
/** Matches a name with dashes followed by a field, as for ids of blocks. */
const dashedPath = /\$\{[A-Za-z_]\w*(?:-\w+)+[.[]/y;
const dashedName = /[A-Za-z_]\w*(?:-\w+){0,20}/y;
const numbered = /\$\{\d+(?:\}|[:#%/^,@\-=?+])/y;
const indirect = /\$\{!([A-Za-z_]\w*)(?:\}|[[:*@#%/^,?+=-])/y;
const special = /\$\{(?:[#@*?$]|-[}:]|!\})/y;

function at(pattern: RegExp, text: string, offset: number): RegExpExecArray | null {
  pattern.lastIndex = offset;
  return pattern.exec(text);
}

/** Whether the text at an offset begins with a known input or block. */
function isKnown(text: string, offset: number, name: string, names: Names): boolean {
  const known = (word: string): boolean => isListed(names.inputs, word) || isListed(names.blocks, word);
  if (known(name)) return true;
  const parts = (at(dashedName, text, offset)?.[0] ?? name).split('-');
  return parts.some((_, index) => index > 0 && known(parts.slice(0, index + 1).join('-')));
}

function ownerOfSubscript(text: string, offset: number, isShells: boolean): Owner {
  if (isShells) return 'shell';
  return /[@*$\d]/.test(text[offset + 1] ?? '') ? 'shell' : 'workflow';
}

/**
 * Decides whose the `${` at an offset is. If it begins with one of our names, it is ours, whatever follows. If it has a form that only
 * shells have, it is the shell's. A simple word that neither knows is `nobody`'s.
 */
export function ownerOf(text: string, offset: number, names: Names, assigned: () => ReadonlySet<string>): Owner {
  const match = at(start, text, offset);
  if (match === null) {
    const name = at(indirect, text, offset)?.[1];
    if (name !== undefined) return isKnown(text, offset + 3, name, names) ? 'workflow' : 'shell';
    return at(numbered, text, offset) !== null || at(special, text, offset) !== null ? 'shell' : 'workflow';
  }
  const name = match[1] ?? '';
  const end = offset + match[0].length;
  const next = text[end] ?? '';
  const isShells = isUpper(name) || assigned().has(name);
  if (isKnown(text, offset + 2, name, names)) {
    const isWholeBlock = next === '}' && !isListed(names.inputs, name) && isListed(names.blocks, name);
    return isWholeBlock && isShells ? 'shell' : 'workflow';
  }
  if (namespaces.includes(name) && (next === '[' || !assigned().has(name))) return 'workflow';
  if (next === '.' || next === '(') return 'workflow';
  if (next === '}') return isShells ? 'shell' : 'nobody';
  if (next === '[') return ownerOfSubscript(text, end, isShells);
  if (text.startsWith('==', end)) return 'workflow';
  if (at(dashedPath, text, offset) !== null && !isShells) return 'workflow';
  return next !== '' && ':#%/^,@-=?+'.includes(next) ? 'shell' : 'workflow';
}
