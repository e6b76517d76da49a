/** The repository that the example reviews by default: made of these texts, the same to the last byte wherever it is made, so that what is on the cassette fits it. */
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { git } from '../release-notes/test-repository.ts';

interface SampleCommit {
  readonly subject: string;
  readonly files: Readonly<Record<string, string>>;
}

const commits: readonly SampleCommit[] = [
  {
    subject: 'Keep the register of cairns in a file',
    files: {
      'README.md': '# Cairns\n\nA register of the cairns on a path, in a file.\n',
      'src/register.js': `import { readFileSync, writeFileSync } from 'node:fs';

export function load(path) {
  try {
    return JSON.parse(readFileSync(path, 'utf8'));
  } catch { }
}

export function add(path, cairn) {
  const all = load(path) ?? [];
  all.push({ ...cairn, id: Math.random() });
  writeFileSync(path, JSON.stringify(all));
}
`,
    },
  },
  {
    subject: 'Filter by what the visitor types',
    files: {
      'src/filter.js': `/** Cairns for which a condition holds, such as \`height > 2\`. */
export function filter(cairns, condition) {
  return cairns.filter(({ height, stones }) => eval(condition));
}

// TODO: conditions on the place
`,
    },
  },
];

/** Makes it, unless it is there. */
export function makeSampleRepository(folder: string): string {
  if (existsSync(join(folder, '.git'))) return folder;
  mkdirSync(folder, { recursive: true });
  git(folder, 'init', '--quiet');
  for (const { subject, files } of commits) {
    for (const [path, text] of Object.entries(files)) {
      mkdirSync(dirname(join(folder, path)), { recursive: true });
      writeFileSync(join(folder, path), text);
    }
    git(folder, 'add', '--all');
    git(folder, 'commit', '--quiet', '-m', subject);
  }
  return folder;
}
