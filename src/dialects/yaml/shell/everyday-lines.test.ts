/**
 * Everyday command lines, each accepted or refused as a real shell would have it: the oracle is bash, which runs every line with values
 * that leave a file behind if they are evaluated, or that name a variable.
 */
import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { isError, type Names } from '../expression/template.ts';
import { parseCommand } from './parse-command.ts';

const names: Names = { inputs: ['x'], blocks: [], fieldsOf: () => undefined, secrets: [], hasEach: false };
const bash = '/bin/bash';

/** Where values are written: brackets, subscripts, comparisons and names that are only text. */
const words = [
  '"[${x}] fix"',
  '"pkg[${x}]"',
  'pkg[${x}]',
  '"[${x}]"',
  '"a[${x}]=1"',
  '"x[0][${x}].y"',
  '--opt="a[${x}]"',
  '"${x}"',
  '-v "${x}"',
  'key="[${x}]"',
];
const programs =
  `git commit -m|git tag -a|git log --grep|pip install|npm install|cargo add|poetry add|grep|rg -n|echo|printf "%s\\n"
curl -d|jq|yq|docker run|docker build -t|kubectl get pods -o|aws s3 cp|gh issue create -t|find . -name|make|sudo make
env A=1 npm run|nohup node|time tar cf`.split(/[|\n]/);
const lines = [
  'if grep -q "[${x}]" f; then echo "a[${x}]"; fi',
  'for i in "[${x}]" "a[${x}]"; do echo "$i [${x}]"; done',
  'case "[${x}]" in "a[${x}]") echo "a[${x}]";; esac',
  '[ "a[${x}]" = "[${x}]" ] && echo same',
  '[ "${x}" -eq 1 ] || test "a[${x}]" -gt 2',
  '[[ "a[${x}]" == "[${x}]" ]] && echo same',
  '[[ "${x}" == y && 1 -eq 1 ]]',
  '[[ "a[${x}]" == y || 2 -gt 1 ]] && echo "a[${x}]"',
  'V="a[${x}]" env',
  'V="[${x}]"; echo "$V"',
  'export V="a[${x}]"',
  'readonly V="a[${x}]"',
  'f() { local V="a[${x}]"; echo "$V"; }; f',
  'f() { echo "a[$1]"; }; f "a[${x}]"',
  'function f { echo "a[${x}]"; }; f',
  'v=("[${x}]" "a[${x}]")',
  'v=(a[${x}] [${x}])',
  'echo "a[${x}]" | while read -r line; do echo "$line"; done',
  'cat <<< "a[${x}]"',
  'cat > "a[${x}].txt" < /dev/null',
  'cat <<END\na[${x}]\nEND',
  'echo $(echo "a[${x}]")',
  'command echo "a[${x}]"',
  'builtin echo "a[${x}]"',
  'read -r -p "a[${x}] " v',
  'printf -v v "%s" "a[${x}]"',
  'set -- "a[${x}]"; echo "$1"',
  'echo unset let read "a[${x}]"',
  'ls [${x}]* a[${x}]',
  // Refused: bash evaluates the value, or takes it for a name.
  'unset "a[${x}]"',
  'unset a[${x}]',
  'unset "${x}"',
  'unset -v "a[${x}]"',
  'command unset "a[${x}]"',
  'builtin unset "a[${x}]"',
  'command builtin unset "a[${x}]"',
  'time -p unset "a[${x}]"',
  'if true; then unset "a[${x}]"; fi',
  'f() { unset "a[${x}]"; }; f',
  'function f { unset "a[${x}]"; }; f',
  'if [[ y ]] then unset "a[${x}]"; fi',
  'for ((i = 0; i < 1; i++)) { unset "a[${x}]"; }',
  'true && unset "a[${x}]"',
  '(unset "a[${x}]")',
  'U=unset; $U "a[${x}]"',
  '$(echo unset) "a[${x}]"',
  'test -v "a[${x}]"',
  '[ -v "a[${x}]" ]',
  '[ ! -v "a[${x}]" ]',
  'builtin test -v "a[${x}]"',
  'test y -a -v "a[${x}]"',
  'printf -v "a[${x}]" y',
  'printf -v"a[${x}]" y',
  'builtin printf -v "a[${x}]" y',
  'let "${x}"',
  'let "a[${x}]=1"',
  'let "1 + ${x}"',
  '[[ "${x}" -eq 1 ]]',
  '[[ 1 -lt ${x} ]]',
  '[[ y && "${x}" -eq 1 ]]',
  '[[ n == y || "${x}" -eq 1 ]]',
  '[[ ( "${x}" -eq 1 ) ]]',
  '[[ ! ( y && 1 -ne "${x}" ) ]]',
  'a[${x}]=1',
  'a["${x}"]=1',
  'b=1 a[${x}]=1',
  'v=([${x}]=1)',
  'v+=([${x}]+=1)',
  'declare "a[${x}]=1"',
  'declare v=1 "a[${x}]=2"',
  'f() { local a["${x}"]=1; }; f',
  'read "a[${x}]" <<< y',
  'read -ra"${x}" <<< "y z"',
  'read "${x}" <<< y',
  'exec {a[${x}]}>/dev/null',
  'case y in "a[${x}]" | b[${x}]) echo;; esac',
  'export "${x}=1"',
  'declare -i v="${x}"',
  'echo $((${x} + 1))',
  'echo "${a[${x}]}"',
  '((${x} > 1))',
];
/** Refused though this bash takes the value as text: other versions evaluate it, or the quotes alone decide. */
const refusedAnyway = [
  'v=("[${x}]=1")',
  '[[ -v a[${x}] ]]',
  '[[ y && -v "a[${x}]" ]]',
  'a[b[${x}]]=1',
  'a[${x}]+=1 true',
  'echo $((a[${x}]))',
];
const corpus = [...programs.flatMap((program) => words.map((word) => `${program} ${word}`)), ...lines];

/** Values that tell whether they are evaluated: as a subscript, as arithmetic, or as the name of a variable. */
const values = ['0$(>$MARK)', 'a[$(>$MARK)]', 'zz', 'zz zz'];

/** The lines whose values bash evaluates or takes for the name of a variable. */
function evaluatedByBash(all: readonly string[]): ReadonlySet<string> {
  const folder = mkdtempSync(join(tmpdir(), 'cairn-everyday-'));
  try {
    const script = all.flatMap((line, index) =>
      values.map((value) => {
        const set = `MARK=${folder}/${index}; a=(1 2); x=${quote(value)}`;
        const mark = `[[ -v zz ]] && >$MARK`;
        return `( ${set}; eval ${quote(line)}; ${mark} )`;
      }),
    );
    // `unset` of a named variable is seen by a variable that is gone.
    const unsets = all.map(
      (line, index) => `( MARK=${folder}/${index}; x=zz; zz=1; eval ${quote(line)}; [[ -v zz ]] || >$MARK )`,
    );
    const file = join(folder, 'script');
    writeFileSync(file, [...script, ...unsets].join('\n'));
    spawnSync(bash, ['--noprofile', '--norc', file], {
      cwd: mkdtempSync(join(folder, 'cwd-')),
      env: { PATH: '/nowhere' },
      stdio: ['ignore', 'ignore', 'ignore'],
    });
    return new Set(readdirSync(folder).flatMap((name) => (/^\d+$/.test(name) ? [all[Number(name)] as string] : [])));
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

const quote = (text: string): string => `'${text.replaceAll("'", `'\\''`)}'`;

describe.skipIf(!existsSync(bash))(
  'T8 everyday command lines (bash is the oracle; skipped where there is none)',
  () => {
    const evaluated = evaluatedByBash(corpus);
    const isRefused = (line: string): boolean => parseCommand(line, names).faults.some(isError);

    it('T8 there are 300 of them, and bash evaluates a value in many', () => {
      expect(corpus.length).toBeGreaterThanOrEqual(300);
      expect(evaluated.size).toBeGreaterThanOrEqual(40);
    });

    it('T8 what bash evaluates is refused', () => {
      expect([...evaluated].filter((line) => !isRefused(line))).toEqual([]);
    });

    it.each(refusedAnyway)('T8 %j is refused, to be safe', (line) => {
      expect(isRefused(line)).toBe(true);
    });

    it('T8 what bash takes as text is accepted', () => {
      expect(corpus.filter((line) => !evaluated.has(line) && isRefused(line))).toEqual([]);
    });
  },
);
