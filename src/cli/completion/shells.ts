/** Completion for zsh. */
import type { Field } from '../../operations/contract/operation.ts';
import type { Command } from '../command.ts';
import { globalFields, primaryOptionOf } from '../parse.ts';

// What shells can complete of a command line, taken from the declared commands and options.

export interface CompletedOption {
  /** With leading dashes. */
  readonly name: string;
  readonly description: string;
  readonly takesValue: boolean;
  /** Possible values; empty if anything is possible, files included. */
  readonly choices: readonly string[];
}

export interface CompletedCommand {
  readonly name: string;
  readonly summary: string;
  readonly options: readonly CompletedOption[];
  /** What its positional arguments are: fixed words, runs, or files. */
  readonly words: readonly string[] | 'runs' | 'files';
}

function completedOption([name, field]: readonly [string, Field]): CompletedOption {
  const { type, description, choices = [] } = field;
  return { name: `--${primaryOptionOf(name, field)}`, description, takesValue: type !== 'flag', choices };
}

function completedCommand({ name, summary, fields }: Command): CompletedCommand {
  const first = Object.entries(fields).find(([, { isPositional }]) => isPositional === true);
  const options = Object.entries({ ...fields, ...globalFields }).filter(
    ([, { isPositional }]) => isPositional !== true,
  );
  const isRun = first?.[1].type === 'run' || first?.[1].type === 'checkpoint';
  const words = first?.[1].choices ?? (isRun ? 'runs' : 'files');
  return { name, summary, options: options.map(completedOption), words };
}

export function completedCommands(commands: readonly Command[]): readonly CompletedCommand[] {
  return commands.map(completedCommand);
}

/** Command that prints the runs, one per line. Shells call it to complete the name of a run. */
const listsRuns = 'cairn completion runs 2>/dev/null';

/** Names of the commands whose positional arguments are of this kind. */
function namesWith(commands: readonly CompletedCommand[], words: 'runs' | 'files'): readonly string[] {
  return commands.filter((command) => command.words === words).map(({ name }) => name);
}

function quotedForZsh(text: string): string {
  return `'${text.replaceAll("'", String.raw`'\''`)}'`;
}

/** `'--all:all of them'` */
function described(name: string, description: string): string {
  return quotedForZsh(`${name}:${description.replaceAll('\\', '\\\\').replaceAll(':', String.raw`\:`)}`);
}

function zshValueCase({ name, options }: CompletedCommand): readonly string[] {
  const valued = options.filter(({ takesValue }) => takesValue);
  const chosen = valued.filter(({ choices }) => choices.length > 0);
  const free = valued
    .filter(({ choices }) => choices.length === 0)
    .map((option) => quotedForZsh(`${name} ${option.name}`));
  return [
    ...chosen.map(
      (option) => `    ${quotedForZsh(`${name} ${option.name}`)}) compadd -- ${option.choices.join(' ')}; return ;;`,
    ),
    ...(free.length === 0 ? [] : [`    ${free.join('|')}) _files; return ;;`]),
  ];
}

/** A script to be sourced, or saved as \`_cairn\` in a folder of \`$fpath\`. */
export function zshCompletion(commands: readonly CompletedCommand[]): string {
  const fixed = commands.flatMap(({ name, words }) => (typeof words === 'string' ? [] : [[name, words] as const]));
  return `#compdef cairn
# Completion of cairn for zsh. Load it with: source <(cairn completion zsh)
_cairn() {
  local command='' i
  local -a list
  for ((i = 2; i < CURRENT; i++)); do
    if [[ \${words[i]} != -* ]]; then command=\${words[i]}; break; fi
  done
  if [[ -z $command ]]; then
    list=(${commands.map(({ name, summary }) => described(name, summary)).join(' ')})
    _describe 'command' list; return
  fi
  case "$command \${words[CURRENT-1]}" in
${commands.flatMap(zshValueCase).join('\n')}
  esac
  if [[ \${words[CURRENT]} == -* ]]; then
    case $command in
${commands.map(({ name, options }) => `      ${name}) list=(${options.map((option) => described(option.name, option.description)).join(' ')}) ;;`).join('\n')}
    esac
    _describe -o 'option' list; return
  fi
  case $command in
${fixed.map(([name, words]) => `    ${name}) compadd -- ${words.join(' ')} ;;`).join('\n')}
    ${namesWith(commands, 'runs').join('|')}) compadd -- \${(f)"$(${listsRuns})"} ;;
    *) _files ;;
  esac
}
if [[ \${funcstack[1]} == _cairn ]]; then _cairn "$@"; else compdef _cairn cairn; fi
`;
}

// Completion for bash.

/** `cairn ls --status` and its choices; options that take anything complete files. */
function bashValueCase({ name, options }: CompletedCommand): readonly string[] {
  const valued = options.filter(({ takesValue }) => takesValue);
  const chosen = valued.filter(({ choices }) => choices.length > 0);
  const free = valued.filter(({ choices }) => choices.length === 0).map((option) => `"${name} ${option.name}"`);
  return [
    ...chosen.map(
      (option) =>
        `    "${name} ${option.name}") COMPREPLY=($(compgen -W "${option.choices.join(' ')}" -- "$current")); return ;;`,
    ),
    ...(free.length === 0 ? [] : [`    ${free.join('|')}) COMPREPLY=($(compgen -f -- "$current")); return ;;`]),
  ];
}

/** A script to be sourced. */
export function bashCompletion(commands: readonly CompletedCommand[]): string {
  const names = commands.map(({ name }) => name);
  const fixed = commands.flatMap(({ name, words }) => (typeof words === 'string' ? [] : [[name, words] as const]));
  return `# Completion of cairn for bash. Load it with: source <(cairn completion bash)
_cairn() {
  local current=\${COMP_WORDS[COMP_CWORD]} before=\${COMP_WORDS[COMP_CWORD-1]} command= i
  for ((i = 1; i < COMP_CWORD; i++)); do
    if [[ \${COMP_WORDS[i]} != -* ]]; then command=\${COMP_WORDS[i]}; break; fi
  done
  COMPREPLY=()
  if [[ -z $command ]]; then
    COMPREPLY=($(compgen -W "${[...names, 'help', '--help', '--version'].join(' ')}" -- "$current")); return
  fi
  case "$command $before" in
${commands.flatMap(bashValueCase).join('\n')}
  esac
  if [[ $current == -* ]]; then
    case $command in
${commands.map(({ name, options }) => `      ${name}) COMPREPLY=($(compgen -W "${options.map((option) => option.name).join(' ')}" -- "$current")) ;;`).join('\n')}
    esac
    return
  fi
  case $command in
${fixed.map(([name, words]) => `    ${name}) COMPREPLY=($(compgen -W "${words.join(' ')}" -- "$current")) ;;`).join('\n')}
    help) COMPREPLY=($(compgen -W "${names.join(' ')}" -- "$current")) ;;
    ${namesWith(commands, 'runs').join('|')}) while IFS= read -r i; do [[ $i != "$current"* ]] || COMPREPLY+=("$i"); done < <(${listsRuns}) ;;
    *) COMPREPLY=($(compgen -f -- "$current")) ;;
  esac
}
complete -o filenames -F _cairn cairn
`;
}

// Completion for fish.

function quotedForFish(text: string): string {
  return `'${text.replaceAll('\\', '\\\\').replaceAll("'", String.raw`\'`)}'`;
}

function linesOf({ name, summary, options, words }: CompletedCommand): readonly string[] {
  const inCommand = `complete -c cairn -n '__fish_seen_subcommand_from ${name}'`;
  return [
    `complete -c cairn -n __fish_use_subcommand -a ${name} -d ${quotedForFish(summary)}`,
    ...options.map(({ name: option, description, takesValue, choices }) => {
      const value = choices.length > 0 ? ` -x -a ${quotedForFish(choices.join(' '))}` : takesValue ? ' -r -F' : '';
      return `${inCommand} -l ${option.slice(2)}${value} -d ${quotedForFish(description)}`;
    }),
    ...(typeof words === 'string' ? [] : [`${inCommand} -a ${quotedForFish(words.join(' '))}`]),
  ];
}

/** A script to be sourced, or saved in fish's folder of completions. */
export function fishCompletion(commands: readonly CompletedCommand[]): string {
  const seen = (words: 'runs' | 'files'): string =>
    `'__fish_seen_subcommand_from ${namesWith(commands, words).join(' ')}'`;
  return `# Completion of cairn for fish. Load it with: cairn completion fish | source
complete -c cairn -f
${commands.flatMap(linesOf).join('\n')}
complete -c cairn -n ${seen('runs')} -a '(${listsRuns})'
complete -c cairn -n ${seen('files')} -F
`;
}
