/** References in the forms of other versions of the format: named as faults, never text that nobody notices (T11). */
import type { TextFault } from './template.ts';

const braces = /\{\{-?\s*((?:inputs|blocks|metadata|secrets|each|tmp|memory)\b[^{}]*)\}\}/g;
const tags =
  /\{%-?\s*(?:if|elif|else|endif|for|endfor|set|endset|raw|endraw|macro|endmacro|filter|endfilter|include|block|endblock)\b[^%]*%\}/g;

/** Finds such forms in a text; `{{.Names}}` and the like are none of ours. */
export function findForeignForms(text: string): TextFault[] {
  const faults: TextFault[] = [];
  if (text.includes('{{')) {
    for (const { 0: whole, 1: written = '', index } of text.matchAll(braces)) {
      const inner = written.trim().replace(/\s?-$/, '');
      const isGone = /^(?:tmp|memory)\b/.test(inner);
      const fix = isGone ? 'there is no such thing here: give the value as an input' : `write \${${inner}}`;
      faults.push({ offset: index, rule: 'T11', message: `${whole} is the form of another version`, fix });
    }
  }
  if (text.includes('{%')) {
    for (const { 0: whole, index } of text.matchAll(tags)) {
      const fix = 'use a condition of the block, for_each, or an expression: ${a ? b : c}';
      faults.push({ offset: index, rule: 'T11', message: `${whole} is a statement of another version`, fix });
    }
  }
  return faults;
}
