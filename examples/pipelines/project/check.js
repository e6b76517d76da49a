/** The checks of the project: they fail until all numbers are added. */
import { sum } from './sum.js';

const cases = [
  [[], 0],
  [[1, 2, 3], 6],
];

for (const [numbers, expected] of cases) {
  const actual = sum(numbers);
  if (actual === expected) continue;
  console.error(`sum(${JSON.stringify(numbers)}) is ${actual}, and must be ${expected}`);
  process.exitCode = 1;
}
