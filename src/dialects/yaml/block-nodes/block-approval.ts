/** Approval of a block: the question before it, which shows its inputs, and the inputs that were approved (G14). */
import { hashValue } from '../../../graph/canonical.ts';
import { NodeFailure, type EffectClass } from '../../../graph/contracts/node-contract.ts';
import type { Inputs, NodeType } from '../../../graph/contracts/node-type.ts';
import { SecretReference } from '../../../graph/secret-reference.ts';
import { approvalId, type Approved, type ApprovedNode } from '../../approval.ts';
import type { Scope } from '../expression/template.ts';
import type { Faults } from '../file/faults.ts';
import type { BlockFile } from '../file/workflow-file.ts';
import { scopeOf, scopeOfState, type BlockParts, type WorkflowParts } from './callable-workflow.ts';
import type { InputTemplates } from './input-templates.ts';
import type { TemplateReader } from './template-reader.ts';

/** Inputs as they are hashed and shown: each secret is replaced by the text that names it. */
export function withoutSecrets(value: unknown): unknown {
  if (value instanceof SecretReference) return value.text;
  if (Array.isArray(value)) return value.map(withoutSecrets);
  if (typeof value !== 'object' || value === null || Object.getPrototypeOf(value) !== Object.prototype) return value;
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, withoutSecrets(item)]));
}

/** Reads the question before a block. @param inputs - the block's own inputs, as they are computed */
export function readApproval(
  {
    faults,
    reader,
    workflow,
  }: { readonly faults: Faults; readonly reader: TemplateReader; readonly workflow: WorkflowParts },
  { file, type, inputs }: Pick<BlockParts, 'file' | 'type' | 'inputs'>,
): ApprovedNode | undefined {
  const { approval } = file;
  if (approval === undefined) return undefined;
  checkSettings(faults, file, type, inputs);
  const at = [...file.at, 'approval'];
  const prompt = reader.text(approval.prompt, [...at, 'prompt']);
  const condition = approval.condition === undefined ? undefined : reader.condition(approval.condition, [...at, 'condition']); // prettier-ignore
  return {
    approval: {
      ...approval.question,
      prompt: ({ state }) => String(prompt.evaluate(scopeOfState(workflow, state))),
      ...(condition !== undefined && { when: ({ state }) => condition.evaluate(scopeOfState(workflow, state)) }),
      ...(approval.edit.length > 0 && { edit: approval.edit }),
    },
    input: (_, ctx) => withoutSecrets(inputs.resolve(scopeOf(workflow, ctx))),
    written: { prompt: approval.prompt, condition: approval.condition, inputs: file.inputs },
  };
}

function checkSettings(
  faults: Faults,
  { at, forEach, approval, id }: BlockFile,
  type: BlockParts['type'],
  { secretInputs }: InputTemplates,
): void {
  const refuse = (field: string | undefined, message: string, fix: string): void =>
    faults.add([...at, 'approval', ...(field === undefined ? [] : [field])], {
      rule: 'Y15',
      atKey: true,
      message,
      fix,
    });
  const { edit = [], question } = approval ?? {};
  if (forEach !== undefined)
    refuse(undefined, 'one approval is not of each item', 'put the block into a workflow, with its approval, and run that `for_each`'); // prettier-ignore
  if (question?.onDeadline !== undefined && question.deadlineMs === undefined)
    refuse('on_deadline', '`on_deadline` has no effect without `deadline`', 'give both');
  if (question?.fourEyes !== undefined && question.onDeadline !== undefined && question.onDeadline !== 'fail')
    refuse('on_deadline', '`on_deadline` would stand for the eyes of a person', 'write `fail`, or take it out');
  if ((question?.escalateAfterMs === undefined) !== (question?.escalateTo === undefined))
    refuse(undefined, '`escalate_after` and `escalate_to` have no effect alone', 'give both');
  for (const name of edit) {
    const field = type.inputs[name];
    if (field === undefined)
      refuse('edit', `${type.name} has no input ${name}`, `there are: ${Object.keys(type.inputs).join(', ')}`);
    else if (field.kind === 'command' || field.kind === 'literal' || secretInputs.includes(name))
      refuse('edit', `nobody may change ${name} of ${id} while answering: it decides what the block may do`, 'let them refuse, or change an input of another kind'); // prettier-ignore
  }
}

const classes: readonly EffectClass[] = ['pure', 'read', 'write', 'external', 'human'];
const classOf = ({ effect }: NodeType, inputs: Inputs): EffectClass =>
  typeof effect === 'function' ? effect(inputs) : effect;

/** What a person changes does not make a block do more than its class says: a crash is judged by that. */
function refuseStronger(id: string, type: NodeType, declared: EffectClass, inputs: Inputs): void {
  const changed = classOf(type, inputs);
  if (classes.indexOf(changed) <= classes.indexOf(declared)) return;
  const reason = `as it was changed, ${id} is ${changed}, and it was written as ${declared}`;
  throw new NodeFailure(reason, { code: 'INPUT_INVALID', applied: 'no' });
}

/** The inputs of a block that needs an approval: those that were approved, as edited, with their secrets. */
export function approvedInputs({ id, effect }: BlockFile, type: NodeType, templates: InputTemplates): InputTemplates {
  const resolve = (scope: Scope): ReturnType<InputTemplates['resolve']> => {
    const { input, hash } = (scope.block(approvalId(id)).output ?? {}) as Partial<Approved>;
    const approved = input as Readonly<Record<string, unknown>>;
    refuseStronger(id, type, effect ?? classOf(type, templates.literals), approved);
    if (templates.secrets.length === 0) return templates.checkAll(approved);
    const own = templates.resolve(scope);
    const isPlain = ([name]: readonly [string, unknown]): boolean => !templates.secretInputs.includes(name);
    const whole = { ...own, ...Object.fromEntries(Object.entries(approved).filter(isPlain)) };
    // A secret is no part of a record: it is computed again, and must be of what was shown.
    if (hashValue(withoutSecrets(whole)).slice(0, 16) === hash) return templates.checkAll(whole);
    throw new NodeFailure(`the inputs of ${id} are others than were approved`, {
      code: 'INPUT_INVALID',
      applied: 'no',
    });
  };
  return { ...templates, resolve };
}
