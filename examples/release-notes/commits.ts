/** Commits as `git log` prints them, and the groups that release notes put them in. Pure. */

export interface Commit {
  readonly id: string;
  readonly author: string;
  readonly subject: string;
}

export interface CommitGroup {
  readonly name: string;
  readonly commits: readonly Commit[];
}

/** For `git log --format=`: fields apart by unit separators, which no subject holds. */
export const logFormat = '%h%x1f%an%x1f%s';

/** Reads what git printed in {@link logFormat}; a line that was cut off is left out. */
export function parseLog(text: string): readonly Commit[] {
  return text.split('\n').flatMap((line) => {
    const [id, author, subject] = line.split('\u001F');
    return id === undefined || author === undefined || subject === undefined ? [] : [{ id, author, subject }];
  });
}

/** In the order in which the notes have them. A subject is written as `fix(area): …` or begins with a verb. */
const groups: readonly (readonly [name: string, pattern: RegExp])[] = [
  ['Fixed', /^(?:fix(?:es|ed)?|correct|repair|mend|close|revert)\b/i],
  [
    'Documentation',
    /^(?:docs?\b|document\b|readme\b|(?:write|describe|explain)\b.*\b(?:guide|docs?|readme|page)s?\b)/i,
  ],
  ['Tests', /^(?:tests?\b|prove\b|check\b|hold\b|cover\b)/i],
  ['Added', /^(?:feat(?:ure)?|add|allow|introduce|support|specify|new)\b/i],
  ['Maintenance', /^(?:chore|build|ci|refactor|style|bump|rename|move|format|update)\b/i],
];
const otherGroup = 'Changed';

/** Groups commits by what their subjects say they do; groups without commits are left out. */
export function groupCommits(commits: readonly Commit[]): readonly CommitGroup[] {
  const nameOf = ({ subject }: Commit): string =>
    groups.find(([, pattern]) => pattern.test(subject))?.[0] ?? otherGroup;
  const names = ['Added', otherGroup, 'Fixed', 'Documentation', 'Tests', 'Maintenance'];
  return names
    .map((name) => ({ name, commits: commits.filter((commit) => nameOf(commit) === name) }))
    .filter((group) => group.commits.length > 0);
}

/** The version after a tag: the next minor if something was added, else the next patch. `0.1.0` if the tag is no version. */
export function proposeVersion(tag: string | undefined, changes: readonly CommitGroup[]): string {
  const [, major, minor, patch] = /^v?(\d{1,9})\.(\d{1,9})\.(\d{1,9})/.exec(tag ?? '')?.map(Number) ?? [];
  if (major === undefined || minor === undefined || patch === undefined) return '0.1.0';
  return changes.some(({ name }) => name === 'Added') ? `${major}.${minor + 1}.0` : `${major}.${minor}.${patch + 1}`;
}
