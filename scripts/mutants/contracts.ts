/** Changes of meaning in agreements that lie outside of the engine: hosts, sandboxes, HTTP and the studio. */
import type { Mutant } from './mutant.ts';

export const contractMutants: readonly Mutant[] = [
  {
    name: 'one run that cannot be advanced ends a lane of a sweep',
    file: 'src/hosts/fetch-host.ts',
    old: "      runs.push({ runId, status: 'error', code: CairnError.is(error) ? error.code : 'INTERNAL' });\n",
    new: "      runs.push({ runId, status: 'error', code: CairnError.is(error) ? error.code : 'INTERNAL' });\n      return false;\n",
    tests: ['src/hosts/sweep.test.ts'],
  },
  {
    name: 'an answer for a page of one origin may be kept for pages of others',
    file: 'src/http/cross-origin.ts',
    old: "  headers.append('vary', 'origin');\n",
    new: '',
    tests: ['src/http/refusals.test.ts'],
  },
  {
    name: 'a stream that is closed twice frees two places',
    file: 'src/http/places.ts',
    old: '      if (!isTaken) return;\n',
    new: '',
    tests: ['src/http/places.test.ts'],
  },
  {
    name: "secrets in what a sandbox's command prints, and in results of any step, are recorded",
    file: 'src/engine/visit-records/finish-step.ts',
    old: 'const admitted = admitValue(value, path, core.env.bounds, core.secrets.intake);',
    new: 'const admitted = admitValue(value, path, core.env.bounds, undefined);',
    tests: ['src/sandboxes/session.test.ts'],
  },
  {
    name: 'a folder that a command closed cannot be emptied',
    file: 'src/sandboxes/folder.ts',
    old: '  await chmod(folder, 0o755);\n',
    new: '',
    tests: ['src/sandboxes/folder.test.ts'],
  },
  {
    name: 'a value that was removed in the form of a fork is no change',
    file: 'studio/data/differences.ts',
    old: 'Object.keys({ ...old, ...next })',
    new: 'Object.keys(next)',
    tests: ['test/studio/decisions.test.ts'],
  },
  {
    name: 'pages behind the first of the inbox stay when they are gone',
    file: 'studio/data/wait-pages.ts',
    old: 'if (first.cursor === undefined) this.#older = undefined;',
    new: 'if (first.cursor === undefined) this.#walkedAt = now;',
    tests: ['test/studio/decisions.test.ts'],
  },
];
