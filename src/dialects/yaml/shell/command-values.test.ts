/** Values in commands, run through the real shells: a program gets exactly the value, whatever is in it and wherever it stands (T8). */
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import * as fc from 'fast-check';
import { afterAll, describe, expect, test } from 'vitest';
import { scale } from '../../../../test/support/scale.ts';
import { parseCommand } from './parse-command.ts';
import type { Names, Scope } from '../expression/template.ts';

const folder = mkdtempSync(join(tmpdir(), 'cairn-command-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const names: Names = { inputs: ['x', 'y'], blocks: [], fieldsOf: () => undefined, secrets: [], hasEach: false };

const scopeOf = (inputs: Readonly<Record<string, unknown>>): Scope => ({
  inputs,
  block: () => ({ status: 'skipped', output: undefined, error: undefined }),
  metadata: {},
  each: undefined,
});

const hasBash = spawnSync('bash', ['-c', ':']).status === 0;
const shells = ['/bin/sh', ...(hasBash ? ['bash'] : [])];

interface Probe {
  readonly script: string;
  /** What it prints. */
  readonly prints: (value: string) => string;
}
const probe = (script: string, prints: (value: string) => string = (value) => value): Probe => ({ script, prints });

/** Runs probes one after another in one shell; a NUL, which no value holds, ends what each prints. */
function run(shell: string, probes: readonly Probe[], value: string): readonly string[] {
  const text = probes.map(({ script }) => `${script}\nprintf '\\0'\n`).join('');
  const { template, faults } = parseCommand(text, names);
  expect(faults.filter(({ severity, rule }) => severity !== 'warning' || rule === 'T9')).toEqual([]);
  const { script, env } = template.evaluate(scopeOf({ x: value, y: 'y' }));
  const { stdout, stderr, error } = spawnSync(shell, ['-c', script], {
    cwd: folder,
    env: { PATH: process.env['PATH'], LC_ALL: 'C.UTF-8', ...(env as Record<string, string>) },
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'pipe'],
    maxBuffer: 64 << 20,
    timeout: 20_000,
  });
  expect(error).toBeUndefined();
  expect(stderr).toBe('');
  return stdout.split('\0').slice(0, -1);
}

function check(shell: string, probes: readonly Probe[], value: string): void {
  const printed = run(shell, probes, value);
  for (const [index, { script, prints }] of probes.entries()) {
    expect({ script, printed: printed[index] }).toEqual({ script, printed: prints(value) });
  }
  expect(readdirSync(folder)).toEqual([]);
}

const same = (): string => 'same';
const dot = (value: string): string => `${value}.`;

const contexts: readonly Probe[] = [
  probe('printf %s ${x}'),
  probe('printf %s "${x}"'),
  probe("printf %s '${x}'"),
  probe('printf %s a${x}b', (value) => `a${value}b`),
  probe('printf %s "a ${x} b"', (value) => `a ${value} b`),
  probe("printf %s 'a ${x} b'", (value) => `a ${value} b`),
  probe('printf %s a\'b\'"c"${x}"d"\'e\'f', (value) => `abc${value}def`),
  probe("printf %s 'it'\\''s ${x}'", (value) => `it's ${value}`),
  probe('printf %s \\"${x}\\\'', (value) => `"${value}'`),
  probe('printf %s "\\"${x}\\\\"', (value) => `"${value}\\`),
  probe('printf %s ${x}${x}"${x}"', (value) => value.repeat(3)),
  probe('printf %s \\\n${x}'),
  probe('printf %s ${x}# # ${x} "\' `', (value) => `${value}#`),
  probe('printf %s "$(printf %s "${x}"; printf .)"', dot),
  probe('printf %s "$(printf %s \'${x}\'; printf .)"', dot),
  probe('printf %s "$(printf %s ${x}; printf .)"', dot),
  probe('printf %s "$( (printf %s ${x}); printf .)"', dot),
  probe('printf %s "$(printf %s "$(printf %s "${x}"; printf .)")"', dot),
  probe('printf %s "`printf %s ${x}; printf .`"', dot),
  probe('printf %s "`printf %s "${x}"; printf .`"', dot),
  probe('printf %s "`printf %s \'${x}\'; printf .`"', dot),
  probe('v=`printf %s "${x}"; printf .`; printf %s "$v"', dot),
  probe('cat <<END\n${x}\nEND', (value) => `${value}\n`),
  probe('cat <<END\n"${x}" \'${x}\' \\$x \\\\${x}\nEND', (value) => `"${value}" '${value}' $x \\${value}\n`),
  probe('cat <<-END\n\t<${x}>\n\tEND', (value) => `<${value}>\n`),
  probe('cat <<END; printf %s "${x}"\n${x}\nEND', (value) => `${value}\n${value}`),
  probe('cat <<ONE; cat <<TWO\n1${x}\nONE\n2${x}\nTWO', (value) => `1${value}\n2${value}\n`),
  probe("cat <<'END'; printf %s ${x}\n$${x} ' \"\nEND", (value) => `\${x} ' "\n${value}`),
  probe("cat <<'END'\n'${x}' $HOME `id` \\\\ \\$ \"\nEND", (value) => `'${value}' $HOME \`id\` \\\\ \\$ "\n`),
  probe("cat <<'ONE' <<'TWO'\n$1\nONE\n${x}\\\n$1\nTWO", (value) => `${value}\\\n$1\n`),
  probe('printf %s "$(cat <<\'END\'\n${x}.\nEND\n)"', dot),
  probe('printf %s "$(cat <<END\n${x}.\nEND\n)"', dot),
  probe('v=${x}; printf %s "$v"'),
  probe('v="${x}" w=\'${x}\'; printf %s "$v$w"', (value) => value + value),
  probe('v=1${x} sh -c \'printf %s "$v"\'', (value) => `1${value}`),
  probe('printf %s ${U_N:-${x}}'),
  probe('printf %s "${U_N:-${x}}"'),
  probe('printf %s "${U_N-a ${x} b}"', (value) => `a ${value} b`),
  probe('printf %s "${PATH:+${x}}"'),
  probe('cat <<END\n${U_N:-${x}}\nEND', (value) => `${value}\n`),
  probe('case ${x} in ${x}) printf same;; *) printf other;; esac', same),
  probe('case "${x}" in "${x}") printf same;; *) printf other;; esac', same),
  probe('printf %s "$(case a in b) printf ")" ;; a) printf %s "${x}" ;; esac; printf .)"', dot),
  probe('[ ${x} = ${x} ] && printf same', same),
  probe('for i in ${x} "${x}"; do printf "%s|" "$i"; done', (value) => `${value}|${value}|`),
  probe('set -- ${x} ${x}; printf %s "$#$1"', (value) => `2${value}`),
  probe('f() { printf %s "$1"; }; f ${x}'),
  probe('{ printf %s ${x}; } && ( ( printf %s ${x} ) ) || :', (value) => value + value),
  probe('printf %s $((1 + (2 * 3)))${x}', (value) => `7${value}`),
  probe('printf %s "$((1 << 2))${x}"', (value) => `4${value}`),
  probe('sh -c \'printf %s "$1"\' sh ${x}'),
  probe('printf "%s\\n" ${x} | { cat; }', (value) => `${value}\n`),
  probe("if true; then\n  # it's ${x}\n  printf %s ${x}\nfi"),
  probe('printf %s "~${x}" ~${x}', (value) => `~${value}~${value}`),
  probe('printf %s =${x},b*[', (value) => `=${value},b*[`),
  probe('printf %s "$$${x}" >/dev/null; printf %s "$HOME${x}"'),
];
const bashContexts: readonly Probe[] = [
  probe('cat <<< ${x}', (value) => `${value}\n`),
  probe('cat <<<"a${x}"', (value) => `a${value}\n`),
  probe('[[ ${x} == ${x} && -n a${x} ]] && printf same', same),
  probe('[[ a${x} =~ ^a${x}$ ]] && printf same', same),
  probe('l=(${x} "${x}"); printf "%s|" "${l[@]}"', (value) => `${value}|${value}|`),
  probe('l=(); l+=(${x}); printf %s "${l[0]}"'),
  probe('cat <(printf %s ${x})'),
  probe('printf %s $\'a\\tb\'${x}$"c"', (value) => `a\tb${value}c`),
  probe('for ((i = 0; i < 2; i++)); do printf %s ${x}; done', (value) => value + value),
];

const hostile: readonly string[] = [
  '',
  ' ',
  '\n',
  'a\n\nb\n\n',
  "'",
  '"',
  "'\"'\"'",
  `"'"'`,
  "'; touch pwned; '",
  '"; touch pwned; "',
  '$(touch pwned)',
  '"$(touch pwned)"',
  "'$(touch pwned)'",
  '`touch pwned`',
  '\\`touch pwned\\`',
  '; touch pwned',
  '\ntouch pwned\n',
  '&& touch pwned',
  '| touch pwned',
  '> pwned',
  '$((touch))',
  'a[$(touch pwned)]',
  '${x}',
  '$x',
  '$${x}',
  '${CAIRN_V1}',
  '$CAIRN_V1',
  '%s%n%d',
  '-rf',
  '--',
  '-n',
  '*',
  '/*',
  '[a-z]?',
  '{a,b}',
  '~',
  '~root',
  '!',
  '!!',
  '#',
  '# comment',
  '\\',
  '\\\\',
  'a\\',
  '\\n',
  'END\ntouch pwned\nEND',
  'END',
  '\tEND\n',
  ')',
  '(',
  ');;esac',
  '\u0001\u007f\u001b[0m',
  '\r\n',
  '\u2028\u2029\u0085\u00a0',
  '\ufeffa\u202eb',
  '日本語 ü 🪨',
  ' leading and trailing ',
  'a  b\tc',
  'x'.repeat(100_000),
  `'"$(touch pwned)\`\\`.repeat(3000),
];

describe.each(shells)('%s', { timeout: 60_000 }, (shell) => {
  test('T8 a program gets exactly the value, in every place', () => {
    const probes = shell === 'bash' ? [...contexts, ...bashContexts] : contexts;
    for (const value of hostile) {
      // Programs that are given a value more than once as an argument have one limit for all of them.
      check(shell, value.length > 10_000 ? probes.slice(0, 12) : probes, value);
    }
  });

  /** Ways to put commands within commands; what they print ends with a dot, so that no newline is lost. */
  const wrappers: readonly ((inner: string, layer: number) => string)[] = [
    (inner) => `printf %s "$( ${inner})"`,
    (inner) => `printf %s "$(\n${inner}\n)"`,
    (inner) => `( ${inner} )`,
    (inner) => `{ ${inner}\n}`,
    (inner) => `if true; then ${inner}\nfi`,
    (inner) => `case a in (b) ;; a) ${inner}\n;; esac`,
    (inner) => `v=$( ${inner}\n); printf %s "$v"`,
    (inner, layer) => `cat <<EOT${layer} | cat\n$( ${inner}\n)\nEOT${layer}\nprintf .`,
    (inner) => `f() { ${inner}\n}; f a ')' "("`,
    (inner) => `# it's "\n${inner}`,
    (inner) => `printf "" '"' "'" \\" \\'; ${inner}`,
  ];
  const cores: readonly string[] = ['${x}', '"${x}"', "'${x}'", '\'\'${x}""', '"${U_N:-${x}}"'];
  const values = fc
    .array(
      fc.oneof(
        fc.constantFrom(...hostile.slice(0, 40)),
        fc.string({ unit: 'grapheme', maxLength: 6 }),
        fc.constantFrom('\\', '"', "'", '`', '$', '(', ')', '\n', ' '),
      ),
      { maxLength: 6 },
    )
    .map((parts) => parts.join('').replaceAll('\0', ''))
    .filter((value) => value.isWellFormed());

  test('T8 random values in random places', () => {
    const place = fc.tuple(fc.constantFrom(...cores), fc.array(fc.nat(wrappers.length - 1), { maxLength: 4 }));
    fc.assert(
      fc.property(values, fc.array(place, { minLength: 1, maxLength: 12 }), (value, places) => {
        const probes = places.map(([core, layers]) => {
          let script = `printf %s ${core}; printf .`;
          let ending = '.';
          for (const [index, layer] of layers.entries()) {
            script = wrappers[layer]?.(script, index) ?? script;
            if (layer === 7) ending += '\n.';
          }
          return { script, prints: (value: string) => `${value}${ending}` };
        });
        check(shell, probes, value);
      }),
      { numRuns: scale(15, 200) },
    );
  });
});
