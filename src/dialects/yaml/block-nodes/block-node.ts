/** The node of a block that does its own work. */
import { Outcome, outcome, type NodeImplementation } from '../../../graph/contracts/node-contract.ts';
import type { NodeDefinition } from '../../../graph/graph.ts';
import type { NodeType } from '../../../graph/contracts/node-type.ts';
import { schemaFault } from '../../../schema/json-schema.ts';
import { isMapping } from '../file/shape.ts';
import { BlockContext } from '../../block-context.ts';
import { resolveFileOutputs, scopeOf, scopeOfState, type BlockParts } from './callable-workflow.ts';

/** Resolves the inputs in each attempt, with the state that the attempt sees, and runs the block's type. */
export function blockImplementation({ file, type, inputs, fileOutputs, workflow }: BlockParts): NodeImplementation {
  const { reconcile } = type;
  const limit = limitOfCalls({ file, type });
  return {
    run: (ctx) => {
      const scope = scopeOf(workflow, ctx);
      const resolved = inputs.resolve(scope);
      const files = fileOutputs.length === 0 ? noFiles : resolveFileOutputs(fileOutputs, scope);
      return orEmpty(type.run(new BlockContext({ ctx, workflow, inputs: resolved, fileOutputs: files, ...limit })));
    },
    outputFault: (output, state) => {
      const fault = fieldsFault(type, fileOutputs, output);
      if (fault !== undefined || type.outputFault === undefined) return fault;
      return type.outputFault(output as Mapping, inputs.resolve(scopeOfState(workflow, state)));
    },
    ...(reconcile !== undefined && {
      reconcile: ({ idempotencyKey, state }) =>
        reconcile({
          idempotencyKey,
          inputs: inputs.resolve(scopeOfState(workflow, state)),
          isGranted: (need) => workflow.withheld?.(need) === undefined,
        }),
    }),
    ...(type.isComposed === true && { isComposed: true }),
    ...(type.isModelCall === true && { isModelCall: true }),
    codeText: String(type.run),
  };
}

/** The limits of a block whose type keeps them at the calls that it makes. */
export function limitOfCalls({ file, type }: Pick<BlockParts, 'file' | 'type'>): {
  readonly limit?: readonly string[];
} {
  return type.limitsItsCalls === true && file.limit !== undefined ? { limit: file.limit } : {};
}

type Mapping = Readonly<Record<string, unknown>>;

/** Checks an output set in a fork: it may have only declared fields; that of a question must have all of them. */
function fieldsFault(type: NodeType, files: BlockParts['fileOutputs'], output: unknown): string | undefined {
  if (!isMapping(output)) return 'it must be a mapping of the block’s fields';
  const fields = Object.entries(type.outputs).filter(([, { aliasOf }]) => aliasOf === undefined);
  if (fields.length === 0) return undefined;
  const known = [...fields.map(([name]) => name), ...files.map(({ name }) => name)];
  const unknown = Object.keys(output).find((name) => !known.includes(name));
  if (unknown !== undefined) return `${type.name} has no field ${unknown}; it has ${known.join(', ')}`;
  for (const [name, { schema }] of fields) {
    if (!Object.hasOwn(output, name)) {
      if (type.effect === 'human') return `${name} is missing`;
      continue;
    }
    const fault = schemaFault(schema, output[name], name);
    if (fault !== undefined) return fault;
  }
  return undefined;
}

const noFiles: readonly never[] = Object.freeze([]);

/** A block's output is always a mapping, so that a block that returned nothing differs from one that did not complete. */
export function orEmpty(returned: unknown): unknown {
  if (returned === undefined) return {};
  if (typeof returned === 'object' && returned !== null && 'then' in returned)
    return (returned as Promise<unknown>).then((value) => value ?? {});
  return returned;
}

/**
 * A node that records how long its block took, for the texts that read it: from the block's start to its end, waits included. Both times are
 * recorded, so that a repetition gives the same. An output that has the field already keeps it.
 */
export function withTime({ implementation, config, ...node }: NodeDefinition): NodeDefinition {
  const { outputFault } = implementation;
  return {
    ...node,
    config: { ...(config as Mapping), isTimed: true },
    implementation: {
      ...implementation,
      run: async (ctx) => {
        const beganAt = ctx.now();
        const ended = await implementation.run(ctx);
        return timedOutput(ended, ctx.now() - beganAt);
      },
      ...(outputFault !== undefined && {
        outputFault: (output, state) => {
          if (!isMapping(output)) return outputFault(output, state);
          const { execution_time_ms: _time, ...own } = output;
          return outputFault(own, state);
        },
      }),
    },
  };
}

function timedOutput(ended: unknown, execution_time_ms: number): unknown {
  if (ended instanceof Outcome) {
    const { output } = ended.parts;
    return isMapping(output) ? outcome({ ...ended.parts, output: { execution_time_ms, ...output } } as never) : ended;
  }
  return isMapping(ended) ? { execution_time_ms, ...ended } : ended;
}
