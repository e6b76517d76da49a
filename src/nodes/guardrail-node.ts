/** The guardrail node: checks the state, and decides whether the run may go on. */
import { CairnError } from '../errors.ts';
import type { Condition } from '../graph/graph.ts';
import {
  NodeFailure,
  outcome,
  type NodeContext,
  type StateUpdates,
  type StateView,
} from '../graph/contracts/node-contract.ts';
import { refuseUnknownKeys } from '../graph/known-keys.ts';
import { draftNode, type NodeDraft, type NodeOptions } from './draft/node-draft.ts';
import type { FromState } from './draft/computed.ts';

/** The result of a check. */
export interface GuardrailFinding {
  readonly passed: boolean;
  readonly reason?: string;
  /** Updates that correct the state; required for `sanitize`. */
  readonly sanitized?: StateUpdates;
}

/** The output of a guardrail node. */
export type GuardrailOutput = Omit<GuardrailFinding, 'sanitized'>;

export interface GuardrailNodeConfig<S extends StateView = StateView> {
  /** The check. `true` passes; `false`, or a finding with `passed: false`, is a violation. */
  readonly check: FromState<boolean | GuardrailFinding | Promise<boolean | GuardrailFinding>, S>;
  /**
   * What a violation does. `block` (default): the node fails with code `GUARDRAIL_VIOLATION`. `reroute`: the run goes on at `rerouteTarget`
   * only. `warn`: the run goes on. `sanitize`: the finding's updates are applied and the run goes on.
   */
  readonly onViolation?: 'block' | 'reroute' | 'warn' | 'sanitize';
  readonly rerouteTarget?: string;
}

/**
 * Condition for the edge from a guardrail to its `rerouteTarget`: it fires only after a violation. Graph builders add it to such an edge if
 * it has no condition.
 */
export const guardrailViolated: Condition = {
  text: 'outcome.output.passed == false',
  evaluate: ({ outcome: { output } }) => (output as GuardrailFinding | undefined)?.passed === false,
};

const configKeys = ['check', 'onViolation', 'rerouteTarget'] as const satisfies readonly (keyof GuardrailNodeConfig)[];

/**
 * Makes a node that checks the state. Its output is the finding `{ passed, reason? }`.
 * @throws CONFIG_INVALID `reroute` without a target, or a target without `reroute`
 */
export function guardrailNode<S extends StateView = StateView>(
  config: GuardrailNodeConfig<S>,
  options: NodeOptions = {},
): NodeDraft<S, GuardrailOutput> {
  refuseUnknownKeys('guardrailNode', config, configKeys);
  const { check, onViolation = 'block', rerouteTarget } = config as unknown as GuardrailNodeConfig;
  if (typeof check !== 'function')
    throw new CairnError('CONFIG_INVALID', { reason: 'guardrailNode: check must be a function of the state' });
  if ((onViolation === 'reroute') !== (rerouteTarget !== undefined)) {
    throw new CairnError('CONFIG_INVALID', {
      reason: "guardrailNode: onViolation 'reroute' and rerouteTarget need each other",
    });
  }
  return draftNode(
    {
      type: 'guardrail',
      effect: 'pure',
      config: { onViolation, ...(rerouteTarget !== undefined && { rerouteTarget }) },
      implementation: {
        run: async (ctx) => judge(ctx, toFinding(await check({ state: ctx.state })), onViolation, rerouteTarget),
        codeText: String(check),
      },
    },
    options,
  );
}

function toFinding(found: boolean | GuardrailFinding): GuardrailFinding {
  const finding: unknown = typeof found === 'boolean' ? { passed: found } : found;
  if (typeof (finding as GuardrailFinding | undefined)?.passed === 'boolean') return finding as GuardrailFinding;
  throw new NodeFailure('the check of a guardrail must return a boolean or { passed, reason }', {
    code: 'NODE_OUTPUT_INVALID',
  });
}

function judge(
  ctx: NodeContext,
  { passed, reason, sanitized }: GuardrailFinding,
  onViolation: NonNullable<GuardrailNodeConfig['onViolation']>,
  rerouteTarget: string | undefined,
): unknown {
  const output = { passed, ...(reason !== undefined && { reason }) };
  if (passed) return output;
  ctx.emit({ kind: 'guardrail', onViolation, ...output });
  switch (onViolation) {
    case 'warn':
      return output;
    case 'reroute':
      return outcome({ output, goto: rerouteTarget ?? [] });
    case 'sanitize':
      if (sanitized !== undefined) return outcome({ ...sanitized, output });
      break;
    case 'block':
      break;
  }
  const why = onViolation === 'sanitize' ? 'and the check gave nothing to mend it with' : (reason ?? '');
  throw new NodeFailure(`guardrail ${ctx.nodeId} was violated${why && ` (${why})`}`, {
    code: 'GUARDRAIL_VIOLATION',
    data: output,
  });
}
