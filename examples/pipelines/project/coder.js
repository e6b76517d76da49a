/** Stands in for a coding agent: reads its prompt, changes a file, and says what it did. It mends half of the bug until it is told that the checks failed. */
import { readFileSync, writeFileSync } from 'node:fs';

const hasFailed = readFileSync(0, 'utf8').includes('check: fail');
const loop = hasFailed
  ? '  for (const number of numbers) total += number;\n'
  : '  for (let index = 0; index <= numbers.length; index += 1) total += numbers[index];\n';
writeFileSync(
  'sum.js',
  `/** Adds numbers. */\nexport function sum(numbers) {\n  let total = 0;\n${loop}  return total;\n}\n`,
);
console.log(
  `sum.js is changed.\n{"outcome": "success", "notes": "${hasFailed ? 'every number is added' : 'from the first number on'}"}`,
);
