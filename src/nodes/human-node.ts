/** The human node: asks a person and waits for the answer, for days if need be. */
import { CairnError } from '../errors.ts';
import { assigneesFault, questionFault } from '../graph/validate/validate-calls.ts';
import { same, schemaDefect, schemaFault } from '../schema/json-schema.ts';
import { jsonSchemaOf } from '../schema/standard-schema.ts';
import { NodeFailure, type NodeContext, type Question, type StateView } from '../graph/contracts/node-contract.ts';
import type { ChoiceValue, SchemaValue } from '../graph/contracts/answer-types.ts';
import type { JsonSchema } from '../graph/contracts/node-type.ts';
import { describeConfig, resolveComputed, type Computed, type FromState } from './draft/computed.ts';
import { refuseUnknownKeys } from '../graph/known-keys.ts';
import { draftNode, type NodeDraft, type NodeOptions } from './draft/node-draft.ts';

type Choices = NonNullable<Question['choices']>;
type OnTimeout = 'accept' | 'reject' | 'error';

/**
 * Configuration of a human node. The type parameters after the first are inferred; together they determine the type of the node's output.
 */
export interface HumanNodeConfig<
  S extends StateView = StateView,
  Offered extends Choices = Choices,
  Schema extends Question['schema'] = Question['schema'],
  Default = unknown,
  Auto extends boolean | string = boolean | string,
  Late extends OnTimeout = OnTimeout,
> {
  readonly prompt: Computed<string, S>;
  readonly choices?: Computed<Offered, S>;
  /** What the answer must fit: JSON Schema, or a Standard Schema that can produce it, such as Zod's. */
  readonly schema?: Schema;
  /** Data shown with the question. */
  readonly metadata?: object | FromState<unknown, S>;
  /** Whose question it is: `staff` (default), or the `user` whose request the run is. */
  readonly audience?: Question['audience'];
  /** Whose answers are taken: people by name, and roles (`role:finance`). Default: everybody's. */
  readonly for?: Computed<readonly string[], S>;
  /** Another node that asks: who answered that, or started the run, does not answer this. Nothing else decides this one then. */
  readonly fourEyes?: string;
  /** When the question is reminded of, in ms from when it is asked; several times in a list. */
  readonly remindAfterMs?: Question['remindAfterMs'];
  /** From when on, in ms from when it is asked, it is for those of `escalateTo` too. */
  readonly escalateAfterMs?: number;
  readonly escalateTo?: readonly string[];
  /** How long the question stays open, in milliseconds. The time goes on counting while the process is down. */
  readonly timeoutMs?: number;
  /** Until when the question stays open, in epoch ms. Used in place of `timeoutMs`. */
  readonly deadlineAt?: Computed<number, S>;
  /** What happens when the time is over: the node completes with an {@link AutoDecision}, or fails with NODE_TIMED_OUT. Default `error`. */
  readonly onTimeout?: Late;
  /** The answer used when the time is over. Used in place of `onTimeout`. */
  readonly defaultAnswer?: Default;
  /** Answers at once with an {@link AutoDecision}, for trying out a workflow. */
  readonly autoAccept?: boolean & Auto;
  /** Answers at once with a refusal; a text is its reason. */
  readonly autoReject?: Auto;
  /** Answers in the person's place if it returns anything but undefined. It is called once, and its answer is recorded. */
  readonly policy?: FromState<unknown, S>;
  readonly outputAs?: string;
}

/** The type of a person's answer. */
type Answer<Offered, Schema> = [Offered] extends [never] ? SchemaValue<Schema> : ChoiceValue<Offered>;
/** The type of the output when nobody was asked, or nobody answered in time. */
type Decided<Default, Auto, Late> =
  | NoInfer<Default>
  | (Auto extends false ? never : AutoDecision)
  | (Late extends 'error' ? never : AutoDecision);

/** The output of a question that was decided without a person. */
export interface AutoDecision {
  readonly approved: boolean;
  readonly reason?: string;
  readonly decidedBy: 'auto-accept' | 'auto-reject' | 'timeout-accept' | 'timeout-reject';
}

/** The configuration with the question's schema as it is stored. */
type StoredConfig = HumanNodeConfig<StateView, Choices, JsonSchema>;

const configKeys = [
  'prompt',
  'choices',
  'schema',
  'metadata',
  'audience',
  'for',
  'fourEyes',
  'remindAfterMs',
  'escalateAfterMs',
  'escalateTo',
  'timeoutMs',
  'deadlineAt',
  'onTimeout',
  'defaultAnswer',
  'autoAccept',
  'autoReject',
  'policy',
  'outputAs',
] as const satisfies readonly (keyof HumanNodeConfig)[];

/**
 * Makes a node that asks a question. The answer is its output. The effect class is `human`: a recorded answer is never requested again.
 * @throws CONFIG_INVALID the configuration contradicts itself
 */
export function humanNode<
  S extends StateView = StateView,
  const Offered extends Choices = never,
  const Schema extends Question['schema'] = never,
  Default = never,
  const Auto extends boolean | string = false,
  const Late extends OnTimeout = 'error',
>(
  config: HumanNodeConfig<S, Offered, Schema, Default, Auto, Late>,
  options: Omit<NodeOptions, 'timeoutMs' | 'effectClass'> = {},
): NodeDraft<S, Answer<Offered, Schema> | Decided<Default, Auto, Late>, Answer<Offered, Schema>> {
  refuseUnknownKeys('humanNode', config, configKeys);
  const { schema } = config;
  const known = (schema === undefined
    ? config
    : { ...config, schema: jsonSchemaOf(schema, 'input', 'humanNode: schema') }) as unknown as StoredConfig;
  checkConfig(known);
  const { policy, outputAs, ...rest } = known;
  const { config: questionConfig, data, codeText } = describeConfig(rest);
  return draftNode(
    {
      type: 'human',
      effect: 'human',
      config: data,
      outputAs,
      implementation: {
        run: (ctx) => decide(ctx, questionConfig, policy),
        outputFault: (output, state) => outputFault(questionConfig, output, state),
        codeText: policy ? `${codeText}\n${String(policy)}` : codeText,
      },
    },
    options,
  );
}

async function decide(ctx: NodeContext, config: StoredConfig, policy: HumanNodeConfig['policy']): Promise<unknown> {
  if (config.autoAccept === true) return { approved: true, decidedBy: 'auto-accept' } satisfies AutoDecision;
  if (config.autoReject !== undefined && config.autoReject !== false) {
    const reason = typeof config.autoReject === 'string' ? config.autoReject : 'Auto-rejected';
    return { approved: false, reason, decidedBy: 'auto-reject' } satisfies AutoDecision;
  }
  const question = createQuestion(ctx, config);
  if (policy) {
    const answer = await ctx.step('policy', { effect: 'read' }, () => policy({ state: ctx.state }));
    if (answer !== undefined) return checkPolicy(answer, question, config.schema);
  }
  return ctx.ask(question);
}

/** Checks an output that is set in a fork: it must be a possible answer, or what the node can decide without a person. */
function outputFault(config: StoredConfig, output: unknown, state: StateView): string | undefined {
  const decides = config.autoAccept ?? config.autoReject ?? config.onTimeout;
  if (decides !== undefined && isApproval(output)) return undefined;
  const { defaultAnswer, schema } = config;
  if (defaultAnswer !== undefined && same(defaultAnswer, output)) return undefined;
  const { choices } = resolveComputed({ choices: config.choices }, state) as Pick<Question, 'choices'>;
  const values = choices?.map((choice) => (typeof choice === 'object' && 'value' in choice ? choice.value : choice));
  if (values?.every((value) => !same(value, output)) === true)
    return `it is none of the choices ${values.map((value) => JSON.stringify(value)).join(', ')}`;
  return schema === undefined ? undefined : schemaFault(schema, output, 'answer');
}

function isApproval(output: unknown): boolean {
  return typeof output === 'object' && output !== null && 'approved' in output && 'decidedBy' in output;
}

function createQuestion(ctx: NodeContext, config: StoredConfig): Question {
  const { prompt, choices, metadata, deadlineAt, ...whose } = resolveComputed(
    {
      prompt: config.prompt,
      choices: config.choices,
      metadata: config.metadata,
      deadlineAt: config.deadlineAt,
      for: config.for,
    },
    ctx.state,
  ) as Omit<Question, 'name'>;
  const defaultAnswer = config.defaultAnswer === undefined ? answerOnTimeout(config.onTimeout) : config.defaultAnswer;
  return {
    prompt,
    ...(choices !== undefined && { choices }),
    ...(config.schema !== undefined && { schema: config.schema }),
    ...(metadata !== undefined && { metadata }),
    ...(config.audience !== undefined && { audience: config.audience }),
    ...(whose.for !== undefined && { for: whose.for }),
    ...(config.fourEyes !== undefined && { fourEyes: config.fourEyes }),
    ...lateOf(config),
    ...(config.timeoutMs !== undefined && { timeoutMs: config.timeoutMs }),
    ...(deadlineAt !== undefined && { deadlineAt }),
    ...(defaultAnswer !== undefined && { defaultAnswer }),
  };
}

function lateOf({ remindAfterMs, escalateAfterMs, escalateTo }: StoredConfig): Partial<Question> {
  return {
    ...(remindAfterMs !== undefined && { remindAfterMs }),
    ...(escalateAfterMs !== undefined && { escalateAfterMs }),
    ...(escalateTo !== undefined && { escalateTo }),
  };
}

function answerOnTimeout(onTimeout: HumanNodeConfig['onTimeout']): AutoDecision | undefined {
  if (onTimeout === 'accept') return { approved: true, decidedBy: 'timeout-accept' };
  if (onTimeout === 'reject') return { approved: false, reason: 'Timed out', decidedBy: 'timeout-reject' };
  return undefined;
}

/** Checks the answer of a policy as a person's is checked: it must be one of the choices, and fit the schema. */
function checkPolicy(answer: unknown, { choices }: Question, schema: JsonSchema | undefined): unknown {
  const values = choices?.map((choice) => (typeof choice === 'string' ? choice : choice.value));
  const isChoice =
    values?.some((value) => value === answer || JSON.stringify(value) === JSON.stringify(answer)) ?? true;
  const fault = isChoice ? schema && schemaFault(schema, answer, 'answer') : 'the policy answered none of the choices';
  if (fault === undefined) return answer;
  throw new NodeFailure(isChoice ? `the answer of the policy does not fit: ${fault}` : fault, {
    code: 'ANSWER_INVALID',
    data: { answer, ...(values !== undefined && { choices: values }) },
  });
}

/** A question that needs the eyes of a person is decided by nothing else. */
function checkEyes(config: StoredConfig, refuse: (reason: string) => never): void {
  const { for: assignees, fourEyes } = config;
  const fault = typeof assignees === 'function' || assignees === undefined ? undefined : assigneesFault(assignees);
  if (fault !== undefined) refuse(`${fault}: name people and roles: ['role:finance', 'ann']`);
  if (fourEyes === undefined) return;
  if (typeof fourEyes !== 'string') refuse('fourEyes must name another node that asks');
  const deciders = ['autoAccept', 'autoReject', 'policy', 'defaultAnswer', 'onTimeout'] as const;
  const decider = deciders.find(
    (name) => config[name] !== undefined && config[name] !== false && config[name] !== 'error',
  );
  if (decider !== undefined) refuse(`${decider} would stand for the eyes of a person, which fourEyes asks for`);
}

function checkConfig(config: StoredConfig): void {
  const refuse = (reason: string): never => {
    throw new CairnError('CONFIG_INVALID', { reason: `humanNode: ${reason}` });
  };
  const isOf = (value: unknown, ...types: readonly string[]): boolean => types.includes(typeof value);
  if (!isOf(config.prompt, 'string', 'function')) refuse('prompt must be a text or a function');
  if (!isOf(config.choices, 'undefined', 'function') && !Array.isArray(config.choices))
    refuse('choices must be a list or a function');
  // What is known before the node runs: a question that could not be asked then is refused now.
  const { choices, schema } = config;
  const fault =
    questionFault({ prompt: '', ...(Array.isArray(choices) && { choices }), ...lateOf(config) }) ??
    (schema === undefined ? undefined : schemaDefect(schema));
  if (fault !== undefined) refuse(fault);
  checkEyes(config, refuse);
  if (!['staff', 'user', undefined].includes(config.audience)) refuse("audience must be 'staff' or 'user'");
  if (!isOf(config.timeoutMs, 'undefined') && !(Number(config.timeoutMs) > 0 && isOf(config.timeoutMs, 'number')))
    refuse('timeoutMs must be a number over 0');
  if (!isOf(config.deadlineAt, 'undefined', 'function') && !Number.isFinite(config.deadlineAt))
    refuse('deadlineAt must be a time in epoch ms or a function');
  if (!['accept', 'reject', 'error', undefined].includes(config.onTimeout))
    refuse("onTimeout must be 'accept', 'reject' or 'error'");
  if (!isOf(config.autoAccept, 'undefined', 'boolean')) refuse('autoAccept must be true or false');
  if (!isOf(config.autoReject, 'undefined', 'boolean', 'string')) refuse('autoReject must be true, false or a reason');
  if (!isOf(config.policy, 'undefined', 'function')) refuse('policy must be a function');
  if (!isOf(config.outputAs, 'undefined', 'string')) refuse('outputAs must be a text');
  if (config.timeoutMs !== undefined && config.deadlineAt !== undefined)
    refuse('give timeoutMs or deadlineAt, not both');
  const hasDeadline = config.timeoutMs !== undefined || config.deadlineAt !== undefined;
  const decidesLate = config.onTimeout === 'accept' || config.onTimeout === 'reject';
  if (!hasDeadline && (config.onTimeout !== undefined || config.defaultAnswer !== undefined))
    refuse('onTimeout and defaultAnswer need timeoutMs or deadlineAt');
  if (config.onTimeout !== undefined && config.defaultAnswer !== undefined)
    refuse('give onTimeout or defaultAnswer, not both');
  if (config.autoAccept === true && config.autoReject !== undefined && config.autoReject !== false)
    refuse('give autoAccept or autoReject, not both');
  if (decidesLate && (config.choices !== undefined || config.schema !== undefined)) {
    refuse(`onTimeout '${config.onTimeout}' does not fit a question with choices or a schema: give defaultAnswer`);
  }
}
