/** The block ReadFiles: reads one file, or all files that match patterns. */
import { NodeFailure } from '../../../graph/contracts/node-contract.ts';
import type { InputFault, Inputs, Need, NodeType, TypedNodeContext } from '../../../graph/contracts/node-type.ts';
import { pathNeeds, resolveLinks, resolveLocalPath } from '../../file/local-path.ts';
import {
  choiceOption,
  fieldsOf,
  flagOption,
  inputFault,
  numberOption,
  optionFaults,
  outputField,
  readText,
  refuseInput,
  textField,
  parseJson,
} from '../block-options.ts';
import { checkPatterns, findFiles } from './find-files.ts';
import { createIgnoreRules } from './ignored-files.ts';
import { describeEntries, readEntries, readEntry, type LineRange, type Reading, encodingOption } from './read-file.ts';

const mode = choiceOption('mode', 'The whole text, its outline, or its beginning and outermost sections.', [
  'full',
  'outline',
  'summary',
]);
const maxFiles = numberOption('max_files', 'Files that are read, by path.', { default: 20, min: 1, max: 100 });
const maxSizeKb = numberOption('max_file_size_kb', 'KiB of a file that is still read.', {
  default: 100,
  min: 1,
  max: 10_240,
});
const respectGitignore = flagOption('respect_gitignore', 'Leave out what .gitignore files leave out.', true);
const options = [mode, maxFiles, maxSizeKb, respectGitignore, encodingOption];

const lineField = {
  schema: {
    anyOf: [
      { type: 'integer', minimum: 1 },
      { type: 'string', pattern: '^[0-9]+$' },
    ],
  },
} as const;
const patternList = { schema: { type: ['array', 'string'], items: { type: 'string' } } } as const;

/** The `ReadFiles` of docs/spec/blocks.md. */
export const readFiles: NodeType = {
  name: 'ReadFiles',
  description: 'Reads a file, or the files of a folder that patterns name.',
  inputs: {
    path: textField('One file.'),
    patterns: { ...patternList, description: 'Up to 50 patterns such as `src/**/*.ts`, as a list or its JSON.' },
    base_path: textField('The folder that path and patterns start from. Default: where the process was started.'),
    exclude_patterns: { ...patternList, description: 'What patterns leave out, in the way of .gitignore.' },
    line_start: { ...lineField, description: 'First line of `path`, counted from 1.' },
    line_end: { ...lineField, description: 'Last line of `path`.' },
    ...fieldsOf(options),
  },
  outputs: {
    content: outputField('string', 'The text of one file; of several a YAML text that lists them; of none, nothing.'),
    files: outputField('array', 'Of { path, content, size_bytes }; `encoding: base64` where it is no text.'),
    total_files: outputField('integer', 'Files that were read.'),
    total_size_kb: outputField('number', 'KiB of the files that were read.'),
    skipped_files: outputField('array', 'Of { path, reason, details }.'),
    patterns_matched: outputField('integer', 'Files that the patterns name, skipped ones included.'),
    sections: outputField('array', 'With mode outline, of one file: { title, level, line }.'),
    total_sections: outputField('integer', 'How many there are.'),
    max_depth: outputField('integer', 'The deepest level.'),
  },
  effect: 'read',
  needs,
  check: (inputs) => [...optionFaults(options, inputs), ...sourceFaults(inputs)],
  run,
};

function needs(inputs: Inputs, pending: readonly string[] = []): readonly Need[] {
  const isOpen = ['path', 'base_path'].some((name) => pending.includes(name));
  if (isOpen || (inputs['path'] === undefined && inputs['patterns'] === undefined && pending.includes('patterns')))
    return [{ kind: 'fs', path: undefined }];
  const base = readText(inputs, 'base_path') || '.';
  if (inputs['path'] === undefined || base.includes('\0')) return pathNeeds(base);
  return pathNeeds(inputs['path'], folderOf(inputs));
}

function folderOf(inputs: Inputs): string {
  return resolveLocalPath(readText(inputs, 'base_path') || '.');
}

function sourceFaults(inputs: Inputs): readonly InputFault[] {
  const { path, patterns } = inputs;
  const faults: InputFault[] = [];
  if (path !== undefined && patterns !== undefined)
    faults.push({ input: 'patterns', message: 'path and patterns are both given', fix: 'give one of them' });
  const hasLines = inputs['line_start'] !== undefined || inputs['line_end'] !== undefined;
  if (hasLines && (patterns !== undefined || (inputs['mode'] ?? 'full') !== 'full'))
    faults.push({ input: 'line_start', message: 'lines are for one path in mode full', fix: 'leave the lines out' });
  return [
    ...faults,
    ...inputFault('patterns', () => readPatterns(inputs, 'patterns')),
    ...inputFault('exclude_patterns', () => readPatterns(inputs, 'exclude_patterns')),
    ...inputFault('line_end', () => readLines(inputs)),
  ];
}

/** Reads a list, or JSON text of one. */
function readPatterns(inputs: Inputs, name: string): readonly string[] {
  const input = inputs[name] ?? [];
  const list = typeof input === 'string' && input.trimStart().startsWith('[') ? parseJson(input) : input;
  const patterns: unknown = typeof list === 'string' ? [list] : list;
  const isList = Array.isArray(patterns) && patterns.every((each) => typeof each === 'string' && each !== '');
  if (!isList || patterns.length > 50) throw refuseInput(name, 'must be a list of at most 50 patterns');
  if (name === 'patterns') checkPatterns(name, patterns as string[]);
  return patterns as string[];
}

function readLines(inputs: Inputs): LineRange | undefined {
  const [first, last] = ['line_start', 'line_end'].map((name) =>
    inputs[name] === undefined ? undefined : Number(inputs[name]),
  );
  if (first === undefined && last === undefined) return undefined;
  const range = { first: first ?? 1, last: last ?? Infinity };
  if (!(range.first >= 1) || !(range.last >= range.first)) throw refuseInput('line_end', 'is before line_start');
  return range;
}

async function run(ctx: TypedNodeContext): Promise<unknown> {
  const { inputs, signal } = ctx;
  for (const option of options) option.read(inputs);
  signal.throwIfAborted();
  const reading = {
    mode: mode.read(inputs),
    limitBytes: maxSizeKb.read(inputs) * 1024,
    encoding: encodingOption.read(inputs),
    lines: readLines(inputs),
    isGranted: ctx.isGranted,
  };
  const path = readText(inputs, 'path');
  if (path === undefined) return readMany(inputs, reading, signal);
  // A file that is named explicitly and cannot be read is a failure, because in `content` its absence would not show.
  const entry = await readEntry(path, resolveLocalPath(path, folderOf(inputs)), reading);
  return describeEntries([entry], [], 1, reading.mode);
}

async function readMany(inputs: Inputs, reading: Reading, signal: AbortSignal): Promise<unknown> {
  const patterns = readPatterns(inputs, 'patterns');
  if (patterns.length === 0) throw refuseInput('path', 'and patterns are both missing');
  const folder = resolveLinks(folderOf(inputs));
  const isIgnored = createIgnoreRules(folder, readPatterns(inputs, 'exclude_patterns'), respectGitignore.read(inputs));
  const matched = await findFiles(folder, patterns, isIgnored, signal);
  if (matched.length === 0)
    throw new NodeFailure(`no file in ${folder} matches ${patterns.join(', ')}`, {
      code: 'NO_FILES',
      data: { folder, patterns },
    });
  const { entries, skipped } = await readEntries(folder, matched, maxFiles.read(inputs), reading, signal);
  return describeEntries(entries, skipped, matched.length, reading.mode);
}
