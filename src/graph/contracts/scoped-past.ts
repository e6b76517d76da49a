/** The past of one of several parts that share a visit of a node: the names of a part's calls begin with its prefix. */
import type { VisitPast } from './contracts.ts';

/** What is recorded of the calls with this prefix, by their names without it. */
export function scopePast(past: VisitPast, prefix: string): VisitPast {
  const namesOf = (recorded: string): readonly string[] =>
    recorded.startsWith(prefix) ? [recorded.slice(prefix.length)] : [];
  return {
    isFork: past.isFork,
    steps: () => past.steps().flatMap((step) => namesOf(step.name).map((name) => ({ ...step, name }))),
    kindOf: (name) => past.kindOf(`${prefix}${name}`),
    isRecorded: (name) => past.isRecorded(`${prefix}${name}`),
    isAllMade: () => past.isAllMade(),
    answeredBy: (name) => past.answeredBy(`${prefix}${name}`),
    names: () => new Set([...past.names()].flatMap(namesOf)),
    passOver: (isPassed) => past.passOver((recorded) => namesOf(recorded).some((name) => isPassed(name))),
  };
}
