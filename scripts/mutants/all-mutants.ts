/** Every named change of meaning that a test must notice. */
import { agentMutants } from './agents.ts';
import { cassetteMutants } from './cassettes.ts';
import { conversionMutants } from './conversions.ts';
import { costMutants } from './costs.ts';
import { childMutants } from './children.ts';
import { dialectsMutants } from './dialects.ts';
import { doorsMutants } from './doors.ts';
import { dotMutants } from './dot.ts';
import { engineMutants } from './engine.ts';
import { forksMutants } from './forks.ts';
import { historyMutants } from './history.ts';
import { listMutants } from './lists.ts';
import type { Mutant } from './mutant.ts';
import { planMutants } from './plans.ts';
import { stateMutants } from './state.ts';
import { storesMutants } from './stores.ts';
import { takeoverMutants } from './takeovers.ts';
import { workersMutants } from './workers.ts';

/** By the room that they change. */
export const mutantsByRoom: Readonly<Record<string, readonly Mutant[]>> = {
  agents: agentMutants,
  engine: engineMutants,
  plans: planMutants,
  forks: forksMutants,
  takeovers: takeoverMutants,
  lists: listMutants,
  costs: costMutants,
  children: childMutants,
  state: stateMutants,
  history: historyMutants,
  dialects: dialectsMutants,
  dot: dotMutants,
  conversions: conversionMutants,
  stores: storesMutants,
  doors: doorsMutants,
  workers: workersMutants,
  cassettes: cassetteMutants,
};
