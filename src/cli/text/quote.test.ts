import { spawnSync } from 'node:child_process';
import { expect, test } from 'vitest';
import { printable } from '../../operations/format/terminal.ts';
import { quote } from './quote.ts';

test.each(['plain-1@2', 'two words', "it's", '$(id)', '~', 'new\nline', "\u001b[31m'\\ \u202e", 'tab\t\u0007é😀'])(
  'P6 a command to paste names %j, and no control character reaches the terminal',
  (word) => {
    const quoted = quote(word);
    expect(printable(quoted)).toBe(quoted);
    const { stdout } = spawnSync('bash', ['-c', `printf %s ${quoted}`], {
      encoding: 'utf8',
      env: { LC_ALL: 'C.UTF-8' },
    });
    expect(stdout).toBe(word);
  },
);
