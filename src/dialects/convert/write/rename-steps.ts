/** Ids of steps that the dialect which is written can have. */
import type { Notes } from '../outline/notes.ts';
import type { Outline, Step, Text } from '../outline/outline.ts';
import { freeId } from '../outline/free-id.ts';

/** @param fit - the id as it may be written; the same if it may be */
export function withFittingIds(outline: Outline, fit: (id: string) => string, notes: Notes): Outline {
  const taken = new Set(outline.steps.map(({ id }) => id).filter((id) => fit(id) === id));
  const names = new Map<string, string>();
  for (const { id, place } of outline.steps) {
    if (taken.has(id)) continue;
    const name = freeId(fit(id), taken);
    taken.add(name);
    names.set(id, name);
    notes.changed('NAME', place, `${id} is called ${name}`, 'nothing, or give both the same name');
  }
  const nameOf = (id: string): string => names.get(id) ?? id;
  const renamed = (text: Text): Text =>
    text.map((piece) =>
      typeof piece === 'object' && 'answerOf' in piece ? { answerOf: nameOf(piece.answerOf) } : piece,
    );
  const workOf = (work: Step['work']): Step['work'] => {
    if (work.kind === 'model') return { ...work, prompt: renamed(work.prompt) };
    if (work.kind === 'command' && work.stdin !== undefined) return { ...work, stdin: renamed(work.stdin) };
    return work.kind === 'parallel' ? { ...work, branches: work.branches.map(nameOf) } : work;
  };
  const step = (each: Step): Step => ({
    ...each,
    id: nameOf(each.id),
    work: workOf(each.work),
    ends: each.ends.map((end) => ({ ...end, to: nameOf(end.to) })),
  });
  return names.size === 0 ? outline : { ...outline, first: nameOf(outline.first), steps: outline.steps.map(step) };
}
