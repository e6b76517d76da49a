/** Makes a block a tool for a model. The block's inputs are the tool's arguments, and it has the permissions of the process, no more. */
import { NodeFailure, type EffectClass, type NodeContext } from '../../graph/contracts/node-contract.ts';
import type { CommandText, Inputs, JsonSchema, NodeType, TypedNodeContext } from '../../graph/contracts/node-type.ts';
import type { FunctionTool } from '../tools/agent-tool.ts';

/** JSON Schema of the arguments. A shell command is a text here. */
export function argumentsOf({ inputs }: NodeType): JsonSchema {
  const fields = Object.entries(inputs);
  return {
    type: 'object',
    additionalProperties: false,
    required: fields.filter(([, { isRequired }]) => isRequired === true).map(([name]) => name),
    properties: Object.fromEntries(
      fields.map(([name, { schema, description, kind }]) => [
        name,
        { ...(kind === 'command' ? { type: 'string' } : schema), description },
      ]),
    ),
  };
}

/** The effect class that a block has when its inputs are not known. */
export function effectOfBlock({ effect }: NodeType): EffectClass {
  return typeof effect === 'function' ? effect({}) : effect;
}

/** Makes the tool. Each call is one step, of the effect class that the block has when its inputs are not known. */
export function blockTool(type: NodeType, ctx: TypedNodeContext): FunctionTool {
  const { idempotent = false } = type;
  return {
    description: type.description,
    input: argumentsOf(type),
    effect: effectOfBlock(type),
    idempotent: typeof idempotent === 'function' ? idempotent({}) : idempotent,
    run: (args, { idempotencyKey, attempt, signal }) => {
      const given = withCommands(type, args as Inputs);
      refuse(type, given, ctx);
      const own = { inputs: given, fileOutputs: [], idempotencyKey, attempt, signal };
      return type.run(contextWith(ctx, own));
    },
  };
}

function withCommands({ inputs }: NodeType, args: Inputs): Inputs {
  const entries = Object.entries(args).map(([name, value]): [string, unknown] =>
    inputs[name]?.kind === 'command' && typeof value === 'string'
      ? [name, { script: value, env: {} } satisfies CommandText]
      : [name, value],
  );
  return Object.fromEntries(entries);
}

/** Refuses bad or forbidden inputs before anything is done; the model is told. @throws NodeFailure INPUT_INVALID, PERMISSION_DENIED */
function refuse(type: NodeType, inputs: Inputs, { isGranted }: TypedNodeContext): void {
  const [fault] = type.check?.(inputs) ?? [];
  if (fault !== undefined)
    throw new NodeFailure(`${fault.input}: ${fault.message}`, { code: 'INPUT_INVALID', applied: 'no' });
  const withheld = type.needs?.(inputs).find((need) => isGranted?.(need) !== true);
  if (withheld !== undefined)
    throw new NodeFailure(`this is not granted here: ${JSON.stringify(withheld)}`, {
      code: 'PERMISSION_DENIED',
      applied: 'no',
    });
}

/** The block's context with the key and the signal of one call. */
function contextWith(ctx: TypedNodeContext, own: Partial<TypedNodeContext>): TypedNodeContext {
  return new Proxy(ctx, {
    get(target, key) {
      if (Object.hasOwn(own, key)) return own[key as keyof NodeContext];
      const value: unknown = Reflect.get(target, key, target);
      return typeof value === 'function' ? (value as () => unknown).bind(target) : value;
    },
  });
}
