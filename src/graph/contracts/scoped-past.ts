/** Other views of a visit's past: of one of several parts that share the visit, and under names that the code has changed. */
import type { VisitPast } from './visit-past.ts';

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
    answerTo: (name) => past.answerTo(`${prefix}${name}`),
    isAsked: (name, identity) => past.isAsked(`${prefix}${name}`, identity),
    isOfOtherCode: (name) => past.isOfOtherCode(`${prefix}${name}`),
    childOf: (name) => past.childOf(`${prefix}${name}`),
    names: () => new Set([...past.names()].flatMap(namesOf)),
    passOver: (isPassed) => past.passOver((recorded) => namesOf(recorded).some((name) => isPassed(name))),
    pass: (names) => past.pass(Array.from(names, (name) => `${prefix}${name}`)),
    close: (names) => past.close(Array.from(names, (name) => `${prefix}${name}`)),
  };
}

/** What is recorded, under the names that the code has for it now. @param steps - recorded names, by those in the code */
export function renamedPast(past: VisitPast, steps: ReadonlyMap<string, string>): VisitPast {
  const back = new Map([...steps].map(([inCode, recorded]) => [recorded, inCode]));
  const recordedOf = (name: string): string => steps.get(name) ?? name;
  const inCodeOf = (recorded: string): string => back.get(recorded) ?? recorded;
  return {
    isFork: past.isFork,
    steps: () => past.steps().map((step) => ({ ...step, name: inCodeOf(step.name) })),
    kindOf: (name) => past.kindOf(recordedOf(name)),
    isRecorded: (name) => past.isRecorded(recordedOf(name)),
    isAllMade: () => past.isAllMade(),
    answeredBy: (name) => past.answeredBy(recordedOf(name)),
    answerTo: (name) => past.answerTo(recordedOf(name)),
    isAsked: (name, identity) => past.isAsked(recordedOf(name), identity),
    isOfOtherCode: (name) => past.isOfOtherCode(recordedOf(name)),
    childOf: (name) => past.childOf(recordedOf(name)),
    names: () => new Set([...past.names()].map(inCodeOf)),
    passOver: (isPassed) => past.passOver((recorded) => isPassed(inCodeOf(recorded))),
    pass: (names) => past.pass(Array.from(names, recordedOf)),
    close: (names) => past.close(Array.from(names, recordedOf)),
  };
}
