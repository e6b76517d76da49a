/** Checks the links of the documentation, and names those that lead nowhere. */
import { resolve } from 'node:path';
import { brokenLinks } from './docs/check-links.ts';

const faults = brokenLinks(resolve(import.meta.dirname, '..'));
for (const fault of faults) console.log(fault);
process.exitCode = faults.length > 0 ? 1 : 0;
