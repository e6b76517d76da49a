/**
 * The suite that every store passes (S2): a function of a test runner and a factory, so that an adapter kept elsewhere can use it too.
 *
 * @see docs/spec/stores.md
 */

import { admissionTests } from './store-suite/admission.ts';
import { claimsTests } from './store-suite/claims.ts';
import { commitsTests } from './store-suite/commits.ts';
import { historyReadsTests } from './store-suite/history-reads.ts';
import { isolationTests } from './store-suite/isolation.ts';
import { limitsTests } from './store-suite/limits.ts';
import { linearizabilityTests } from './store-suite/linearizability.ts';
import { lostAcknowledgementsTests } from './store-suite/lost-acknowledgements.ts';
import { messagesTests } from './store-suite/messages.ts';
import { pagingTests } from './store-suite/paging.ts';
import { pruningTests } from './store-suite/pruning.ts';
import { randomUseTests } from './store-suite/random-use.ts';
import { removalTests } from './store-suite/removal.ts';
import { reopeningTests } from './store-suite/reopening.ts';
import { registerPart, type StoreSuiteOptions, type SuitePart } from './store-suite/suite.ts';
import { tagsTests } from './store-suite/tags.ts';
import { takeoverTests } from './store-suite/takeover.ts';
import { tenantsTests } from './store-suite/tenants.ts';
import { waitsTests } from './store-suite/waits.ts';

const parts: readonly SuitePart[] = [
  admissionTests,
  commitsTests,
  lostAcknowledgementsTests,
  historyReadsTests,
  claimsTests,
  takeoverTests,
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
  randomUseTests,
  linearizabilityTests,
];

/**
 * Registers the tests of the store port. Titles begin with the rule they prove; random parts name their seed when they fail.
 *
 * A store that leaves something out says so in `supports`, and is then held to refuse it with STORE_UNSUPPORTED.
 */
export function storeSuite(options: StoreSuiteOptions): void {
  for (const part of parts) registerPart(part, options);
}
