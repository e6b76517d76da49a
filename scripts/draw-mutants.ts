/**
 * `node scripts/draw-mutants.ts [--seed N]`: draws changes of meaning by chance, so that nobody chooses those that a test is known to
 * notice. From each room as many, by turns from each operator; the same seed draws the same from the same sources. They are printed as data
 * for `scripts/mutants/`, and kept there: what nobody can notice is marked there, with the reason.
 */
import { globSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { createSeededRandom, type SeededRandom } from '../src/ports/seeded-random.ts';
import { findEdits, operators, type Edit, type Operator } from './mutants/operators.ts';

const root = resolve(import.meta.dirname, '..');
const { values } = parseArgs({ options: { seed: { type: 'string', default: '1' } } });
const seed = Number(values.seed);

/** How many are drawn from each room. */
const perRoom = 10;

/** Files of each room, and the tests nearest to them. */
const rooms: Readonly<Record<string, { readonly sources: readonly string[]; readonly tests: readonly string[] }>> = {
  plans: { sources: ['src/plans/*.ts'], tests: ['src/plans/*.test.ts'] },
  approvals: {
    sources: [
      'src/agents/tools/approval.ts',
      'src/agents/people/ask-person.ts',
      'src/dialects/approval.ts',
      'src/operations/runs/reserved-answers.ts',
      'src/schema/approval-answer.ts',
    ],
    tests: [
      'src/agents/{tools,people}/*.test.ts',
      'src/dialects/approval.test.ts',
      'src/operations/runs/reserved-answers.test.ts',
      'test/security/approvals.test.ts',
    ],
  },
  sandboxes: { sources: ['src/sandboxes/*.ts'], tests: ['src/sandboxes/*.test.ts', 'test/sandboxes/*.test.ts'] },
  hosts: { sources: ['src/hosts/*.ts'], tests: ['src/hosts/*.test.ts', 'test/hosts/*.test.ts'] },
  http: { sources: ['src/http/*.ts'], tests: ['src/http/*.test.ts', 'test/http/*.test.ts'] },
  studio: { sources: ['studio/**/*.{ts,tsx}'], tests: ['test/studio/*.test.ts'] },
};

interface Candidate extends Edit {
  readonly file: string;
  readonly text: string;
}

const find = (patterns: readonly string[]): readonly string[] => globSync([...patterns], { cwd: root }).sort();

function candidatesOf(sources: readonly string[]): readonly Candidate[] {
  return find(sources)
    .filter((file) => !/\.test\.|\.d\.ts$|\/icons\.tsx$/u.test(file))
    .flatMap((file) => {
      const text = readFileSync(join(root, file), 'utf8');
      return findEdits(file, text).map((edit) => ({ ...edit, file, text }));
    });
}

/** Draws from one room: each operator in turn, in an order drawn too, and no two in one line. */
function drawFrom(candidates: readonly Candidate[], random: SeededRandom): readonly Candidate[] {
  if (candidates.length === 0) throw new Error('a room has no sources: name its files as they are called now');
  const drawn: Candidate[] = [];
  const order = (Object.keys(operators) as Operator[])
    .map((operator) => ({ operator, rank: random.next() }))
    .toSorted((one, other) => one.rank - other.rank)
    .map(({ operator }) => operator);
  for (let turn = 0; drawn.length < perRoom && turn < perRoom * order.length; turn += 1) {
    const open = candidates.filter(
      (one) => one.operator === order[turn % order.length] && !drawn.some((other) => isSameLine(one, other)),
    );
    const chosen = open[random.integer(Math.max(1, open.length))];
    if (chosen !== undefined) drawn.push(chosen);
  }
  return drawn;
}

const lineOf = ({ text, start }: Candidate): number => text.slice(0, start).split('\n').length;
const isSameLine = (one: Candidate, other: Candidate): boolean =>
  one.file === other.file && lineOf(one) === lineOf(other);

/** The lines that are changed, and as many before them as it takes for the text to stand once in its file. */
function textsOf({ text, start, end, replacement }: Candidate): { readonly old: string; readonly new: string } {
  const to = text.indexOf('\n', end) === -1 ? text.length : text.indexOf('\n', end);
  let from = text.lastIndexOf('\n', start - 1) + 1;
  while (from > 0 && text.split(text.slice(from, to)).length > 2) from = text.lastIndexOf('\n', from - 2) + 1;
  const [before, after] = [text.slice(from, start), text.slice(end, to)];
  return { old: before + text.slice(start, end) + after, new: before + replacement + after };
}

const random = createSeededRandom(seed);
const drawnRooms = Object.entries(rooms).map(([room, { sources, tests }]) => {
  const mutants = drawFrom(candidatesOf(sources), random).map((one, index) => ({
    name: `${room} ${index + 1}: ${operators[one.operator]}`,
    file: one.file,
    ...textsOf(one),
  }));
  return [room, { tests: find(tests), mutants }];
});
process.stdout.write(`${JSON.stringify({ seed, rooms: Object.fromEntries(drawnRooms) }, undefined, 2)}\n`);
