/** Changes of meaning in the conversion between dialects. */
import type { Mutant } from './mutant.ts';

const named = ['src/dialects/convert/convert.test.ts'];
const pipelines = ['test/convert/random-pipelines.test.ts'];
const workflows = ['test/convert/random-workflows.test.ts'];

export const conversionMutants: readonly Mutant[] = [
  {
    name: 'a text of a pipeline becomes an expression',
    file: 'src/dialects/convert/write/yaml-start.ts',
    old: "return text.replaceAll('${', () => '$${');",
    new: 'return text;',
    tests: named,
  },
  {
    name: 'braces of a pipeline make a file of the other form',
    file: 'src/dialects/convert/write/yaml-start.ts',
    old: '.replaceAll(/\\{(?=[{%#])/g, () => "${\'{\'}")',
    new: '',
    tests: named,
  },
  {
    name: 'a failure that leads on ends the run',
    file: 'src/dialects/convert/write/write-yaml.ts',
    old: '...(isTaken && { continue_on_error: true }),',
    new: '',
    tests: pipelines,
  },
  {
    name: 'a command that passes over its failure is tried again',
    file: 'src/dialects/convert/from-yaml/block-work.ts',
    old: 'isTriedOnce: isPassed,',
    new: '',
    tests: workflows,
  },
  {
    name: 'a block that is skipped is run',
    file: 'src/dialects/convert/outline/lay-ways.ts',
    old: "if (starts === 'no') return skipped();",
    new: '',
    tests: workflows,
  },
  {
    name: 'the join of branches needs one, whatever its policy',
    file: 'src/dialects/convert/write/yaml-start.ts',
    old: 'if (needed <= 1)',
    new: 'if (needed <= 100)',
    tests: named,
  },
  {
    name: 'a way back is told of no one',
    file: 'src/dialects/convert/write/write-yaml.ts',
    old: "      notes.lost(\n        'LOOP',",
    new: "      notes.changed(\n        'LOOP',",
    tests: named,
  },
  {
    name: 'a condition that a run cannot tell holds',
    file: 'src/dialects/convert/from-yaml/outline-of-workflow.ts',
    old: "|| (only === 'yes' && isOpen)",
    new: '',
    tests: named,
  },
];
