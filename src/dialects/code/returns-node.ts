/** The last node of a workflow, which computes what the workflow returns. */
import { firstFault, validateStandard } from '../../schema/standard-schema.ts';
import { CairnError } from '../../errors.ts';
import type { NodeDefinition, StandardSchema } from '../../graph/graph.ts';
import type { NodeContext } from '../../graph/contracts/node-contract.ts';

/** Id of this node. A step cannot use it. */
export const returnsId = 'returns';

/** Computes a workflow's result from its final state: `({ state }) => …`. */
export type ReturnsFunction<State, Value> = (scope: { readonly state: State }) => Value;

/**
 * Makes the node that computes the result and checks it against the schema. A result that does not fit makes the run fail, instead of
 * surprising its reader later.
 */
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

/** Checks a result that was set in a fork. An asynchronous schema is skipped here; it is applied when the node itself runs. */
function syncFault(schema: StandardSchema, output: unknown): string | undefined {
  const result = schema['~standard'].validate(output);
  return result instanceof Promise ? undefined : result.issues?.[0]?.message;
}

async function check(schema: StandardSchema, value: unknown): Promise<unknown> {
  const { value: valid, faults } = await validateStandard(schema, await value);
  if (faults === undefined) return valid;
  throw new CairnError('NODE_OUTPUT_INVALID', { node: returnsId, ...firstFault(faults) });
}

/** Functions must be examined too: schemas of ArkType are functions. */
function isSchema(value: unknown): value is StandardSchema {
  return (typeof value === 'object' || typeof value === 'function') && value !== null && '~standard' in value;
}
