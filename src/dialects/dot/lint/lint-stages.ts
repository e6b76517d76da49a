/** Rules of single stages: types, what they need, and attributes that say nothing where they stand. */
import { type Stage, childType, kindOf, typeOfShape } from '../model/pipeline.ts';
import { parseCondition } from '../model/edge-condition.ts';
import { acceleratorOf, normalLabel } from '../model/edge-label.ts';
import { outcomesRead } from '../model/layout.ts';
import type { Report } from './report.ts';
import { stageTools } from '../../../graph/contracts/stage-agent.ts';
import { habitOfShape, readElsewhere } from '../model/other-engines.ts';
import { needsApproval } from '../run/stage/approval.ts';

// Lint rules for timeouts of commands: how long they may be, and what is not tried again after them.

/** The longest timeout of the block `Shell`, which runs the commands. */
const longestMs = 86_400_000;

function runsCommand({ type, attributes }: Stage): boolean {
  return type === 'tool' || attributes.text('agent_command') !== '';
}

function lintTimeout({ error, warn }: Report, stage: Stage): void {
  const { id, attributes } = stage;
  const timeoutMs = attributes.durationMs('timeout');
  if (timeoutMs === undefined || !runsCommand(stage)) return;
  if (timeoutMs > longestMs)
    error(
      'attribute_value',
      attributes.placeOf('timeout'),
      `timeout of ${id}, a command, is over 1d`,
      'give 1d or less',
    );
  const retries = retriesOf(stage);
  if (retries !== undefined && !attributes.flag('idempotent'))
    warn(
      'timeout_not_retried',
      attributes.placeOf(retries),
      `${retries} of ${id} is for exit codes: after its timeout it is not run again, since it may have had its effect`,
      'add idempotent=true if it may run twice',
    );
}

/** The attribute by which a stage says that it is tried again. */
function retriesOf({ attributes }: Stage): string | undefined {
  const retries = attributes.integer('max_retries');
  if (retries !== undefined) return retries > 0 ? 'max_retries' : undefined;
  return ['', 'none'].includes(attributes.text('retry_policy')) ? undefined : 'retry_policy';
}

const builtIn: ReadonlySet<string> = new Set(typeOfShape.values());
/** Node ids that the compiled graph uses itself. */
const reserved: ReadonlySet<string> = new Set(['outputs', '__start__', '__end__']);

/** Attributes that have an effect only on stages of some types, by these types. */
/** What is said of a question: that of a stage that asks, or the approval of another. */
const askingAttributes = ['assignees', 'four_eyes', 'remind_after', 'escalate_after', 'escalate_to'];

const heeded: readonly (readonly [names: readonly string[], types: readonly string[]])[] = [
  [['prompt'], ['codergen', 'parallel.fan_in', childType]],
  [
    [
      'manager.poll_interval',
      'manager.max_cycles',
      'manager.stop_condition',
      'manager.actions',
      'stack.child_dotfile',
      'stack.child_workdir',
      'stack.child_autostart',
    ],
    [childType],
  ],
  [
    ['llm_model', 'llm_provider', 'reasoning_effort', 'max_tokens'],
    ['codergen', 'parallel.fan_in', childType],
  ],
  [['fidelity', 'thread_id'], ['codergen']],
  [['auto_status'], ['codergen', 'tool']],
  [
    ['agent_command', 'tools', 'allow_tools', 'max_turns', 'on_change', 'tool_hooks.pre', 'tool_hooks.post'],
    ['codergen'],
  ],
  [['tool_command'], ['tool']],
  [
    ['idempotent', 'status_file', 'workdir'],
    ['tool', 'codergen'],
  ],
  [['human.default_choice', 'human.type'], ['wait.human']],
  [['approval'], ['codergen', 'tool', childType]],
  [askingAttributes, ['wait.human', 'codergen', 'tool', childType]],
  [['join_policy', 'error_policy', 'max_parallel'], ['parallel']],
  [
    ['max_retries', 'retry_policy', 'allow_partial', 'timeout'],
    ['codergen', 'tool', 'wait.human', 'parallel.fan_in'],
  ],
  [['goal_gate'], ['codergen', 'tool', 'wait.human', 'conditional', 'parallel', 'parallel.fan_in', childType]],
];
const heedingTypes: ReadonlyMap<string, readonly string[]> = new Map(
  heeded.flatMap(([names, types]) => names.map((name) => [name, types])),
);

/** What an attribute has an effect together with, besides the type of its stage. */
interface Companion {
  readonly isThere: (stage: Stage, report: Report) => boolean;
  /** Why the attribute has no effect otherwise. */
  readonly why: string;
  readonly fix: string;
}

const hasTools = (stage: Stage): boolean => kindOf(stage) === 'codergen.agent';

const command: Companion = {
  isThere: runsCommand,
  why: 'it runs no command',
  fix: 'give it an agent_command, or take it out',
};
const tools: Companion = { isThere: hasTools, why: 'it has no tools', fix: 'give it tools, or take it out' };
const asking: Companion = {
  isThere: (stage) => stage.type === 'wait.human' || needsApproval(stage),
  why: 'it asks nobody',
  fix: 'give it an approval, or take it out',
};
const companions: ReadonlyMap<string, Companion> = new Map([
  [
    'workdir',
    {
      isThere: (stage) => runsCommand(stage) || hasTools(stage),
      why: 'it neither runs a command nor has tools',
      fix: 'take it out',
    },
  ],
  ...askingAttributes.map((name) => [name, asking] as const),
  ['tools', { ...tools, why: 'its agent_command brings tools of its own', fix: 'take one of them out' }],
  ['allow_tools', tools],
  ['max_turns', tools],
  ['on_change', tools],
  ['tool_hooks.pre', tools],
  ['tool_hooks.post', tools],
  ['idempotent', command],
  ['status_file', command],
  [
    'auto_status',
    {
      isThere: ({ id, type, attributes }, { layout, pipeline }) =>
        attributes.text('status_file') !== '' || (type === 'codergen' && outcomesRead(layout, pipeline, id).size > 0),
      why: 'it names no status_file, and no edge reads the outcome of a model',
      fix: 'take it out',
    },
  ],
]);

export function lintStages(report: Report): void {
  for (const stage of report.pipeline.stages.values()) {
    lintType(report, stage);
    lintNeeds(report, stage);
    lintAttributes(report, stage);
    if (stage.type === 'codergen' || stage.type === 'tool') {
      lintTools(report, stage);
      lintTimeout(report, stage);
    }
    if (stage.type === 'wait.human') lintChoices(report, stage);
    else if (needsApproval(stage)) lintEyes(report, stage);
    if (stage.type === childType) lintChild(report, stage);
  }
}

function lintType({ handlers, error, warn }: Report, { id, type, attributes, at, isDeclared }: Stage): void {
  if (reserved.has(id)) error('reserved_id', at, `no stage can be called ${id}`, 'give it another name');
  if (!isDeclared)
    warn('undeclared_stage', at, `only edges name ${id}; is it mistyped?`, `declare it: \`${id} [...]\``);
  const shape = attributes.text('shape');
  const elsewhere = habitOfShape(shape);
  if (attributes.text('type') === '' && elsewhere !== undefined)
    warn(
      'shape_known',
      attributes.placeOf('shape'),
      `shape ${shape} has no meaning here: ${id} is a stage for a model. ${readElsewhere(elsewhere)}`,
      `write ${elsewhere.write}`,
    );
  else if (attributes.text('type') === '' && shape !== '' && !typeOfShape.has(shape))
    warn(
      'shape_known',
      attributes.placeOf('shape'),
      `shape ${shape} has no meaning: ${id} is a stage for a model, as a box is`,
      `use one of ${[...typeOfShape.keys()].join(', ')}`,
    );
  if (!builtIn.has(type) && !handlers.has(type))
    error(
      'type_known',
      attributes.placeOf('type'),
      `no handler has the type ${type}: ${id} would run as something else`,
      `use one of ${[...builtIn, ...handlers].join(', ')}`,
    );
}

/** What a stage that runs a pipeline does while that runs. */
function lintChild({ error, warn }: Report, { id, attributes, at }: Stage): void {
  const actions = attributes.list('manager.actions');
  for (const action of actions.filter((each) => !['observe', 'steer', 'wait'].includes(each)))
    error(
      'attribute_value',
      attributes.placeOf('manager.actions'),
      `manager.actions of ${id} names ${action}`,
      'use observe, steer, wait',
    );
  const parsed = parseCondition(attributes.text('manager.stop_condition'));
  if (parsed.fault !== undefined)
    error('condition_syntax', attributes.placeOf('manager.stop_condition'), parsed.fault, 'correct it');
  const isSteering = actions.includes('steer');
  if (isSteering && attributes.text('prompt') === '')
    warn(
      'inert_attribute',
      attributes.placeOf('manager.actions'),
      `${id} steers nothing: there is no prompt`,
      'give it a prompt, for the model that looks at the child',
    );
  if (!isSteering && attributes.has('prompt') && attributes.placeOf('prompt') !== at)
    warn(
      'inert_attribute',
      attributes.placeOf('prompt'),
      `prompt of ${id} has no effect: it does not steer`,
      'add manager.actions="observe,steer,wait"',
    );
}

function lintNeeds({ layout, error, warn }: Report, { id, type, attributes, at }: Stage): void {
  if (type === 'codergen' && attributes.text('prompt') === '' && attributes.text('label') === '')
    warn(
      'prompt_on_llm_nodes',
      at,
      `${id} has neither a prompt nor a label: its name is all that the model is told`,
      'give it a prompt',
    );
  if (type === 'tool' && attributes.text('tool_command').trim() === '')
    error('tool_command_required', at, `${id} has no tool_command: it has nothing to run`, 'give it a tool_command');
  if (
    type === 'conditional' &&
    (layout.outgoing.get(id) ?? []).every((edge) => edge.attributes.text('condition') === '')
  )
    warn(
      'conditional_without_condition',
      at,
      `no edge of ${id} has a condition: it decides nothing, and no failure gets past it`,
      'give its edges conditions',
    );
}

function lintAttributes(report: Report, stage: Stage): void {
  const { warn } = report;
  const { id, type, attributes } = stage;
  if (!builtIn.has(type)) return;
  // A default is written for the stages on which it has an effect, so it is not reported.
  for (const { key: name, valueAt } of attributes.written()) {
    const rest = companions.get(name);
    if (heedingTypes.get(name)?.includes(type) === false)
      warn('inert_attribute', valueAt, `${name} has no effect on ${id}, a ${type} stage`, 'take it out');
    else if (rest?.isThere(stage, report) === false)
      warn('inert_attribute', valueAt, `${name} of ${id} has no effect: ${rest.why}`, rest.fix);
  }
}

/** Tools are known by a few names; only what it has can be used unasked. */
function lintTools({ error }: Report, { id, attributes }: Stage): void {
  if (!attributes.has('tools') && !attributes.has('allow_tools')) return;
  const tools = attributes.list('tools');
  const isTool = (name: string): boolean => (stageTools as readonly string[]).includes(name);
  const refuse = (attribute: string, what: string, fix: string): void =>
    error('attribute_value', attributes.placeOf(attribute), `${attribute} of ${id} names ${what}`, fix);
  for (const name of tools) if (!isTool(name)) refuse('tools', name, `use ${stageTools.join(', ')}`);
  for (const name of attributes.list('allow_tools'))
    if (!tools.includes(name))
      refuse(
        'allow_tools',
        `${name}, which it has not`,
        isTool(name) ? 'name it in tools too, or take it out' : 'take it out',
      );
}

/** Other eyes are those of who answered another stage that asks; nothing stands for them. */
function lintEyes({ pipeline, error }: Report, { id, attributes }: Stage): void {
  if (attributes.has('escalate_to') !== attributes.has('escalate_after')) {
    const [there, missing] = attributes.has('escalate_to')
      ? ['escalate_to', 'escalate_after']
      : ['escalate_after', 'escalate_to'];
    error('human_eyes', attributes.placeOf(there), `${id} has ${there} alone`, `give it ${missing} too`);
  }
  const other = attributes.text('four_eyes');
  if (other === '') return;
  const place = attributes.placeOf('four_eyes');
  const found = pipeline.stages.get(other);
  if (other === id || found === undefined || (kindOf(found) !== 'wait.human' && !needsApproval(found)))
    error(
      'human_eyes',
      place,
      `four_eyes of ${id} is ${other}, which is no other stage that asks`,
      'name a stage that asks a person',
    );
  if (attributes.has('human.default_choice'))
    error(
      'human_eyes',
      place,
      `${id} has a default choice, which would stand for the eyes of a person`,
      'take human.default_choice or four_eyes out',
    );
}

function lintChoices(report: Report, stage: Stage): void {
  const { layout, error, warn } = report;
  const { id, attributes, at } = stage;
  const edges = layout.outgoing.get(id) ?? [];
  if (edges.length === 0)
    error('human_choices', at, `${id} asks, but leads nowhere: there is nothing to choose`, 'lead edges from it');
  const chosen = attributes.text('human.default_choice');
  const form = attributes.text('human.type');
  const isChoice = form === '' || form === 'multiple_choice';
  if (
    chosen !== '' &&
    isChoice &&
    !edges.some(({ to, attributes: own }) => to === chosen || normalLabel(own.text('label')) === normalLabel(chosen))
  )
    error(
      'human_choices',
      attributes.placeOf('human.default_choice'),
      `human.default_choice of ${id} is ${chosen}, which is none of its choices`,
      'name the target or the label of an edge',
    );
  if (chosen !== '' && !attributes.has('timeout'))
    warn(
      'inert_attribute',
      attributes.placeOf('human.default_choice'),
      `human.default_choice of ${id} is never taken: there is no timeout`,
      'give it a timeout',
    );
  lintEyes(report, stage);
  if (form === 'yes_no' || form === 'confirmation') return;
  const keys = new Map<string, string>();
  const choices = new Set<string>();
  for (const edge of edges) {
    const label = edge.attributes.text('label') || edge.to;
    const choice = `${normalLabel(label)} ${edge.to}`;
    if (choices.has(choice))
      warn(
        'label_conflict',
        edge.attributes.placeOf('label'),
        `${id} has two edges ${JSON.stringify(label)} to ${edge.to}: they are one choice, and the heavier is taken, whatever its condition`,
        'leave one of them',
      );
    choices.add(choice);
    const key = acceleratorOf(label);
    const other = keys.get(key);
    if (other !== undefined && normalLabel(other) !== normalLabel(label))
      warn(
        'label_conflict',
        edge.attributes.placeOf('label'),
        `${JSON.stringify(other)} and ${JSON.stringify(label)} have the same key ${key}: it stands for the first`,
        'give one of them another key: `[K] Label`',
      );
    else keys.set(key, label);
  }
}
