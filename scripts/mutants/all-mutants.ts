/** Every named change of meaning that a test must notice. */
import { agentMutants } from './agents.ts';
import { answersMutants } from './answers.ts';
import { cassetteMutants } from './cassettes.ts';
import { contractMutants } from './contracts.ts';
import { conversionMutants } from './conversions.ts';
import { costMutants } from './costs.ts';
import { childMutants } from './children.ts';
import { deployMutants } from './deploys.ts';
import { dialectsMutants } from './dialects.ts';
import { doorsMutants } from './doors.ts';
import { dotMutants } from './dot.ts';
import { drawnMutants } from './drawn.ts';
import { engineMutants } from './engine.ts';
import { forksMutants } from './forks.ts';
import { historyMutants } from './history.ts';
import { limitsMutants } from './limits.ts';
import { listMutants } from './lists.ts';
import type { Mutant } from './mutant.ts';
import { planMutants } from './plans.ts';
import { referenceMutants } from './references.ts';
import { retentionMutants } from './retention.ts';
import { stateMutants } from './state.ts';
import { storesMutants } from './stores.ts';
import { takeoverMutants } from './takeovers.ts';
import { webhooksMutants } from './webhooks.ts';
import { workersMutants } from './workers.ts';

/** By the room that they change. */
export const mutantsByRoom: Readonly<Record<string, readonly Mutant[]>> = {
  agents: agentMutants,
  answers: answersMutants,
  engine: engineMutants,
  plans: planMutants,
  forks: forksMutants,
  deploys: deployMutants,
  takeovers: takeoverMutants,
  limits: limitsMutants,
  lists: listMutants,
  costs: costMutants,
  children: childMutants,
  references: referenceMutants,
  retention: retentionMutants,
  state: stateMutants,
  history: historyMutants,
  dialects: dialectsMutants,
  dot: dotMutants,
  conversions: conversionMutants,
  stores: storesMutants,
  doors: doorsMutants,
  webhooks: webhooksMutants,
  workers: workersMutants,
  cassettes: cassetteMutants,
  contracts: contractMutants,
  drawn: drawnMutants,
};
