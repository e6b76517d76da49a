import { describe, expect, it } from 'vitest';
import type { CommandText } from '../../../graph/contracts/node-type.ts';
import { SecretReference } from '../../../graph/secret-reference.ts';
import { thrown } from '../../../../test/support/thrown.ts';
import { parseCommand } from './parse-command.ts';
import type { Names, Scope, TextFault } from '../expression/template.ts';

const names: Names = {
  inputs: ['x', 'n', 'name', 'VERSION', 'flag'],
  blocks: ['build', 'run-tests'],
  fieldsOf: () => undefined,
  secrets: ['TOKEN'],
  hasEach: false,
};
const scope: Scope = {
  inputs: { x: 'value', n: 5, name: 'Ann', VERSION: '1.2', flag: true },
  block: () => ({ status: 'completed', output: { f: ['a', 1] }, error: undefined }),
  metadata: {},
  each: undefined,
};

const isError = ({ severity }: TextFault): boolean => severity !== 'warning';
const compile = (text: string): CommandText => {
  const { template, faults } = parseCommand(text, names);
  expect(faults.filter(isError)).toEqual([]);
  return template.evaluate(scope);
};
const errorsOf = (text: string): readonly TextFault[] => parseCommand(text, names).faults.filter(isError);
const warningsOf = (text: string): readonly TextFault[] =>
  parseCommand(text, names).faults.filter((fault) => !isError(fault));

describe("T7 what is the workflow's", () => {
  it.each(['constructor', 'toString', '__proto__'])('T7 a command called %s takes values like any other', (command) => {
    expect(compile(`${command} \${inputs.name}`).env).toEqual({
      [Object.keys(compile('echo ${inputs.name}').env)[0] ?? '']: 'Ann',
    });
  });

  it.each([
    'echo hi',
    'echo $HOME ${HOME} ${PATH:+x} ${HOME_DIR-/x} "${A_1}"',
    'echo ${v:-x} ${v%.*} ${v##*/} ${v/a/b} ${v^^} ${v,,} ${v@Q} ${v:1:2} ${v=1} ${v?no}',
    'echo ${#v} ${#v[@]} ${!v} ${!v@} ${1} ${10} ${1:-x} ${@} ${*} ${?} ${$} ${-} ${#} ${!}',
    'echo $(date) $((1 + 2)) `date` $x $1 $$ $? $',
    'for f in *.txt; do echo ${f} ${f%.txt}; done',
    'while read -r line rest; do echo ${line}; done < f',
    'result=$(date); echo ${result} "${result}"',
    'export dir=/tmp; echo ${dir}',
    'f() { local a=1 b; echo ${a}${b}; }',
    'getopts ab: opt; echo ${opt}',
    'printf -v out %s a; echo ${out}',
    'arr=(1 2); echo ${arr[0]} ${arr[@]} ${arr[*]} ${arr[$i]} ${other[@]}',
    'declare -A map; echo ${map["k"]}',
    'mapfile -t lines < f; echo ${lines[@]}',
    "sh -c 'for i in a; do echo ${i}; done'",
    'build=1; echo ${build}',
    'each=1; echo ${each}',
    "# ${nobody} it's\necho a",
    "cat <<'EOF'\n${nobody}\nEOF",
    'echo \\${nobody} "\\${nobody}"',
    "docker ps --format '{{.Names}}'",
  ])('T7 %j is left to the shell', (text) => {
    const { template, faults } = parseCommand(text, names);
    expect(faults).toEqual([]);
    expect(template.isLiteral).toBe(true);
    expect(template.evaluate(scope)).toEqual({ script: text, env: {} });
  });

  it.each([
    ['echo $${x} $${y:-1} "$${x}" \'$${x}\'', 'echo ${x} ${y:-1} "${x}" \'${x}\''],
    ['echo $$ $$x "$$$${x}"', 'echo $$ $$x "$$${x}"'],
    ['# $${x}\necho $${x}', '# $${x}\necho ${x}'],
    ['cat <<EOF\n$${x}\nEOF', 'cat <<EOF\n${x}\nEOF'],
  ])("T7 $${ in %j is the shell's", (text, script) => {
    expect(compile(text)).toEqual({ script, env: {} });
  });

  it.each([
    ["cat <<'E'\n$HOME `id` \\${x} $${y}\nE", 'cat <<E\n\\$HOME \\`id\\` \\\\${CAIRN_V1} \\${y}\nE'],
    ['cat <<"E"\n${x}\nE\necho $A', 'cat <<E\n${CAIRN_V1}\nE\necho $A'],
    ['cat <<-\\E\n\t${HOME} ${nobody} ${x}\n\tE', 'cat <<-E\n\t\\${HOME} \\${nobody} ${CAIRN_V1}\n\tE'],
    ["cat <<'A' <<'B'\n$1\nA\n${x}$1\nB", "cat <<'A' <<B\n$1\nA\n${CAIRN_V1}\\$1\nB"],
  ])('T8 a quoted here-document %j with a reference is written as one that the shell expands', (text, script) => {
    expect(compile(text)).toEqual({ script, env: { CAIRN_V1: 'value' } });
  });

  it.each([
    ['echo ${VERSION}', '1.2'],
    ['echo ${inputs.VERSION}', '1.2'],
    ['echo ${n + 1}', '6'],
    ['echo ${flag}', 'true'],
    ['echo ${!flag}', 'false'],
    ['echo ${build.f}', '["a",1]'],
    ['echo ${run-tests.f}', '["a",1]'],
    ['echo ${blocks["run-tests"].outputs.f}', '["a",1]'],
    ["echo '${blocks['run-tests'].f}'", '["a",1]'],
    ['echo "${default(x, "}")}"', 'value'],
    ['echo ${x == "value" ? "yes" : "no"}', 'yes'],
  ])("T7 %j is the workflow's", (text, value) => {
    expect(Object.values(compile(text).env)).toEqual([value]);
  });

  it.each([
    ['echo ${nam}', 5, 'no input "nam"', 'write ${name}, or $${nam}'],
    ['echo "${whatever}"', 6, 'no input "whatever"', 'write $${whatever}'],
    ['echo ${inputs.nam}', 7, 'no input "nam"', 'inputs.name'],
    ['echo ${buidl.f}', 7, 'no input or block "buidl"', 'build.f'],
    ['echo ${run-tets.f}', 7, 'no input or block "run"', 'write run-tests'],
    ['echo ${build}', 7, 'build is a block', 'build.outputs'],
    ['echo ${VERSION:-1}', 14, 'cannot be read', 'write $${'],
    ['echo ${name%.*}', 12, 'cannot be read', 'write $${'],
    ['echo ${x', 5, 'not closed', 'write }'],
    ['echo ${arr["k"]}', 7, 'no input or block "arr"', 'use'],
  ])('T7 %j is a fault', (text, offset, message, fix) => {
    const [fault] = errorsOf(text);
    expect(fault?.message).toContain(message);
    expect(fault?.fix).toContain(fix);
    expect(fault?.offset).toBe(offset);
    expect(thrown(() => parseCommand(text, names).template.evaluate(scope)).code).toBe('EXPRESSION_FAILED');
  });

  it('T7 an input that the command also sets is warned of', () => {
    expect(warningsOf('for name in a b; do echo ${name}; done')).toMatchObject([{ rule: 'T7', offset: 25 }]);
    expect(warningsOf('name=1; echo ${inputs.name}')).toEqual([]);
    expect(warningsOf('export A=${x} B="${name}"')).toEqual([]);
  });
});

describe('T8 values are data', () => {
  it('T8 each value is expanded as its place needs', () => {
    expect(compile('a ${x} "b ${x}" \'c ${x}\' ${n}\ncat <<E\n${x}\nE')).toEqual({
      script: 'a "${CAIRN_V1}" "b ${CAIRN_V1}" \'c \'"${CAIRN_V1}"\'\' "${CAIRN_V2}"\ncat <<E\n${CAIRN_V1}\nE',
      env: { CAIRN_V1: 'value', CAIRN_V2: '5' },
    });
    expect(compile('echo ${x} CAIRN_V1').script).toBe('echo "${CAIRN_V_1}" CAIRN_V1');
    expect(compile('echo ${ x } ${x} ${inputs.x}').env).toEqual({ CAIRN_V1: 'value', CAIRN_V2: 'value' });
  });

  it('T8 raw() puts text in literally', () => {
    expect(compile('grep ${raw(x)} \'${raw(name + "$(a)")}\' $((${raw(n)} + 1)) ${x}')).toEqual({
      script: 'grep value \'Ann$(a)\' $((5 + 1)) "${CAIRN_V1}"',
      env: { CAIRN_V1: 'value' },
    });
    expect(parseCommand('echo ${raw(x)}', names).template).toMatchObject({
      isLiteral: false,
      named: { inputs: ['x'] },
    });
  });

  it('T10 a secret reaches a command by reference', () => {
    const { script, env } = compile('curl -H "Authorization: ${secrets.TOKEN}"');
    expect(script).toBe('curl -H "Authorization: ${CAIRN_V1}"');
    expect(env['CAIRN_V1']).toEqual(new SecretReference([{ secret: 'TOKEN' }]));
    expect(errorsOf('echo ${raw(secrets.TOKEN)}')[0]?.rule).toBe('T10');
  });

  it.each([
    ["cat <<'the end'\n${x}\nthe end", 'such a delimiter'],
    ["echo `cat <<'E'\n${x}\nE\n`", 'such a delimiter'],
    ['echo $((${n} + 1))', 'arithmetic'],
    ['echo "$((${n} + 1))"', 'arithmetic'],
    ['((${n} > 1))', 'arithmetic'],
    ['for ((i = 0; i < ${n}; i++)); do :; done', 'arithmetic'],
    ['echo $[${n} + 1]', 'arithmetic'],
    ['let a=${n}', 'arithmetic'],
    ["echo $'a${x}'", "$'…'"],
    ['echo `echo \\"${x}\\"`', 'backquotes'],
    ['echo ${V%${x}}', 'expansion'],
    ['echo ${V:${n}}', 'expansion'],
    ['echo "${V/${x}/b}"', 'expansion'],
    ['echo "${V%\'${x}\'}"', 'expansion'],
    ['echo ${V:-"${x}"}', 'expansion'],
    ['cat <<${x}\na\nvalue', 'delimiter'],
    ['echo \\${x}', 'backslash'],
    ['echo "\\${x}"', 'backslash'],
    ['export ${x}=1', 'name of a variable'],
    ['${x}=1', 'name of a variable'],
    ['A${x}=1 cmd', 'name of a variable'],
    ['unset ${x}', 'name of a variable'],
    ['read -r ${x}', 'name of a variable'],
    ['printf -v ${x} a', 'name of a variable'],
    ['[ -v ${x} ]', 'name of a variable'],
    ['a[${n}]=1', 'subscript'],
    ['a=([${n}]=1)', 'subscript'],
    ['[[ ${n} -eq 1 ]]', '[[ compares'],
    ['[[ y && ${n} -eq 1 ]]', '[[ compares'],
    ['[[ ! ( 1 -eq ${n} ) ]]', '[[ compares'],
    ['unset -v "a[${n}]"', 'name of a variable'],
    ['declare "a[${n}]=1"', 'subscript'],
    ['$CMD "a[${n}]"', 'subscript'],
    ['exec {fd[${n}]}>f', 'subscript'],
    ['if true; then builtin declare -i a=${n}; fi', 'this option'],
    ['declare -i a; a=${n}', 'this option'],
    ['2>&1 >f command let ${x}', 'arithmetic'],
  ])('T8 %j is a fault: no value can be passed there', (text, message) => {
    expect(errorsOf(text)).toHaveLength(1);
    expect(errorsOf(text)[0]).toMatchObject({ rule: 'T8', message: expect.stringContaining(message) as string });
  });

  it.each([
    'export A=${x} B="${x}"',
    'A=${x} B=1${x} cmd --opt=${x} key=${x}',
    'make ${x}=y',
    'read -r -p "${x}: " line',
    '[ ${n} -eq 1 ] && test ${x} = a && [[ ${x} == a ]]',
    'echo $(( $(wc -l < ${x}) + 1 ))',
    'arr=(${x} "${x}")',
    'ls *${n}*',
    'git commit -m "[${x}] fix"',
    'pip install "pkg[${x}]"',
    'grep "[${x}]" f',
  ])('T8 %j loads without a word', (text) => {
    expect(parseCommand(text, names).faults).toEqual([]);
  });

  it.each([
    ['a\0b', 'NUL'],
    ['\ud800', 'lone surrogate'],
    ['x'.repeat(131_001), 'too large'],
  ])('T8 what no program can be handed is refused before anything runs', (x, reason) => {
    const { template } = parseCommand('echo ${x}', names);
    const error = thrown(() => template.evaluate({ ...scope, inputs: { x } }));
    expect(error.code).toBe('EXPRESSION_FAILED');
    expect(error.message).toContain(reason);
  });
});

describe('T9 what evaluates a value again', () => {
  it.each([
    'eval echo ${x}',
    'sh -c "echo ${x}"',
    "bash -lc 'echo ${x}'",
    'sudo -n bash -c "${x}"',
    'docker exec c /bin/sh -c "echo ${x}"',
    'xargs -n1 sh -c "echo ${x}"',
    'find . -exec sh -c "echo ${x}" \\;',
    'ssh host "rm ${x}"',
    'ssh -p 22 host rm ${x}',
    'python3 -c "print(\'${x}\')"',
    'node -e "console.log(${n})"',
    'perl -ne "print ${x}"',
    'awk "/${x}/" f',
    'awk -F: -v a=1 "/${x}/" f',
    'sed -e "s/${x}/b/" f',
    'sed -i "s/${x}/b/" f',
    'psql -c "select ${x}"',
    'echo ${x} | sh',
    '(echo ${x}) | bash -s',
    'echo ${x} | xargs rm',
    'cat <<E | bash\n${x}\nE',
    'bash <<E\n${x}\nE',
    'ssh host <<E\n${x}\nE',
    'eval "$(printf %s ${x})"',
    'trap "rm ${x}" EXIT',
    'PS4=${x} cmd',
    '>/dev/null eval ${x}',
    'command \\eval ${x}',
    '$SUDO ${PREFIX} eval ${x}',
  ])('T9 %j is warned of, once', (text) => {
    expect(errorsOf(text)).toEqual([]);
    expect(warningsOf(text)).toMatchObject([{ rule: 'T9' }]);
  });

  it.each([
    'sh -c \'echo "$1"\' sh ${x}',
    "awk -v a=${x} '{ print a }' f",
    'python3 script.py ${x}',
    'sed s/a/b/ ${x}',
    'echo eval ${x}',
    'echo ${x} | grep sh',
    'echo ${x}; sh script.sh',
    'sh script.sh ${x}',
    'cat <<E\n${x}\nE\nbash script.sh',
    'cat f | sh; echo ${x}',
  ])('T9 %j is data to all', (text) => {
    expect(parseCommand(text, names).faults).toEqual([]);
  });

  it('T9 warnings, however many, keep no command from loading', () => {
    const text = 'eval ${x}\n'.repeat(150);
    expect(warningsOf(text)).toHaveLength(150);
    expect(compile(text).env).toEqual({ CAIRN_V1: 'value' });
  });
});

describe('places that shells read in ways of their own', () => {
  it.each([
    ['cat <<$E\n${x}\n$E', 'delimiter'],
    ['cat <<`E`\n${x}\nE', 'delimiter'],
    ['a+=(<<E\n${x}\nE\n)', 'within a list'],
  ])('T8 %j is a fault', (text, message) => {
    expect(errorsOf(text)[0]?.message).toContain(message);
  });

  it('T8 patterns with parentheses end where the shell ends them', () => {
    expect(compile('a="$(case b in @(a|b)) echo "${x}";; (c) ;; esac)"').script).toContain('echo "${CAIRN_V1}";;');
    expect(compile('echo "$(\ncase a\nin a) echo ${x} ;; esac)"').script).toContain('echo "${CAIRN_V1}" ;;');
    expect(compile('echo "$(echo \')\' ")" \\) # )\n)${x}"').script).toMatch(/\)\$\{CAIRN_V1\}"$/);
  });
});

describe('hostile commands', () => {
  const inside: readonly (readonly [string, string])[] = [
    ['$(', ')'],
    ['( ', ')'],
    ['"$(', ')"'],
    ['${U:-', '}'],
    ['$((', '))'],
  ];
  it.each(inside)('P6 %s nested without end is a fault, not a crash', (open, close) => {
    for (const text of [open.repeat(20_000), open.repeat(20_000) + '${x}' + close.repeat(20_000)]) {
      const { faults } = parseCommand(`${text} \${x}`, names);
      expect(faults.some(({ message }) => message.includes('nested deeper'))).toBe(true);
    }
  });

  it('P6 of very many faults the first hundred are listed', () => {
    const { faults } = parseCommand('echo ${foo}\n'.repeat(50_000), names);
    expect(faults).toHaveLength(101);
    expect(faults.at(-1)?.message).toContain('more faults than are listed');
  });
});
