/** `ctx.past`: what is recorded of a visit, for functions that check that they repeat themselves. */
import type { PastStep, VisitPast } from '../../graph/contracts/context-access.ts';
import { nameOfStepKey, passKey, recordedStep, upcomingKey } from '../record/step-keys.ts';
import type { Activation } from '../run/frame-run.ts';
import type { RunCore } from '../run/run-core.ts';

/** @param generation - of the attempt that asks */
export function pastOf({ run, replay }: RunCore, activation: Activation, generation: number): VisitPast {
  return {
    isFork: run.parent !== undefined,
    steps: () => stepsOf(activation),
    kindOf: (name) => {
      const kind = recordedStep(activation, upcomingKey(activation, name))?.kind;
      if (kind === 'ask') return 'question';
      return kind === 'step' ? kind : undefined;
    },
    isRecorded: (name) => {
      const key = upcomingKey(activation, name);
      return recordedStep(activation, key) !== undefined || replay?.hasCall(activation, key) === true;
    },
    isAllMade: () => recordedCalls(activation).every(({ key }) => activation.calls?.includes(key) === true),
    names: () => new Set(recordedCalls(activation).map(({ key }) => nameOfStepKey(key))),
    passOver: (isPassed) => {
      if (activation.generation !== generation) return;
      for (const { key, isOver } of recordedCalls(activation))
        if (isOver && isPassed(nameOfStepKey(key))) passKey(activation, key);
    },
  };
}

function stepsOf({ frameRun, node }: Activation): readonly PastStep[] {
  const steps = frameRun.openRecordOf(node)?.steps ?? {};
  return Object.entries(steps).flatMap(([key, { kind, status, output }]) =>
    kind === 'step' && status !== 'open' ? [{ name: nameOfStepKey(key), status, output }] : [],
  );
}

/** The recorded calls: their keys, and whether it is known how they ended. */
function recordedCalls({ frameRun, node }: Activation): readonly { readonly key: string; readonly isOver: boolean }[] {
  const { steps = {}, children = {} } = frameRun.openRecordOf(node) ?? {};
  const own = Object.entries(steps).map(([key, { status }]) => ({
    key,
    isOver: status !== 'started' && status !== 'open',
  }));
  return [...own, ...Object.keys(children).map((key) => ({ key, isOver: true }))];
}
