/** Changes of meaning in the dialects. */
import type { Mutant } from './mutant.ts';

export const dialectsMutants: readonly Mutant[] = [
  {
    name: 'a block is not told of the budgets around it',
    file: 'src/dialects/block-context.ts',
    old: 'return this.ctx.isBudgeted?.(unit) === true;',
    new: 'return false;',
    tests: ['test/yaml/budgets.test.ts'],
  },
  {
    name: 'items of a sequential for_each start after one that failed',
    file: 'src/dialects/yaml/block-nodes/for-each.ts',
    old: 'return failures.size === 0 || file.continuesOnError;',
    new: 'return true;',
    tests: ['src/dialects/yaml/block-nodes/for-each.test.ts'],
  },
  {
    name: "an inline workflow's block is granted all that it asks for",
    file: 'src/dialects/block-context.ts',
    old: '(need: Need): boolean => this.#workflow.withheld?.(need) === undefined;',
    new: '(need: Need): boolean => this.#workflow.withheld?.(need) !== null;',
    tests: ['test/yaml/inline-reach.test.ts'],
  },
  {
    name: 'a need that is not required is required',
    file: 'src/dialects/yaml/compile/compile-workflow.ts',
    old: '...(!isRequired && { always: true })',
    new: '...(isRequired && { always: false })',
    tests: ['src/dialects/yaml/compile/model.test.ts'],
  },
  {
    name: 'continue_on_error fails the run',
    file: 'src/dialects/yaml/compile/describe-workflow.ts',
    old: "...(file.continuesOnError && !isEach && { onFailure: 'skip-dependents' }),",
    new: '',
    tests: ['src/dialects/yaml/compile/model.test.ts'],
  },
  {
    name: 'a TypeScript edge forgets its condition',
    file: 'src/dialects/code/agent-graph.ts',
    old: 'when === undefined ? {} : { condition: asCondition(when, `${from} -> ${to}`, this.#faults, place) };',
    new: 'when === undefined ? {} : { condition: asCondition(() => true, `${from} -> ${to}`, this.#faults, place) };',
    tests: ['src/dialects/code/agent-graph.test.ts', 'src/dialects/code/traps.test.ts'],
  },
  {
    name: 'a value may stand where a shell takes it for syntax',
    file: 'src/dialects/yaml/shell/parse-command.ts',
    old: "if (refusal !== undefined) this.#fault(offset, 'T8', refusal[0], refusal[1]);",
    new: 'if (refusal !== undefined) this.#write(`$${this.#variableOf(reference)}`);',
    tests: ['src/dialects/yaml/shell/parse-command.test.ts'],
  },
  {
    name: 'what a quoted here-document says is expanded',
    file: 'src/dialects/yaml/shell/shell-scanner.ts',
    old: 'if (isUnquoted && expandable.includes(sign))',
    new: "if (isUnquoted && sign === '$')",
    tests: ['src/dialects/yaml/shell/parse-command.test.ts'],
  },
  {
    name: 'a text that calls itself gets the operator’s workflow of its name',
    file: 'src/dialects/yaml/compile/workflow-linker.ts',
    old: 'if (name !== undefined) this.#compiled.set(name, compiled);',
    new: '',
    tests: ['src/dialects/yaml/block-nodes/calls.test.ts'],
  },
  {
    name: 'a $ of the shell is a reference in files of the {{ }} form',
    file: 'src/dialects/yaml/braces/translate-document.ts',
    old: 'return namespaced.test(text);',
    new: 'return true;',
    tests: ['src/dialects/yaml/braces/translate-text.test.ts'],
  },
];
