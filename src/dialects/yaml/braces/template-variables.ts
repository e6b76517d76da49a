/** The variables of a template: the values of the input `variables`, as expressions. */
import type { TextFault } from '../expression/template.ts';
import type { Path } from '../file/read-document.ts';
import { isMapping } from '../file/shape.ts';
import { hasBraces } from './split-braces.ts';
import { translateText, type TextNames } from './translate-text.ts';
import { quoted } from './quoted.ts';

type Report = (fault: TextFault, at: Path) => void;

/** The expression of each variable, by name. Faults in their texts are reported at their places. */
export function templateVariables(
  inputs: Readonly<Record<string, unknown>>,
  names: TextNames,
  report: Report,
  templatePath: Path,
): ReadonlyMap<string, string> {
  const { variables } = inputs;
  const at: Path = [...templatePath.slice(0, -1), 'variables'];
  if (variables === undefined || variables === null) return new Map();
  if (!isMapping(variables)) {
    report({ offset: 0, rule: 'T11', message: 'variables is no mapping', fix: 'write `name: value`' }, at);
    return new Map();
  }
  return new Map(
    Object.entries(variables).map(([name, value]) => [name, expressionOf(value, names, [...at, name], report)]),
  );
}

function expressionOf(value: unknown, names: TextNames, at: Path, report: Report): string {
  if (typeof value !== 'string') {
    const text = JSON.stringify(value);
    if (/\$\{|\{\{/.test(text)) {
      const fix = 'give each reference a variable of its own';
      report({ offset: 0, rule: 'T11', message: 'a variable is a list or a mapping with references in it', fix }, at);
    }
    return text;
  }
  const { text, faults } = hasBraces(value)
    ? translateText(value, 'text', names)
    : { text: value, faults: [] as readonly TextFault[] };
  for (const fault of faults) report(fault, at);
  const [, only] = /^\$\{([^{}]*)\}$/.exec(text) ?? [];
  if (only !== undefined) return `(${only})`;
  // A text with references becomes a string literal with references; other characters are escaped.
  const pieces = text.split(/(\$\{[^{}]*\})/);
  return `'${pieces.map((piece, index) => (index % 2 === 1 ? piece : quoted(piece).slice(1, -1))).join('')}'`;
}
