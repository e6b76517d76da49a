/** Texts of a workflow file as pieces, where nothing in them is computed. */
import { readReference } from '../../yaml/expression/tokens.ts';
import type { Names, Scope } from '../../yaml/expression/template.ts';
import { parseCommand } from '../../yaml/shell/parse-command.ts';
import { assignedNames } from '../../yaml/shell/shell-names.ts';
import { joined, type Piece, type Text } from '../outline/outline.ts';

export interface Known {
  readonly inputs: readonly string[];
  /** Blocks whose answer a prompt may contain: models, and questions for text. */
  readonly answers: ReadonlySet<string>;
}

/** Undefined: something in it is computed, or reads what only a workflow file has. */
export function piecesOf(text: string, known: Known): Text | undefined {
  return readPieces(text, known, () => undefined);
}

/** The text for a person, in which the expression itself stands for what is computed. */
export function readablePieces(
  text: string,
  known: Known,
): { readonly text: Text; readonly computed: readonly string[] } {
  const computed: string[] = [];
  const pieces = readPieces(text, known, (expression) => {
    computed.push(expression);
    return `<${expression}>`;
  });
  return { text: pieces ?? [text], computed };
}

function readPieces(
  text: string,
  known: Known,
  otherwise: (expression: string) => Piece | undefined,
): Text | undefined {
  const pieces: Piece[] = [];
  let from = 0;
  for (let at = text.indexOf('${'); at >= 0; at = text.indexOf('${', from)) {
    if (text[at - 1] === '$' && at > from) {
      pieces.push(text.slice(from, at - 1), '${');
      from = at + 2;
      continue;
    }
    const end = endOf(text, at);
    const expression = text.slice(at + 2, (end ?? at + 3) - 1).trim();
    const piece = end === undefined ? undefined : (referenceOf(expression, known) ?? otherwise(expression));
    if (end === undefined || piece === undefined) return undefined;
    pieces.push(text.slice(from, at), piece);
    from = end;
  }
  return joined([...pieces, text.slice(from)]);
}

function endOf(text: string, at: number): number | undefined {
  try {
    return readReference(text, at).end;
  } catch {
    return undefined;
  }
}

function referenceOf(text: string, { inputs, answers }: Known): Piece | undefined {
  const sign = /^'([^'\\]*)'$/.exec(text)?.[1];
  if (sign !== undefined && !sign.includes('${')) return sign;
  const input = /^(?:inputs\.)?([A-Za-z_]\w*)$/.exec(text)?.[1];
  if (input !== undefined) return inputs.includes(input) ? { input } : undefined;
  const answerOf = /^(?:blocks\.)?(\w+)\.(?:outputs\.)?(?:response\.content|input_value)$/.exec(text)?.[1] ?? '';
  return answers.has(answerOf) ? { answerOf } : undefined;
}

/** The script of a command in which inputs are variables of their names. Undefined: it reads anything else. */
export function scriptOf(command: string, names: Names): string | undefined {
  const { template } = parseCommand(command, names);
  if (template.named.blocks.length > 0 || template.named.usesEach || template.named.secrets.length > 0)
    return undefined;
  const inputs = new Map(template.named.inputs.map((name, index) => [`\u0001${index} ${name}\u0001`, name]));
  const scope: Scope = {
    inputs: Object.fromEntries([...inputs].map(([mark, name]) => [name, mark])),
    metadata: {},
    each: undefined,
    block: () => ({ status: 'skipped', output: undefined, error: undefined }),
  };
  try {
    const { script, env } = template.evaluate(scope);
    const own = assignedNames(command);
    let text = script;
    for (const [variable, value] of Object.entries(env)) {
      const name = typeof value === 'string' ? inputs.get(value) : undefined;
      if (name === undefined || own.has(name)) return undefined;
      text = text.replaceAll(`\${${variable}}`, `\${${name}}`);
    }
    const isPlain = Object.keys(env).length === inputs.size && simpleNames(command, names) === inputs.size;
    return isPlain && !text.includes('\u0001') ? text : undefined;
  } catch {
    return undefined;
  }
}

/** How many inputs are named by references that are nothing but their names. */
function simpleNames(command: string, names: Names): number {
  const found = [...command.matchAll(/(?<!\$)\$\{\s*(?:inputs\.)?([A-Za-z_]\w*)\s*\}/g)].map(([, name = '']) => name);
  return new Set(found.filter((name) => names.inputs.includes(name))).size;
}
