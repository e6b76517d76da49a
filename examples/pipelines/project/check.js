/** The checks of the project: they fail until all numbers are added. */
import { sum } from './sum.js';

for (const { numbers, expected } of [
  { numbers: [], expected: 0 },
  { numbers: [1, 2, 3], expected: 6 },
]) {
  const actual = sum(numbers);
  if (actual === expected) continue;
  console.error(`sum(${JSON.stringify(numbers)}) is ${actual}, and must be ${expected}`);
  process.exitCode = 1;
}
