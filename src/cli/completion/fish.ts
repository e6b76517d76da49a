/** Completion for fish. */
import { listsRuns, namesWith, type CompletedCommand } from './completed.ts';

function quoted(text: string): string {
  return `'${text.replaceAll('\\', '\\\\').replaceAll("'", String.raw`\'`)}'`;
}

function linesOf({ name, summary, options, words }: CompletedCommand): readonly string[] {
  const inCommand = `complete -c cairn -n '__fish_seen_subcommand_from ${name}'`;
  return [
    `complete -c cairn -n __fish_use_subcommand -a ${name} -d ${quoted(summary)}`,
    ...options.map(({ name: option, description, takesValue, choices }) => {
      const value = choices.length > 0 ? ` -x -a ${quoted(choices.join(' '))}` : takesValue ? ' -r -F' : '';
      return `${inCommand} -l ${option.slice(2)}${value} -d ${quoted(description)}`;
    }),
    ...(typeof words === 'string' ? [] : [`${inCommand} -a ${quoted(words.join(' '))}`]),
  ];
}

/** A script to be sourced, or kept in fish's folder of completions. */
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
