/** The operations `limits`: what is limited over all workers and how full it is, and what an operator sets. */
import { CairnError } from '../../errors.ts';
import {
  editLimit,
  listLimits as readLimits,
  type LimitEdit,
  type LimitUsage,
} from '../../engine/places/limit-settings.ts';
import type { Ids } from '../../ports/ids.ts';
import { described, flag, listOf, objectOf, text, whole } from '../contract/output-shapes.ts';
import type { HistoryContext, RoutedOperation } from '../contract/operation.ts';

export interface LimitsOutput {
  readonly limits: readonly LimitUsage[];
}

const amounts = {
  concurrency: described(whole, 'places of each key at the same time'),
  requestsPerMinute: described(whole, 'how many may begin in a minute'),
  tokensPerMinute: described(whole, 'how many tokens may be used in a minute'),
  burst: described(whole, 'how many may begin at once after a while in which none did'),
};
const taken = described(whole, 'places that are taken');
const waiting = described(whole, 'how many runs are in line, and steps wait');
const outputSchema = objectOf({
  limits: described(
    listOf(
      objectOf(
        {
          name: text,
          counts: described(
            text,
            'claimed: a run has a place while a worker has it; open: from its first step to its end',
          ),
          isPaused: described(flag, 'whether nothing may begin'),
          taken,
          waiting,
          keys: described(
            listOf(
              objectOf(
                { key: described(text, 'whose they are'), taken, waiting },
                { first: described(text, 'id of the run that is next') },
              ),
            ),
            'its keys that are in use, the fullest first',
          ),
        },
        { ...amounts, set: described(objectOf({}, amounts), 'what an operator set') },
      ),
    ),
    'the limits',
  ),
});

export interface ListLimitsInput {
  readonly name?: string;
}

export const listLimits: RoutedOperation<ListLimitsInput, LimitsOutput> = {
  name: 'list_limits',
  summary: 'list the limits that hold for all workers together, and how full they are',
  input: { name: { type: 'text', description: 'only this one' } },
  output: 'the limits, with the keys of each that are in use',
  outputSchema,
  isReadOnly: true,
  scope: 'read',
  route: 'GET /limits',
  tool: {},
  /** @throws STORE_UNSUPPORTED the store keeps no limits */
  async run({ store, tenant }, { name }) {
    return { limits: await readLimits(store, tenant, name) };
  },
};

export interface ChangeLimitInput {
  /** Default `ls`. */
  readonly action?: string;
  readonly name?: string;
  readonly concurrency?: number;
  readonly requestsPerMinute?: number;
  readonly tokensPerMinute?: number;
  readonly burst?: number;
}

const amountField = { type: 'integer', min: 1 } as const;

function editOf({ action, ...amounts }: Omit<ChangeLimitInput, 'name'>): LimitEdit {
  if (action === 'pause' || action === 'resume' || action === 'reset') return { action };
  if (Object.values(amounts).every((value) => value === undefined))
    throw new CairnError('USAGE_INVALID', {
      reason: 'limits set takes an amount',
      hint: 'Say how many: --concurrency 4',
    });
  return { action: 'set', amounts };
}

export const changeLimits: RoutedOperation<ChangeLimitInput, LimitsOutput, HistoryContext & { readonly ids: Ids }> = {
  name: 'change_limits',
  command: 'limits',
  summary: 'show limits and how full they are; set, pause, resume and reset one for all workers',
  input: {
    action: {
      type: 'text',
      description: 'what to do',
      isPositional: true,
      choices: ['ls', 'set', 'pause', 'resume', 'reset'],
      default: 'ls',
    },
    name: { type: 'text', description: 'the limit', isPositional: true },
    concurrency: { ...amountField, description: 'set: places at the same time' },
    requestsPerMinute: { ...amountField, description: 'set: beginnings in a minute' },
    tokensPerMinute: { ...amountField, description: 'set: tokens in a minute' },
    burst: { ...amountField, description: 'set: how many may begin at once' },
  },
  output: 'the limits',
  outputSchema,
  isReadOnly: false,
  scope: 'admin',
  route: 'POST /limits',
  /** @throws USAGE_INVALID there is no such limit, or no amount; STORE_UNSUPPORTED the store keeps no limits */
  async run({ store, tenant, now, ids }, { action = 'ls', name, ...amounts }) {
    if (action !== 'ls') {
      if (name === undefined)
        throw new CairnError('USAGE_INVALID', { reason: `limits ${action} takes the name of a limit` });
      await editLimit({ store, tenant, now: now(), writer: ids.workerId }, name, editOf({ action, ...amounts }));
    }
    return { limits: await readLimits(store, tenant, name) };
  },
};
