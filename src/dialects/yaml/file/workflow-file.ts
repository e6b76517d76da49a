/** The content of a workflow file. It has the right format, but nothing else was checked yet. */
import { durationPattern, blockFields, typeNamed, workflowShape } from './format.ts';
import { CairnError } from '../../../errors.ts';
import type { NodeType, FileOutput } from '../../../graph/contracts/node-type.ts';
import { type Amounts, type AtMost, amountsFault } from '../../../graph/amounts.ts';
import type { OnBudget, TimeLimit } from '../../../graph/graph.ts';
import { webhookFaults, type Webhook } from '../../../graph/webhooks.ts';
import type { EffectClass } from '../../../graph/contracts/node-contract.ts';
import type { RetryPolicy } from '../../../graph/contracts/retry-policy.ts';
import type { Path, YamlDocument } from './read-document.ts';
import type { NodeApproval } from '../../approval.ts';
import type { CheckpointSettings, WorkflowInput } from '../../text-workflow.ts';
import type { Faults } from './faults.ts';
import { checkShape, isMapping, readField } from './shape.ts';
import { readInputs } from './input-schema.ts';

// Parses durations in files.

const unitMs: Readonly<Record<string, number>> = { ms: 1, s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 };

/** Milliseconds of a number of seconds, or of a text such as `500ms`, `30s`, `5m`, `2h`; undefined if it is neither. */
function durationMs(value: unknown): number | undefined {
  if (typeof value === 'number') return value > 0 ? Math.max(1, Math.round(value * 1000)) : undefined;
  if (typeof value !== 'string') return undefined;
  const [, count, unit = 's'] = durationPattern.exec(value.trim()) ?? [];
  if (count === undefined) return undefined;
  return Math.max(1, Math.round(Number(count) * (unitMs[unit] ?? 1000)));
}

// The dialect's own block types, which run another workflow.

const duration = {
  anyOf: [
    { type: 'number', exclusiveMinimum: 0 },
    { type: 'string', pattern: durationPattern.source },
  ],
};

function callType(name: string): NodeType {
  return {
    name,
    description: 'Runs another workflow inside this run, and waits for it.',
    inputs: {
      workflow: {
        schema: { type: 'string', minLength: 1 },
        description: 'the name of the workflow',
        isRequired: true,
      },
      inputs: {
        schema: { anyOf: [{ type: 'object' }, { type: 'string' }] },
        description: 'its inputs, as a mapping (or the JSON text of one)',
      },
      timeout: {
        schema: duration,
        kind: 'literal',
        description: 'how long it may work without waiting: seconds, or a text such as 5m',
      },
      timeout_ms: {
        schema: { type: 'number', exclusiveMinimum: 0 },
        kind: 'literal',
        description: 'the same in milliseconds',
      },
    },
    outputs: {
      success: { schema: { const: true }, description: 'true: a workflow that fails fails the block' },
      workflow: { schema: { type: 'string' }, description: 'its name' },
      outputs: { schema: { type: 'object' }, description: 'its outputs, which are also fields of the block' },
      total_blocks: { schema: { type: 'integer' }, description: 'how many of its blocks were started' },
      execution_waves: { schema: { type: 'integer' }, description: 'how many waves its blocks form' },
      execution_time_ms: {
        schema: { type: 'number' },
        description:
          'milliseconds from its start to its end, waits included; recorded where a text of the file reads it',
      },
    },
    effect: 'read',
    timeoutMs: ({ timeout, timeout_ms: ms }) => (typeof ms === 'number' ? ms : durationMs(timeout)),
    run: () => {
      throw new CairnError('INTERNAL', { reason: `${name} is run by the dialect` });
    },
  };
}

export const callTypes: readonly NodeType[] = [callType('Workflow'), callType('ExecuteWorkflow')];

/** Whether blocks of a type run a workflow. A user's own block may have the same name. */
export function isCall(type: NodeType | undefined): boolean {
  return type !== undefined && callTypes.includes(type);
}

export interface DependencyFile {
  readonly block: string;
  readonly isRequired: boolean;
  readonly at: Path;
}

export interface FileOutputFile extends Omit<FileOutput, 'path'> {
  /** May contain references. */
  readonly path: string;
  readonly at: Path;
}

export interface ForEachFile {
  /** An expression, a list or a mapping. */
  readonly over: unknown;
  readonly isSequential: boolean;
  /** Undefined if the file does not say. */
  readonly maxParallel: number | undefined;
}

/** Budgets in the form that graphs and nodes use. */
export interface BudgetFile {
  readonly budget?: Amounts;
  readonly onBudget?: OnBudget;
}

/** A question before a block. Its texts may contain references. */
export interface ApprovalFile {
  readonly prompt: string;
  readonly condition: string | undefined;
  readonly edit: readonly string[];
  /** What else is said of it, in the words of `NodeApproval`. */
  readonly question: Omit<NodeApproval, 'prompt' | 'when' | 'edit'>;
}

export interface BlockFile {
  readonly id: string;
  /** The id under which runs have the block on record. */
  readonly renamedFrom: string | undefined;
  readonly type: string;
  readonly description: string | undefined;
  readonly inputs: Readonly<Record<string, unknown>>;
  readonly dependsOn: readonly DependencyFile[];
  readonly condition: string | undefined;
  readonly forEach: ForEachFile | undefined;
  readonly continuesOnError: boolean;
  readonly fileOutputs: readonly FileOutputFile[];
  readonly approval: ApprovalFile | undefined;
  readonly timeoutMs: number | undefined;
  readonly limit: readonly string[] | undefined;
  readonly retry: RetryPolicy | undefined;
  readonly effect: EffectClass | undefined;
  readonly idempotent: boolean | undefined;
  readonly onInDoubt: 'ask' | 'retry' | 'fail' | undefined;
  readonly budget: BudgetFile;
  readonly atMost: AtMost | undefined;
  readonly at: Path;
}

export interface OutputFile {
  readonly name: string;
  readonly value: unknown;
  readonly type: WorkflowInput['type'] | undefined;
  readonly description: string | undefined;
  /** Path of the value. */
  readonly at: Path;
}

export interface WorkflowFile {
  readonly name: string;
  readonly description: string | undefined;
  readonly version: string;
  readonly tags: readonly string[];
  /** Undefined if the file has no such section. */
  readonly inputs: readonly WorkflowInput[] | undefined;
  readonly blocks: readonly BlockFile[];
  readonly outputs: readonly OutputFile[];
  readonly secrets: readonly string[];
  readonly concurrency: number | undefined;
  readonly depth: number | undefined;
  readonly budget: BudgetFile;
  readonly webhooks: readonly Webhook[];
  readonly timeLimit: TimeLimit | undefined;
  readonly limit: readonly string[] | undefined;
  /** Text with references to inputs, of which the title of a run is made. */
  readonly title: string | undefined;
  /** Id of the block that follows a cancel of the run. */
  readonly onCancel: string | undefined;
  /** Id of the block that follows the failure of the run. */
  readonly onRunFailure: string | undefined;
  readonly checkpoint: CheckpointSettings;
}

// Reads the content of a file from its data. The format is checked first; what does not fit is reported and omitted.

type Data = Readonly<Record<string, unknown>>;

/** Checks and reads a file. Faults are reported; as much as possible is returned. */
export function readFile(faults: Faults, document: YamlDocument): WorkflowFile {
  const data = document.data as Data;
  checkShape(faults, workflowShape, data, []);
  const blocks = Array.isArray(data['blocks']) ? (data['blocks'] as unknown[]) : [];
  if (Array.isArray(data['blocks']) && blocks.length === 0)
    faults.add(['blocks'], { rule: 'Y2', message: 'there are no blocks', fix: 'add at least one: `- id: …`' });
  const bounds = readBounds(faults, data);
  const { version } = data;
  return {
    name: textOf(data['name']) ?? 'workflow',
    description: textOf(data['description']),
    version: version === undefined ? '1.0' : (document.sourceOf(['version']) ?? '1.0'),
    tags: listOf(data['tags']).filter((tag) => typeof tag === 'string'),
    inputs: readInputs(faults, data['inputs'], ['inputs']),
    blocks: blocks.flatMap((block, index) => (isMapping(block) ? [readBlock(faults, block, ['blocks', index])] : [])),
    outputs: readOutputs(data['outputs']),
    secrets: readSecrets(data['secrets']),
    concurrency: numberOf(bounds['concurrency']),
    depth: numberOf(bounds['depth']),
    budget: readBudget(data),
    // What does not fit is reported by the format check.
    webhooks: webhookFaults(data['webhooks']).length > 0 ? [] : (data['webhooks'] as readonly Webhook[]),
    timeLimit: readTimeLimit(data['time_limit']),
    limit: readLimit(data['limit']),
    title: textOf(data['title']),
    onCancel: textOf(data['on_cancel']),
    onRunFailure: textOf(data['on_run_failure']),
    checkpoint: {
      ...(isMapping(data['checkpoint']) ? data['checkpoint'] : {}),
      ...(isMapping(data['retention']) && { retention: data['retention'] }),
    },
  };
}

function readBlock(faults: Faults, block: Data, at: Path): BlockFile {
  const condition = block['condition'];
  return {
    id: textOf(block['id']) ?? '',
    renamedFrom: textOf(block['renamed_from']),
    type: textOf(block['type']) ?? '',
    description: textOf(block['description']),
    inputs: isMapping(block['inputs']) ? block['inputs'] : {},
    dependsOn: listOf(block['depends_on']).flatMap((item, index) => readDependency(item, [...at, 'depends_on', index])),
    condition: typeof condition === 'boolean' ? String(condition) : textOf(condition),
    forEach: readForEach(faults, block, at),
    continuesOnError: readField(blockFields, block, 'continue_on_error') === true,
    fileOutputs: isMapping(block['outputs']) ? readFileOutputs(block['outputs'], [...at, 'outputs']) : [],
    approval: readApproval(block['approval']),
    timeoutMs: durationMs(block['timeout']),
    limit: readLimit(block['limit']),
    retry: readRetry(block['retry']),
    effect: textOf(block['effect']) as EffectClass | undefined,
    idempotent: typeof block['idempotent'] === 'boolean' ? block['idempotent'] : undefined,
    onInDoubt: textOf(block['on_in_doubt']) as BlockFile['onInDoubt'],
    budget: readBudget(block),
    atMost: block['at_most'] === 'nothing' ? 'nothing' : amountsOf(block['at_most']),
    at,
  };
}

function readApproval(approval: unknown): ApprovalFile | undefined {
  const data: Data = isMapping(approval) ? approval : { prompt: approval };
  const { prompt, condition, on_deadline: onDeadline, on_rejected: onRejected, four_eyes: fourEyes } = data;
  if (typeof prompt !== 'string') return undefined;
  const texts = (name: string): readonly string[] => listOf(data[name]).filter((one) => typeof one === 'string');
  const deadlineMs = durationMs(data['deadline']);
  const escalateAfterMs = durationMs(data['escalate_after']);
  const reminders = [data['remind_after']].flat().flatMap((one) => durationMs(one) ?? []);
  return {
    prompt,
    condition: typeof condition === 'boolean' ? String(condition) : textOf(condition),
    edit: texts('edit'),
    question: {
      ...(deadlineMs !== undefined && { deadlineMs }),
      ...(onDeadline !== undefined && { onDeadline: onDeadline as NonNullable<NodeApproval['onDeadline']> }),
      ...(onRejected !== undefined && { onRejected: onRejected as NonNullable<NodeApproval['onRejected']> }),
      ...(data['assignees'] !== undefined && { for: texts('assignees') }),
      ...(typeof fourEyes === 'string' && { fourEyes }),
      ...(reminders.length > 0 && { remindAfterMs: reminders }),
      ...(escalateAfterMs !== undefined && { escalateAfterMs }),
      ...(data['escalate_to'] !== undefined && { escalateTo: texts('escalate_to') }),
    },
  };
}

/** The bounds of a run, under either of their names. */
function readBounds(faults: Faults, data: Data): Data {
  if (data['bounds'] !== undefined && data['limits'] !== undefined)
    faults.add(['limits'], { rule: 'Y2', message: 'bounds and limits are one field', fix: 'write bounds alone' });
  return [data['bounds'], data['limits']].find(isMapping) ?? {};
}

/** Names of limits; undefined if there are none. */
function readLimit(limit: unknown): readonly string[] | undefined {
  const names = [limit].flat().filter((name) => typeof name === 'string');
  return names.length === 0 ? undefined : names;
}

function readTimeLimit(limit: unknown): TimeLimit | undefined {
  if (!isMapping(limit)) return durationMs(limit);
  const ms = durationMs(limit['after']);
  if (ms === undefined) return undefined;
  return limit['counts_waits'] === false ? { ms, countsWaits: false } : ms;
}

function readBudget(data: Data): BudgetFile {
  const budget = amountsOf(data['budget']);
  const onBudget = textOf(data['on_budget']) as OnBudget | undefined;
  return { ...(budget !== undefined && { budget }), ...(onBudget !== undefined && { onBudget }) };
}

/** Amounts, if valid; faults are reported by the format check. */
function amountsOf(value: unknown): Amounts | undefined {
  return amountsFault(value) === undefined ? (value as Amounts) : undefined;
}

function readDependency(item: unknown, at: Path): readonly DependencyFile[] {
  if (typeof item === 'string') return [{ block: item, isRequired: true, at }];
  if (!isMapping(item) || typeof item['block'] !== 'string') return [];
  return [{ block: item['block'], isRequired: item['required'] !== false, at: [...at, 'block'] }];
}

function readForEach(faults: Faults, block: Data, at: Path): ForEachFile | undefined {
  if (!Object.hasOwn(block, 'for_each')) {
    for (const name of ['for_each_mode', 'max_parallel']) {
      if (Object.hasOwn(block, name))
        faults.add([...at, name], {
          rule: 'Y2',
          atKey: true,
          message: `\`${name}\` has no effect without \`for_each\``,
          fix: 'remove it, or add `for_each:`',
        });
    }
    return undefined;
  }
  const isSequential = block['for_each_mode'] === 'sequential';
  if (isSequential && Object.hasOwn(block, 'max_parallel'))
    faults.add([...at, 'max_parallel'], {
      rule: 'Y2',
      atKey: true,
      message: '`max_parallel` has no effect in sequential mode',
      fix: 'remove it',
    });
  return {
    over: block['for_each'],
    isSequential,
    maxParallel: numberOf(block['max_parallel']),
  };
}

function readFileOutputs(outputs: Data, at: Path): readonly FileOutputFile[] {
  return Object.entries(outputs).flatMap(([name, output]) => {
    if (!isMapping(output) || typeof output['path'] !== 'string') return [];
    const type = typeNamed(output['type']);
    return [
      {
        name,
        // A file itself shows whether a number is an integer.
        type: type === undefined || type === 'any' ? 'str' : type === 'int' ? 'num' : type,
        path: output['path'],
        isRequired: output['required'] !== false,
        isUnsafe: output['unsafe'] === true,
        at: [...at, name],
      } satisfies FileOutputFile,
    ];
  });
}

function readRetry(retry: unknown): RetryPolicy | undefined {
  if (typeof retry === 'number') return { attempts: retry };
  if (!isMapping(retry)) return undefined;
  const delayMs = durationMs(retry['delay']);
  const delayMsMax = durationMs(retry['max_delay']);
  const { backoff, factor, jitter, on } = retry as Partial<RetryPolicy>;
  return {
    attempts: numberOf(retry['attempts']) ?? 1,
    ...(backoff === undefined ? {} : { backoff }),
    ...(factor === undefined ? {} : { factor }),
    ...(delayMs === undefined ? {} : { delayMs }),
    ...(delayMsMax === undefined ? {} : { delayMsMax }),
    ...(jitter === undefined ? {} : { jitter }),
    ...(on === undefined ? {} : { on }),
  };
}

function readOutputs(outputs: unknown): readonly OutputFile[] {
  if (!isMapping(outputs)) return [];
  return Object.entries(outputs).map(([name, output]) => {
    const isTyped = isMapping(output);
    return {
      name,
      value: isTyped ? output['value'] : output,
      type: isTyped ? typeNamed(output['type']) : undefined,
      description: isTyped ? textOf(output['description']) : undefined,
      at: isTyped ? ['outputs', name, 'value'] : ['outputs', name],
    };
  });
}

function readSecrets(secrets: unknown): readonly string[] {
  if (Array.isArray(secrets)) return secrets.filter((name) => typeof name === 'string');
  return isMapping(secrets) ? Object.keys(secrets) : [];
}

function textOf(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined;
}

function numberOf(value: unknown): number | undefined {
  return typeof value === 'number' ? value : undefined;
}

function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}
