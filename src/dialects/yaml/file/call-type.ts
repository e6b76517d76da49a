/** The dialect's own block types, which run another workflow. */
import { CairnError } from '../../../errors.ts';
import type { NodeType } from '../../../graph/contracts/node-type.ts';
import { durationMs } from './duration.ts';
import { durationPattern } from './format.ts';

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
