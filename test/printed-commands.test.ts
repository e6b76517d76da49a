/** Every command that is printed for people can be pasted: an id that begins with a dash, or holds spaces and quotes, is the same id there. */
import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { CairnError, commandText } from '../src/errors.ts';
import { errorTable, type ErrorCode } from '../src/error-table.ts';
import { createSeededRandom } from '../src/ports/seeded-random.ts';
import { scale } from './support/scale.ts';

const root = join(import.meta.dirname, '..');

/** A command in a text of the source with something filled in, which only {@link commandText} and its like do. */
const filledIn = /cairn [a-z-]+ (?:-- |--[a-z-]+ )*\$\{(?!printable\(commandText|commandText)/;
/** Completions are scripts of shells, and print nothing for people. */
const scripts: readonly string[] = [join('src', 'cli', 'completion', 'shells.ts')];

test('P6 no message fills an id into a command by itself', () => {
  const files = ['src', 'studio'].flatMap((folder) =>
    readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' }).map((file) => join(folder, file)),
  );
  const code = files.filter((file) => /\.tsx?$/.test(file) && !/\.test\.tsx?$/.test(file) && !scripts.includes(file));
  expect(code.length).toBeGreaterThan(500);
  const found = code.filter((file) => filledIn.test(readFileSync(join(root, file), 'utf8')));
  expect(found).toEqual([]);
});

test('P6 a command in a hint or a message of the table takes an id as an operand', () => {
  const commands = Object.entries(errorTable).flatMap(([code, { message, hint }]) =>
    [...`${message} ${hint}`.matchAll(/cairn ([a-z-]+) \{(\w+)\}/g)].map(([, command = '', name = '']) => ({
      code,
      command,
      name,
    })),
  );
  expect(commands.length).toBeGreaterThan(1);
  for (const { code, command, name } of commands) {
    const { message, hint } = new CairnError(code as ErrorCode, { [name]: "-it's" });
    expect(`${message} ${hint}`).toContain(`cairn ${command} -- '-it'\\''s'`);
  }
});

test('P6 a shell reads back the words of a printed command, options before operands', () => {
  const random = createSeededRandom(22);
  const pieces = ['-', '--', 'a', ' ', "'", '"', '$x', '*', '@12', '\\', '~', 'é', '--run'];
  const word = (): string => Array.from({ length: 1 + random.integer(4) }, () => random.pick(pieces)).join('');
  const printed = Array.from({ length: scale(200, 2_000) }, () => {
    const operands = Array.from({ length: 1 + random.integer(3) }, word).filter((one) => one !== '--run');
    return { operands, text: commandText('answer', ...operands, '--resume', '--store', 'sqlite:my runs.db') };
  });
  const script = printed.map(({ text }) => `printf '%s\\0' ${text.slice('cairn '.length)}; printf '\\n\\0'`).join('\n');
  const read = execFileSync('sh', ['-c', script], { encoding: 'utf8' }).split('\n\0').slice(0, -1);
  for (const [at, { operands }] of printed.entries()) {
    const words = (read[at] ?? '').split('\0').slice(0, -1);
    const options = ['--resume', '--store', 'sqlite:my runs.db'];
    const hasDash = operands.some((operand) => operand.startsWith('-'));
    expect(words).toEqual(hasDash ? ['answer', ...options, '--', ...operands] : ['answer', ...operands, ...options]);
  }
});

test('P6 options with a word of their own keep it before the operands', () => {
  expect(commandText('fork', 'r@1', '--answer', 'go=VALUE', '--run')).toBe('cairn fork r@1 --answer go=VALUE --run');
  expect(commandText('fork', '-r@1', '--answer', 'go=VALUE', '--run')).toBe(
    'cairn fork --answer go=VALUE --run -- -r@1',
  );
});
