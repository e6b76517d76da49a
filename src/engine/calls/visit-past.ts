/** `ctx.past`: what is recorded of a visit, for functions that check that they repeat themselves. */
import type { PastStep, VisitPast } from '../../graph/contracts/context-access.ts';
import { nameOfStepKey, passKey, recordedStep, upcomingKey } from '../record/step-keys.ts';
import type { Activation } from '../run/frame-run.ts';
import type { RunCore } from '../run/run-core.ts';

/** @param generation - of the attempt that asks */
export function pastOf({ run }: RunCore, activation: Activation, generation: number): VisitPast {
  return {
    isFork: run.parent !== undefined,
    steps: () => stepsOf(activation),
    kindOf: (name) => {
      const kind = recordedStep(activation, upcomingKey(activation, name))?.kind;
      if (kind === 'ask') return 'question';
      return kind === 'step' ? kind : undefined;
    },
    passOver: (isPassed) => {
      if (activation.generation !== generation) return;
      for (const key of endedCalls(activation)) if (isPassed(nameOfStepKey(key))) passKey(activation, key);
    },
  };
}

function stepsOf({ frameRun, node }: Activation): readonly PastStep[] {
  const steps = frameRun.openRecordOf(node)?.steps ?? {};
  return Object.entries(steps).flatMap(([key, { kind, status, output }]) =>
    kind === 'step' && status !== 'open' ? [{ name: nameOfStepKey(key), status, output }] : [],
  );
}

/** Keys of the recorded calls of which it is known how they ended. */
function endedCalls({ frameRun, node }: Activation): readonly string[] {
  const { steps = {}, children = {} } = frameRun.openRecordOf(node) ?? {};
  const ended = Object.entries(steps).filter(([, { status }]) => status !== 'started' && status !== 'open');
  return [...ended.map(([key]) => key), ...Object.keys(children)];
}
