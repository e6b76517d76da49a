/** Parses the texts of one block (or of the outputs), and checks that they may refer to what they name. */
import type { CommandText } from '../../../graph/contracts/node-type.ts';
import type { Faults } from '../file/faults.ts';
import { isMapping } from '../file/shape.ts';
import { parseCommand } from '../shell/parse-command.ts';
import { parseCondition } from '../expression/parse-condition.ts';
import { parseText } from '../expression/parse-text.ts';
import type { Path } from '../file/read-document.ts';
import {
  literalTemplate,
  type Named,
  type Names,
  type Scope,
  type Template,
  type TextFault,
} from '../expression/template.ts';

/** Which of the known blocks the texts may refer to. */
export interface Reach {
  /** The block whose texts are read. Undefined for texts of the workflow itself, which are computed after all blocks. */
  readonly block: string | undefined;
  /** Whether a block is over before these texts are computed. */
  readonly isBefore: (block: string) => boolean;
}

export class TemplateReader {
  readonly #faults: Faults;
  readonly #names: Names;
  readonly #reach: Reach;

  constructor(faults: Faults, names: Names, reach: Reach) {
    this.#faults = faults;
    this.#names = names;
    this.#reach = reach;
  }

  /** A value with references in its texts. The keys of mappings stay as they are. */
  value(value: unknown, at: Path, takesSecrets = false): Template {
    if (typeof value === 'string') return this.text(value, at, takesSecrets);
    if (Array.isArray(value)) return this.#list(value, at, takesSecrets);
    if (isMapping(value)) return this.#mapping(value, at, takesSecrets);
    return literalTemplate(value);
  }

  text(text: string, at: Path, takesSecrets = false): Template {
    const { template, faults } = parseText(text, this.#names);
    this.#check(template, faults, text, at, takesSecrets);
    return this.#settle(template, at);
  }

  command(text: string, at: Path, takesSecrets = false): Template<CommandText> {
    const { template, faults } = parseCommand(text, this.#names);
    this.#check(template, faults, text, at, takesSecrets);
    return template;
  }

  condition(text: string, at: Path): Template<boolean> {
    const { template, faults } = parseCondition(text, this.#names);
    this.#check(template, faults, text, at, false);
    const [, field] = /\bmetadata\s*\.\s*(run_id|started_at|tmp)\b/.exec(text) ?? [];
    if (field !== undefined)
      this.#faults.add(at, {
        rule: 'Y4',
        message: `metadata.${field} is not known to conditions`,
        fix: 'read it in the inputs of a block',
      });
    const input = template.named.inputs.find((name) => this.#names.folderInputs?.has(name));
    if (input !== undefined)
      this.#faults.add(at, {
        rule: 'Y4',
        message: `the default of ${input} names {{tmp}}, which is not known to conditions`,
        fix: 'read it in the inputs of a block',
      });
    return template;
  }

  /** A template that gives the same in every scope is computed once, here. A fault in it is a fault of the file. */
  #settle(template: Template, at: Path): Template {
    if (!template.isLiteral) return template;
    try {
      return literalTemplate(template.evaluate(noScope));
    } catch (error) {
      this.#faults.add(at, { rule: 'Y4', message: (error as Error).message, fix: 'correct the expression' });
      return literalTemplate(null);
    }
  }

  #list(items: readonly unknown[], at: Path, takesSecrets: boolean): Template {
    const templates = items.map((item, index) => this.value(item, [...at, index], takesSecrets));
    return settled({
      named: joinNamed(templates),
      isLiteral: templates.every(({ isLiteral }) => isLiteral),
      evaluate: (scope) => templates.map((template) => template.evaluate(scope)),
    });
  }

  #mapping(mapping: Readonly<Record<string, unknown>>, at: Path, takesSecrets: boolean): Template {
    const entries = Object.entries(mapping).map(
      ([key, item]) => [key, this.value(item, [...at, key], takesSecrets)] as const,
    );
    return settled({
      named: joinNamed(entries.map(([, template]) => template)),
      isLiteral: entries.every(([, { isLiteral }]) => isLiteral),
      evaluate: (scope: Scope) => Object.fromEntries(entries.map(([key, template]) => [key, template.evaluate(scope)])),
    });
  }

  #check({ named }: Template, faults: readonly TextFault[], text: string, at: Path, takesSecrets: boolean): void {
    for (const fault of faults) this.#faults.add(at, fault);
    for (const block of named.blocks) this.#checkBlock(block, text, at);
    if (takesSecrets || named.secrets.length === 0) return;
    this.#faults.add(at, {
      rule: 'Y4',
      offset: Math.max(0, text.indexOf('secrets')),
      message: `a secret (${named.secrets.join(', ')}) cannot stand here`,
      fix: 'hand secrets to inputs that take them, such as env of a Shell block or headers of an HttpCall',
    });
  }

  #checkBlock(name: string, text: string, at: Path): void {
    const { block, isBefore } = this.#reach;
    if (block === undefined || isBefore(name)) return;
    const isItself = name === block;
    this.#faults.add(at, {
      rule: 'Y4',
      offset: offsetOfWord(text, name),
      message: isItself
        ? `block ${block} reads itself`
        : `block ${block} reads ${name}, which need not be over by then`,
      fix: isItself ? 'name another block' : `add ${name} to depends_on of ${block}`,
    });
  }
}

/** The offset of a name that stands in a text as a whole word. */
function offsetOfWord(text: string, name: string): number {
  for (let at = text.indexOf(name); at >= 0; at = text.indexOf(name, at + 1)) {
    if (!/[\w$]/.test(text[at - 1] ?? ' ') && !/\w/.test(text[at + name.length] ?? ' ')) return at;
  }
  return 0;
}

/** The scope for templates that give the same in every scope. */
export const noScope: Scope = {
  inputs: {},
  block: () => ({ status: 'skipped', output: undefined, error: undefined }),
  metadata: {},
  each: undefined,
};

/** Templates that give the same in every scope were computed already. */
function settled(template: Template): Template {
  return template.isLiteral ? literalTemplate(template.evaluate(noScope)) : template;
}

/** Everything that several templates name. */
function joinNamed(templates: readonly Template[]): Named {
  const all = (part: (named: Named) => readonly string[]): readonly string[] => [
    ...new Set(templates.flatMap(({ named }) => part(named))),
  ];
  return {
    inputs: all(({ inputs }) => inputs),
    blocks: all(({ blocks }) => blocks),
    secrets: all(({ secrets }) => secrets),
    usesEach: templates.some(({ named }) => named.usesEach),
  };
}
