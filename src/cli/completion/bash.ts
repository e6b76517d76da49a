/** Completion for bash. */
import { listsRuns, namesWith, type CompletedCommand } from './completed.ts';

/** `cairn ls --status` and its choices; options that take anything complete files. */
function valueCase({ name, options }: CompletedCommand): readonly string[] {
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
${commands.flatMap(valueCase).join('\n')}
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
