/** Completion for zsh. */
import { listsRuns, namesWith, type CompletedCommand } from './completed.ts';

function quoted(text: string): string {
  return `'${text.replaceAll("'", String.raw`'\''`)}'`;
}

/** `'--all:all of them'` */
function described(name: string, description: string): string {
  return quoted(`${name}:${description.replaceAll('\\', '\\\\').replaceAll(':', String.raw`\:`)}`);
}

function valueCase({ name, options }: CompletedCommand): readonly string[] {
  const valued = options.filter(({ takesValue }) => takesValue);
  const chosen = valued.filter(({ choices }) => choices.length > 0);
  const free = valued.filter(({ choices }) => choices.length === 0).map((option) => quoted(`${name} ${option.name}`));
  return [
    ...chosen.map(
      (option) => `    ${quoted(`${name} ${option.name}`)}) compadd -- ${option.choices.join(' ')}; return ;;`,
    ),
    ...(free.length === 0 ? [] : [`    ${free.join('|')}) _files; return ;;`]),
  ];
}

/** A script to be sourced, or kept as \`_cairn\` in a folder of \`$fpath\`. */
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
${commands.flatMap(valueCase).join('\n')}
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
