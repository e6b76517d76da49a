/** Every attribute of the language: where it may stand, which values it takes, and its default. */
import type { Amounts } from '../../../graph/amounts.ts';
import type { RetryPolicy } from '../../../graph/contracts/retry-policy.ts';
import { parseWebhooks, webhookEvents } from '../../../graph/webhooks.ts';

// Durations, and what a run may spend, as attributes say them.

const units: Readonly<Record<string, number>> = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 };

/** 10 years. */
const longestMs = 3_650 * 86_400_000;

/** Whole milliseconds of `900s`, `250ms`, `15m`, `2h`, `1d`; a number alone counts seconds. Undefined means that it is none of these. */
export function durationMs(value: string): number | undefined {
  const [, count, unit = 's'] = /^(\d+(?:\.\d+)?)(ms|s|m|h|d)?$/.exec(value.trim()) ?? [];
  return count === undefined ? undefined : Math.round(Number(count) * (units[unit] ?? 1));
}

/** Why a value is no duration that anything can take. */
function durationFault(value: string): string | undefined {
  const ms = durationMs(value);
  if (ms === undefined) return 'must be a duration such as 900s';
  if (ms < 1) return 'must be longer than 0';
  return ms > longestMs ? 'must be at most 3650d' : undefined;
}

/** `tokens=200000, cost=5, time=2h`, by the units of docs/spec/budgets.md; time is counted in seconds. Undefined means that it cannot be read. */
export function parseBudget(text: string): Amounts | undefined {
  const amounts: Record<string, number> = {};
  for (const piece of text.split(',')) {
    const [, unit, text = ''] = /^\s*([A-Za-z][A-Za-z0-9_-]{0,63})\s*=\s*(\S+)\s*$/u.exec(piece) ?? [];
    if (unit === undefined) return undefined;
    const isTime = unit === 'time' || unit === 'seconds';
    const amount = isTime ? (durationMs(text) ?? Number.NaN) / 1_000 : Number(text);
    if (!Number.isFinite(amount) || amount < 0) return undefined;
    amounts[isTime ? 'seconds' : unit] = amount;
  }
  return amounts;
}

// The retry policies that a stage can name.

type Preset = Pick<Required<RetryPolicy>, 'attempts' | 'backoff' | 'delayMs' | 'factor'>;

const standard: Preset = { attempts: 5, backoff: 'exponential', delayMs: 200, factor: 2 };
const presets: Readonly<Record<string, Preset>> = {
  none: { ...standard, attempts: 1 },
  standard,
  aggressive: { ...standard, delayMs: 500 },
  linear: { attempts: 3, backoff: 'fixed', delayMs: 500, factor: 1 },
  patient: { attempts: 3, backoff: 'exponential', delayMs: 2_000, factor: 3 },
};

export const retryPresets: readonly string[] = Object.keys(presets);

/** The policy of a preset; of no name, the standard one. Delays vary by up to half. */
export function presetPolicy(name: string): RetryPolicy {
  const { attempts, backoff, delayMs, factor } = presets[name] ?? standard;
  return {
    attempts,
    backoff,
    delayMs,
    delayMsMax: 60_000,
    jitter: 0.5,
    ...(backoff === 'exponential' && { factor }),
  };
}

export type AttributeKind = 'text' | 'integer' | 'boolean' | 'duration' | 'budget' | 'webhooks';
export type AttributePlace = 'graph' | 'node' | 'edge';

export interface AttributeRule {
  readonly kind: AttributeKind;
  /** The allowed values, if not every value of the kind is. */
  readonly oneOf?: readonly string[];
  /** The attribute of which this is another spelling. */
  readonly sameAs?: string;
}

const text: AttributeRule = { kind: 'text' };
const integer: AttributeRule = { kind: 'integer' };
const boolean: AttributeRule = { kind: 'boolean' };
const duration: AttributeRule = { kind: 'duration' };
const budget: AttributeRule = { kind: 'budget' };

const fidelities: readonly string[] = ['full', 'truncate', 'compact', 'summary:low', 'summary:medium', 'summary:high'];
const fidelity: AttributeRule = { kind: 'text', oneOf: fidelities };
export const humanForms = ['multiple_choice', 'freeform', 'yes_no', 'confirmation'] as const;

type Rules = ReadonlyMap<string, AttributeRule>;
type RuleTable = Readonly<Record<string, AttributeRule>>;

const graphRules: RuleTable = {
  goal: text,
  label: text,
  params: text,
  model_stylesheet: text,
  default_max_retries: integer,
  default_max_retry: { kind: 'integer', sameAs: 'default_max_retries' },
  retry_target: text,
  fallback_retry_target: text,
  max_retry_jumps: integer,
  max_node_visits: integer,
  max_restarts: integer,
  default_fidelity: fidelity,
  default_thread: text,
  default_thread_id: { kind: 'text', sameAs: 'default_thread' },
  summary_model: text,
  'stack.child_dotfile': text,
  'stack.child_workdir': text,
  budget,
  on_budget: { kind: 'text', oneOf: ['ask', 'fail'] },
  time_limit: duration,
  limit: text,
  on_cancel: text,
  on_run_failure: text,
  title: text,
  resume_fidelity: { kind: 'text', oneOf: ['compact', 'summary:high'] },
  'tool_hooks.pre': text,
  'tool_hooks.post': text,
  webhooks: { kind: 'webhooks' },
};

const nodeRules: RuleTable = {
  label: text,
  renamed_from: text,
  shape: text,
  type: text,
  prompt: text,
  max_retries: integer,
  retry_policy: { kind: 'text', oneOf: retryPresets },
  goal_gate: boolean,
  retry_target: text,
  fallback_retry_target: text,
  fidelity,
  thread_id: text,
  class: text,
  timeout: duration,
  llm_model: text,
  llm_provider: text,
  reasoning_effort: { kind: 'text', oneOf: ['low', 'medium', 'high'] },
  max_tokens: integer,
  auto_status: boolean,
  allow_partial: boolean,
  max_visits: integer,
  limit: text,
  idempotent: boolean,
  approval: text,
  'human.default_choice': text,
  assignees: text,
  four_eyes: text,
  remind_after: duration,
  escalate_after: duration,
  escalate_to: text,
  'human.type': { kind: 'text', oneOf: humanForms },
  join_policy: text,
  error_policy: { kind: 'text', oneOf: ['continue', 'fail_fast', 'ignore'] },
  max_parallel: integer,
  tool_command: text,
  agent_command: text,
  tools: text,
  allow_tools: text,
  max_turns: integer,
  on_change: { kind: 'text', oneOf: ['continue', 'refuse'] },
  workdir: text,
  status_file: text,
  budget,
  on_budget: { kind: 'text', oneOf: ['ask', 'fail'] },
  'manager.poll_interval': duration,
  'manager.max_cycles': integer,
  'manager.stop_condition': text,
  'manager.actions': text,
  'stack.child_dotfile': text,
  'stack.child_workdir': text,
  'stack.child_autostart': boolean,
  'tool_hooks.pre': text,
  'tool_hooks.post': text,
};

const edgeRules: RuleTable = {
  label: text,
  condition: text,
  weight: integer,
  fidelity,
  thread_id: text,
  loop_restart: boolean,
};

export const attributeRules: Readonly<Record<AttributePlace, Rules>> = {
  graph: new Map(Object.entries(graphRules)),
  node: new Map(Object.entries(nodeRules)),
  edge: new Map(Object.entries(edgeRules)),
};

/** Attributes that only affect how the graph is drawn. */
export const drawn: ReadonlySet<string> = new Set(
  `rankdir rank ranksep nodesep splines layout size ratio margin pad bgcolor color fillcolor fontcolor fontname fontsize style
  penwidth pencolor width height fixedsize peripheries arrowhead arrowtail arrowsize dir constraint minlen headlabel taillabel
  labelloc labeljust labeldistance labelangle labelfontsize labelfontcolor labelfontname xlabel tooltip URL href target group
  concentrate compound newrank lhead ltail decorate comment pos dpi overlap ordering orientation sides skew regular charset
  colorscheme gradientangle image nojustify clusterrank center landscape id headport tailport`.split(/\s+/),
);

/** Why a value is not allowed for the attribute. Undefined means that it is. */
export function valueFault({ kind, oneOf }: AttributeRule, value: string): string | undefined {
  if (oneOf !== undefined) return oneOf.includes(value) ? undefined : `must be one of ${oneOf.join(', ')}`;
  if (kind === 'integer') return /^[+-]?\d{1,15}$/.test(value) ? undefined : 'must be a whole number';
  if (kind === 'boolean') return value === 'true' || value === 'false' ? undefined : 'must be true or false';
  if (kind === 'duration') return durationFault(value);
  if (kind === 'budget')
    return parseBudget(value) === undefined ? 'must be amounts such as tokens=200000, cost=5, time=2h' : undefined;
  if (kind === 'webhooks')
    return parseWebhooks(value) === undefined
      ? `must be an address, events (${webhookEvents.join(', ')}) with commas and no spaces, and secret:NAME`
      : undefined;
  return undefined;
}
