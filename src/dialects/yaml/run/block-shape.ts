/** How references see a block's stored output: also under field names of older files, and with fields that only its text tells. */
import type { NodeType } from '../../../graph/contracts/node-type.ts';
import { isMapping } from '../file/shape.ts';
import type { BlockFile } from '../file/workflow-file.ts';
import { forEachShape } from './for-each-node.ts';
import type { BlockShape, OutputShape } from './block-scope.ts';

/** The shape of a block. Undefined means that references see the output as it is stored. */
export function blockShape({ forEach }: BlockFile, type: NodeType | undefined): BlockShape | undefined {
  const named = namedShape(type);
  if (forEach === undefined) return named && { output: named };
  const output: OutputShape = (stored) => {
    const whole = forEachShape(stored);
    const { iterations } = whole;
    if (named === undefined || !Array.isArray(iterations)) return whole;
    return { ...whole, iterations: iterations.map((one: unknown) => withOutputs(one, named)) };
  };
  return { output, mode: forEach.isSequential ? 'sequential' : 'parallel' };
}

/** Adds the fields that older files know by another name. */
function namedShape(type: NodeType | undefined): OutputShape | undefined {
  const aliases = Object.entries(type?.outputs ?? {}).flatMap(([name, { aliasOf }]) =>
    aliasOf === undefined ? [] : [[name, aliasOf] as const],
  );
  if (aliases.length === 0) return undefined;
  return (stored) => {
    const fields = stored as Readonly<Record<string, unknown>>;
    return { ...fields, ...Object.fromEntries(aliases.map(([name, of]) => [name, fields[of]])) };
  };
}

function withOutputs(iteration: unknown, shape: OutputShape): unknown {
  if (!isMapping(iteration) || !isMapping(iteration['outputs'])) return iteration;
  return { ...iteration, outputs: shape(iteration['outputs']) };
}
