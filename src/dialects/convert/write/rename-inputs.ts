/** Names of inputs that a pipeline can have: small letters, digits and `_`. */
import type { Notes } from '../outline/notes.ts';
import type { Outline, Step, Text } from '../outline/outline.ts';
import { freeId } from '../outline/free-id.ts';

const fitting = /^[a-z][a-z0-9_]*$/;

/** A command that reads an input by its old name is given it under that name, too. */
export function withFittingInputs(outline: Outline, notes: Notes): Outline {
  const taken = new Set(outline.inputs.map(({ name }) => name).filter((name) => fitting.test(name)));
  const names = new Map<string, string>();
  for (const { name } of outline.inputs) {
    if (fitting.test(name)) continue;
    const plain = name
      .toLowerCase()
      .replaceAll(/[^a-z0-9_]/g, '_')
      .replace(/^(?![a-z])/, 'p_');
    const free = freeId(plain, taken);
    taken.add(free);
    names.set(name, free);
    notes.lost(
      'NAME',
      `input ${name}`,
      `the input ${name} is called ${free}`,
      'give it by that name, or rename it in both',
    );
  }
  if (names.size === 0) return outline;
  const nameOf = (name: string): string => names.get(name) ?? name;
  const renamed = (text: Text): Text =>
    text.map((piece) => (typeof piece === 'object' && 'input' in piece ? { input: nameOf(piece.input) } : piece));
  const workOf = (work: Step['work']): Step['work'] => {
    if (work.kind === 'model') return { ...work, prompt: renamed(work.prompt) };
    if ('question' in work) return { ...work, question: renamed(work.question) };
    if (work.kind !== 'command') return work;
    const read = [...names].filter(([name]) => new RegExp(`\\b${name}\\b`).test(work.script));
    const given = read.map(([name, free]) => `export ${name}="$${free}"\n`).join('');
    return { ...work, script: given + work.script, ...(work.stdin !== undefined && { stdin: renamed(work.stdin) }) };
  };
  return {
    ...outline,
    inputs: outline.inputs.map((input) => ({ ...input, name: nameOf(input.name) })),
    steps: outline.steps.map((step) => ({ ...step, work: workOf(step.work) })),
  };
}
