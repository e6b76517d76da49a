/** Changes of meaning in the doors. */
import type { Mutant } from './mutant.ts';

export const doorsMutants: readonly Mutant[] = [
  {
    name: "an answer that a model gives is recorded as a person's",
    file: 'src/mcp/tools/resume-workflow.ts',
    old: "by: 'model', ",
    new: '',
    tests: ['test/mcp/questions.test.ts'],
  },
  {
    name: 'a cancelled run ends with exit code 0',
    file: 'src/cli/live/result-text.ts',
    old: "status === 'failed' || status === 'cancelled' ? exitCodeOf(error) : 0",
    new: "status === 'failed' ? exitCodeOf(error) : 0",
    tests: ['src/cli/exit-codes.test.ts'],
  },
  {
    name: 'cairn without a command ends with exit code 0',
    file: 'src/cli/run-command.ts',
    old: 'return name === undefined && rest.length === 0 ? 2 : 0;',
    new: 'return 0;',
    tests: ['src/cli/exit-codes.test.ts'],
  },
  {
    name: 'a refused answer ends with exit code 0',
    file: 'src/cli/commands/answers.ts',
    old: 'code: first === undefined ? 0 : exitCodeOf(first.error)',
    new: 'code: first === undefined ? 0 : 0 * exitCodeOf(first.error)',
    tests: ['src/cli/exit-codes.test.ts'],
  },
  {
    name: 'doctor with findings ends with exit code 0',
    file: 'src/cli/commands/doctor.ts',
    old: '    return exitCodeOf(findings);',
    new: '    return 0 * exitCodeOf(findings);',
    tests: ['src/cli/exit-codes.test.ts'],
  },
  {
    name: 'a detached run loses the store it was given',
    file: 'src/cli/commands/run.ts',
    old: "'resume', runId, '--json', ...storeOptions(session)]",
    new: "'resume', runId, '--json']",
    tests: ['src/cli/exit-codes.test.ts'],
  },
  {
    name: 'control characters reach the terminal',
    file: 'src/cli/text/printable.ts',
    old: 'return text.replace(unsafe, escapeCharacter);',
    new: "return text.replace(unsafe, (character) => (character === '\\n' ? escapeCharacter(character) : character));",
    tests: ['src/cli/text/text.test.ts'],
  },
  {
    name: 'a server takes requests without its token',
    file: 'src/app/http/http-guard.ts',
    old: 'if (expected === undefined || isToken(headers.authorization, expected)) return undefined;',
    new: "if (expected === undefined || headers.authorization !== '') return undefined;",
    tests: ['test/mcp/http-security.test.ts'],
  },
  {
    name: 'a server takes requests under any name',
    file: 'src/app/http/http-guard.ts',
    old: 'if (!anyHost && (called === undefined || !names.includes(called)))',
    new: 'if (!anyHost && called === undefined)',
    tests: ['test/mcp/http-security.test.ts'],
  },
  {
    name: "a fork that a model answers is recorded as a person's",
    file: 'src/mcp/tools/history.ts',
    old: ", by: 'model' }",
    new: ' }',
    tests: ['test/mcp/questions.test.ts'],
  },
  {
    name: 'what is typed for a fork is not read in the light of its question',
    file: 'src/operations/runs/fork-run.ts',
    old: 'readsTexts: true',
    new: 'readsTexts: false',
    tests: ['test/mcp/questions.test.ts'],
  },
  {
    name: 'doctor does not read the states of runs',
    file: 'src/history/verify/examine-runs.ts',
    old: '    await loadState(store, blobs, run);\n',
    new: '',
    tests: ['test/bad-input/doctor.test.ts'],
  },
];
