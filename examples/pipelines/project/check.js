/** The checks of the project: they fail until all numbers are added. */
import assert from 'node:assert/strict';
import { sum } from './sum.js';

assert.equal(sum([]), 0);
assert.equal(sum([1, 2, 3]), 6, 'sum([1, 2, 3]) must be 6');
console.log('all checks pass');
