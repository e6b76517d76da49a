/** The guardrail node: checks the state and lets the run go on, or not. */
import { CairnError } from '../errors.ts';
import type { Condition } from '../graph/graph.ts';
import {
  NodeFailure,
  outcome,
  type NodeContext,
  type StateUpdates,
  type StateView,
} from '../graph/contracts/node-contract.ts';
import { refuseUnknownKeys } from './draft/known-keys.ts';
import { draftNode, type NodeDraft, type NodeOptions } from './draft/node-draft.ts';
import type { FromState } from './draft/typed-context.ts';

/** What a check found. */
export interface GuardrailFinding {
  readonly passed: boolean;
  readonly reason?: string;
  /** Updates that mend the state; needed by `sanitize`. */
  readonly sanitized?: StateUpdates;
}

/** The output of a guardrail. */
export type GuardrailOutput = Omit<GuardrailFinding, 'sanitized'>;

export interface GuardrailNodeConfig<S extends StateView = StateView> {
  /** `true` passes; `false` or a finding with `passed: false` is a violation. */
  readonly check: FromState<boolean | GuardrailFinding | Promise<boolean | GuardrailFinding>, S>;
  /**
   * `block` (default) fails the node with code `GUARDRAIL_VIOLATION`; `reroute` goes to `rerouteTarget` only; `warn` goes on;
   * `sanitize` applies the finding's updates and goes on.
   */
  readonly onViolation?: 'block' | 'reroute' | 'warn' | 'sanitize';
  readonly rerouteTarget?: string;
}

/**
 * The condition of the edge from a guardrail to its `rerouteTarget`. Without it that edge fires when the check passed, too; a graph
 * builder gives it to such an edge that has no condition.
 */
export const guardrailViolated: Condition = {
  text: 'outcome.output.passed == false',
  evaluate: ({ outcome: { output } }) => (output as GuardrailFinding | undefined)?.passed === false,
};

const configKeys = ['check', 'onViolation', 'rerouteTarget'] as const satisfies readonly (keyof GuardrailNodeConfig)[];

/**
 * A node that checks the state; its output is the finding `{ passed, reason? }`.
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
