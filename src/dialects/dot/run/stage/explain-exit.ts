/** Explains where the exit of a pipeline leads, which depends on how the goal gates ended. */
import type { ExplainedWay } from '../../../../graph/graph.ts';
import { endLabel, jumpLabel } from './choose-edge.ts';
import { jumpsUsedUp } from './why-way.ts';

/** The parts of the exit's end, or of its failure, that tell where it led. */
export interface ExitEnd {
  /** The goal gate that has not succeeded. Absent if all have, and of runs that kept no more than the jump. */
  readonly gate?: string;
  /** Where that gate leads back. Absent if it has no retry target that may still be jumped to. */
  readonly jump?: string;
}

/** The config of the exit's node. */
interface ExitConfig {
  /** Each gate with its retry targets, in the order in which they are tried. */
  readonly gates?: readonly (readonly [gate: string, targets: readonly string[]])[];
  readonly jumpsMax?: number;
}

/** @param end - how the exit ended, or why it did not come to check its gates */
export function exitWays(end: ExitEnd | string, config: unknown): readonly ExplainedWay[] {
  const { gates = [], jumpsMax = 0 } = (config ?? {}) as ExitConfig;
  const targets = [...new Set(gates.flatMap(([, each]) => each))];
  if (typeof end === 'string') return [endLabel, ...targets.map(jumpLabel)].map((label) => ({ label, because: end }));
  const { gate, jump } = end;
  const isOpen = gate !== undefined || jump !== undefined;
  const open = gate === undefined ? 'a goal gate' : `the goal gate ${gate}`;
  const own = gates.find(([id]) => id === gate)?.[1];
  const whyJump = (target: string): string => {
    if (!isOpen) return 'no goal gate leads back there';
    if (target === jump) return `${open} has not succeeded, and leads back there`;
    if (own === undefined) return 'it was not taken';
    if (!own.includes(target)) return `it is no retry target of ${open}`;
    const isBefore = jump === undefined || own.indexOf(target) < own.indexOf(jump);
    return isBefore ? jumpsUsedUp(jumpsMax) : `the retry target ${jump} comes before it`;
  };
  return [
    {
      label: endLabel,
      because: isOpen ? `${open} has not succeeded` : 'every goal gate that was visited succeeded',
    },
    ...targets.map((target) => ({ label: jumpLabel(target), because: whyJump(target) })),
  ];
}
