/** Whether an input of a block is a JSON Schema that answers can be held against. */
import type { Inputs } from '../../graph/contracts/node-type.ts';
import { schemaDefect } from '../../schema/json-schema.ts';
import { schemaOf } from './agent-inputs.ts';

/** @throws Error it is none, in words */
export function checkSchema(inputs: Inputs, name: string): void {
  const schema = schemaOf(inputs, name);
  const defect = schema === undefined ? undefined : schemaDefect(schema);
  if (defect !== undefined) throw new Error(defect);
}
