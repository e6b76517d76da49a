/** Checks of reducers, schemas and policies (G9, E5). */
import type { GraphDefinition, Reducer, ReducerName } from '../graph.ts';
import { memoryConsistencies } from '../contracts/memory-consistency.ts';
import { partitions } from '../contracts/node-contract.ts';
import { type Report, checkBounds, checkFields, checkOneOf, checkRange } from './violations.ts';

const policyFields = [
  'routing',
  'checkpoint',
  'concurrency',
  'maxVisits',
  'durability',
  'checkpointBytes',
  'budget',
  'onBudget',
  'memoryConsistency',
];

const reducerNames: readonly ReducerName[] = [
  'last',
  'first',
  'append',
  'merge',
  'union',
  'sum',
  'min',
  'max',
  'avg',
  'longest',
];

function checkReducer(report: Report, place: string, reducer: Reducer): void {
  if (typeof reducer === 'string') {
    checkOneOf(report, 'G9', place, 'the reducer', reducer, reducerNames);
  } else if (typeof reducer?.reduce !== 'function' || typeof reducer.name !== 'string' || reducer.name === '') {
    report.error('G9', place, 'a custom reducer needs a name and a function', 'give `{ name, reduce }`');
  }
}

function checkReducerPath(report: Report, place: string, path: string): void {
  const [partition, ...keys] = path.split('.');
  if (!partitions.some((known) => known === partition)) {
    const fix = `begin the path with one of: ${partitions.join(', ')}`;
    report.error('G9', place, `${JSON.stringify(partition)} is no part of the state that can be written`, fix);
  }
  if (keys.length === 0 || keys.includes('')) {
    report.error('G9', place, 'the path names no channel', 'give a path such as scratch.messages');
  }
}

function validateReducers(report: Report, reducers: Readonly<Record<string, Reducer>>): void {
  const paths = Object.keys(reducers);
  const known = new Set(paths);
  for (const path of paths) {
    const place = `reducer ${path}`;
    checkReducerPath(report, place, path);
    checkReducer(report, place, reducers[path] as Reducer);
    for (let dot = path.lastIndexOf('.'); dot > 0; dot = path.lastIndexOf('.', dot - 1)) {
      const above = path.slice(0, dot);
      if (known.has(above)) {
        report.error('G9', place, `the reducer of ${above} merges this path already`, 'keep one of the two reducers');
      }
    }
  }
}

/** Checks the reducers, schemas and policies of a graph. */
export function validateChannels(report: Report, definition: GraphDefinition): void {
  validateReducers(report, definition.reducers ?? {});
  const schemas = definition.schemas ?? {};
  checkFields(report, 'schemas', schemas, ['input', 'scratch', 'artifacts']);
  for (const [name, schema] of Object.entries(schemas)) {
    if (schema === undefined || typeof schema['~standard']?.validate === 'function') continue;
    report.error(
      'G1',
      `schema ${name}`,
      'this is no Standard Schema',
      'use a schema of Zod 4 or another library that follows it',
    );
  }
  const policies = definition.policies ?? {};
  checkFields(report, 'policies', policies, policyFields);
  for (const [name, value] of Object.entries(policies)) {
    if (value === undefined) report.error('G9', 'policies', `${name} is undefined`, 'give a value, or leave it out');
  }
  checkOneOf(report, 'G5', 'policies', 'routing', policies.routing, ['all', 'first']);
  checkOneOf(report, 'C10', 'policies', 'checkpoint', policies.checkpoint, ['every_node', 'explicit', 'none']);
  checkOneOf(report, 'E4', 'policies', 'durability', policies.durability, ['barrier', 'exit']);
  checkRange(report, 'policies', 'concurrency', policies.concurrency, { min: 1, max: 100_000 });
  checkRange(report, 'policies', 'maxVisits', policies.maxVisits, { min: 1 });
  checkRange(report, 'policies', 'checkpointBytes', policies.checkpointBytes, { min: 1 });
  checkBounds(report, 'policies', 'budget', policies.budget);
  checkOneOf(report, 'Q4', 'policies', 'onBudget', policies.onBudget, ['ask', 'fail']);
  checkOneOf(report, 'A43', 'policies', 'memoryConsistency', policies.memoryConsistency, memoryConsistencies);
}
