/** The last node of a workflow: what it returns. */
import { CairnError } from '../../errors.ts';
import type { NodeDefinition, StandardResult, StandardSchema } from '../../graph/graph.ts';
import type { NodeContext } from '../../graph/contracts/node-contract.ts';

/** Its id; a step may not have it. */
export const returnsId = 'returns';

/** Gives a workflow's result from its final state: `({ state }) => …`. */
export type ReturnsFunction<State, Value> = (scope: { readonly state: State }) => Value;

/** The node that computes the result and checks it, so that a result that does not fit is a failed run, not a surprise later. */
export function defineReturns(
  first: StandardSchema | ReturnsFunction<never, unknown>,
  second: ReturnsFunction<never, unknown> | undefined,
  place: string | undefined,
): NodeDefinition {
  if ((typeof first !== 'function' && !isSchema(first)) || (second !== undefined && typeof second !== 'function'))
    throw new CairnError('CONFIG_INVALID', { reason: 'returns takes a schema, a function of the state, or both' });
  const schema = isSchema(first) ? first : undefined;
  const compute = (isSchema(first) ? second : first) as ReturnsFunction<unknown, unknown> | undefined;
  return {
    id: returnsId,
    type: returnsId,
    effect: 'pure',
    implementation: {
      run: ({ state }: NodeContext) => {
        const value = compute === undefined ? state.artifacts : compute({ state });
        return schema === undefined ? value : check(schema, value);
      },
      ...(schema !== undefined && { outputFault: (output) => syncFault(schema, output) }),
      codeText: compute === undefined ? '' : String(compute),
    },
    ...(place === undefined ? {} : { place }),
  };
}

/** A schema that answers later is asked when the node itself runs; a result that is set in a fork is held to the others. */
function syncFault(schema: StandardSchema, output: unknown): string | undefined {
  const result = schema['~standard'].validate(output);
  return result instanceof Promise ? undefined : result.issues?.[0]?.message;
}

async function check(schema: StandardSchema, value: unknown): Promise<unknown> {
  const result: StandardResult<unknown> = await schema['~standard'].validate(await value);
  if (result.issues === undefined) return result.value;
  const [issue] = result.issues;
  const path = (issue?.path ?? []).map((part) => String(typeof part === 'object' ? part.key : part)).join('.');
  throw new CairnError('NODE_OUTPUT_INVALID', {
    node: returnsId,
    ...(path === '' ? {} : { path }),
    reason: issue?.message ?? 'it was refused',
  });
}

/** ArkType's schemas are functions, so a function may be either. */
function isSchema(value: unknown): value is StandardSchema {
  return (typeof value === 'object' || typeof value === 'function') && value !== null && '~standard' in value;
}
