/** `ctx.past`: what is recorded of a visit, for functions that check that they repeat themselves. */
import type { PastStep, VisitPast } from '../../graph/contracts/context-access.ts';
import { callKey, nameOfStepKey, recordedStep } from '../record/step-keys.ts';
import type { Activation } from '../run/frame-run.ts';
import type { RunCore } from '../run/run-core.ts';

export function pastOf({ run }: RunCore, activation: Activation): VisitPast {
  return {
    isFork: run.parent !== undefined,
    steps: () => stepsOf(activation),
    kindOf: (name) => {
      const kind = recordedStep(activation, callKey(name, 1))?.kind;
      if (kind === 'ask') return 'question';
      return kind === 'step' ? kind : undefined;
    },
  };
}

function stepsOf({ frameRun, node }: Activation): readonly PastStep[] {
  const steps = frameRun.openRecordOf(node)?.steps ?? {};
  return Object.entries(steps).flatMap(([key, { kind, status, output }]) =>
    kind === 'step' && status !== 'open' ? [{ name: nameOfStepKey(key), status, output }] : [],
  );
}
