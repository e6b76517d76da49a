/**
 * The test suite that every store must pass (S2). It is a function of a test runner and a factory, so adapters in other packages can use it
 * too.
 *
 * @see docs/spec/stores.md
 */

import { admissionTests } from './admission.ts';
import { claimsTests } from './claims.ts';
import { commitsTests } from './commits.ts';
import { historyReadsTests } from './history-reads.ts';
import { identityTests } from './identity.ts';
import { isolationTests } from './isolation.ts';
import { limitsTests } from './limits.ts';
import { linearizabilityTests } from './random/linearizability.ts';
import { lostAcknowledgementsTests } from './lost-acknowledgements.ts';
import { messagesTests } from './messages.ts';
import { nextRunsTests } from './next-runs.ts';
import { pagingTests } from './paging.ts';
import { pruningTests } from './pruning.ts';
import { randomUseTests } from './random/random-use.ts';
import { removalTests } from './removal.ts';
import { reopeningTests } from './reopening.ts';
import { registerPart, type StoreSuiteOptions, type SuitePart } from './suite.ts';
import { tagsTests } from './tags.ts';
import { takeoverTests } from './takeover.ts';
import { tenantsTests } from './tenants.ts';
import { waitsTests } from './waits.ts';
import { refuseUnknownKeys } from '../../graph/known-keys.ts';

const parts: readonly SuitePart[] = [
  admissionTests,
  commitsTests,
  lostAcknowledgementsTests,
  historyReadsTests,
  claimsTests,
  takeoverTests,
  nextRunsTests,
  waitsTests,
  messagesTests,
  tenantsTests,
  pagingTests,
  tagsTests,
  pruningTests,
  removalTests,
  limitsTests,
  isolationTests,
  reopeningTests,
  identityTests,
  randomUseTests,
  linearizabilityTests,
];

/**
 * Registers the tests of the store port. Each title begins with the rule it proves. Random parts print their seed when they fail.
 *
 * A store that lacks a feature says so in `supports`; it must then throw STORE_UNSUPPORTED for it.
 */
export function storeSuite(options: StoreSuiteOptions): void {
  refuseUnknownKeys('storeSuite', options, ['test', 'create', 'supports', 'seed']);
  for (const part of parts) registerPart(part, options);
}
