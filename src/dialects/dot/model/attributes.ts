/** Every attribute of the language: where it may stand, which values it takes, and its default. */

import { durationFault, parseBudget } from './amounts.ts';
import { retryPresets } from './retry-presets.ts';

export type AttributeKind = 'text' | 'integer' | 'boolean' | 'duration' | 'budget';
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

export const fidelities: readonly string[] = [
  'full',
  'truncate',
  'compact',
  'summary:low',
  'summary:medium',
  'summary:high',
];
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
  resume_fidelity: { kind: 'text', oneOf: ['compact', 'summary:high'] },
  'tool_hooks.pre': text,
  'tool_hooks.post': text,
};

const nodeRules: RuleTable = {
  label: text,
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
  auto_status: boolean,
  allow_partial: boolean,
  max_visits: integer,
  idempotent: boolean,
  'human.default_choice': text,
  'human.type': { kind: 'text', oneOf: humanForms },
  join_policy: text,
  error_policy: { kind: 'text', oneOf: ['continue', 'fail_fast', 'ignore'] },
  max_parallel: integer,
  tool_command: text,
  agent_command: text,
  tools: text,
  allow_tools: text,
  max_turns: integer,
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
  return undefined;
}
