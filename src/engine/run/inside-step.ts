/** Whether a call is made from inside a step's function: what it would wait for could never be resumed, since a step is recorded as a whole. */
import { AsyncLocalStorage } from 'node:async_hooks';
import type { Activation } from './frame-run.ts';

const steps = new AsyncLocalStorage<Activation>();

/** Calls a step's function, so that what it calls, now or later, is known to come from there. */
export function callInsideStep<T>(activation: Activation, call: () => T): T {
  return steps.run(activation, call);
}

export function isInsideStepOf(activation: Activation): boolean {
  return steps.getStore() === activation;
}
