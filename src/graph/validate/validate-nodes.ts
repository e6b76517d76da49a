/** Checks each node by itself, and that ids and output names are unique (G2, G9). */
import { canonicalText, NotDataError } from '../canonical.ts';
import { type GraphDefinition, type NodeDefinition, END, START } from '../graph.ts';
import { memoryConsistencies } from '../contracts/memory-consistency.ts';
import type { EffectClass } from '../contracts/node-contract.ts';
import {
  type Report,
  checkBounds,
  checkFields,
  checkLimit,
  checkOneOf,
  checkRange,
  checkType,
  idFault,
} from './violations.ts';

/** Every effect class. */
export const effects: readonly EffectClass[] = ['pure', 'read', 'write', 'external', 'human'];
const nodeFields =
  'id type version config effect isDeclared reads when join retry timeoutMs onFailure checkpoint idempotent onInDoubt budget onBudget atMost memoryConsistency limit maxVisits maxVisitsName outputAs appends uses inCode subgraph implementation place'.split(
    ' ',
  );
const retryFields = ['attempts', 'backoff', 'factor', 'delayMs', 'delayMsMax', 'jitter', 'on', 'when'];

/** The place of a node in messages: `file:line` where it was written, else its id. */
export function nodePlace(node: NodeDefinition): string {
  return node.place ?? `node ${node.id}`;
}

function checkId(report: Report, node: NodeDefinition): void {
  const place = nodePlace(node);
  const fault = idFault(node.id);
  if (fault !== undefined) report.error('G2', place, `the id ${fault}`, 'give an id of 1 to 512 bytes');
  if (node.id === START || node.id === END) {
    report.error('G2', place, `${node.id} is reserved`, 'give the node another id; START and END are always there');
  }
}

/** What a function uses of the code around it, as text. @throws NotDataError a value is neither data nor a function */
export function usesText(uses: Readonly<Record<string, unknown>>): string {
  const values = Object.entries(uses).map(([name, value]) => [
    name,
    typeof value === 'function' ? String(value) : value,
  ]);
  return canonicalText(Object.fromEntries(values));
}

function checkUses(report: Report, node: NodeDefinition): void {
  try {
    if (node.uses !== undefined) usesText(node.uses);
  } catch (error) {
    if (!(error instanceof NotDataError)) throw error;
    report.error('G1', nodePlace(node), `uses.${error.path}: ${error.message}`, 'name plain data and functions');
  }
}

function checkConfig(report: Report, node: NodeDefinition): void {
  try {
    canonicalText(node.config);
  } catch (error) {
    if (!(error instanceof NotDataError)) throw error;
    const path = error.path === '' ? 'config' : `config.${error.path}`;
    report.error(
      'G1',
      nodePlace(node),
      `${path}: ${error.message}`,
      'keep plain data in config; code belongs to the implementation',
    );
  }
}

/** Checks the retry policy of a node or step. */
export function checkRetry(report: Report, place: string, retry: NodeDefinition['retry']): void {
  if (retry === undefined) return;
  checkFields(report, place, retry, retryFields);
  checkRange(report, place, 'retry.attempts', retry.attempts ?? Number.NaN, { min: 1, max: 1_000_000 });
  checkOneOf(report, 'G9', place, 'retry.backoff', retry.backoff, ['fixed', 'linear', 'exponential']);
  checkRange(report, place, 'retry.factor', retry.factor, { min: 1, isWhole: false });
  if (retry.factor !== undefined && (retry.backoff ?? 'exponential') !== 'exponential')
    report.error(
      'G9',
      place,
      `retry.factor means nothing where the backoff is ${retry.backoff}`,
      'leave one of them out',
    );
  checkType(report, place, 'retry.when', retry.when, 'function');
  checkRange(report, place, 'retry.delayMs', retry.delayMs, { min: 0, isWhole: false });
  checkRange(report, place, 'retry.delayMsMax', retry.delayMsMax, { min: 0, isWhole: false });
  checkRange(report, place, 'retry.jitter', retry.jitter, { min: 0, max: 1, isWhole: false });
  if (retry.on === undefined) return;
  const isList = Array.isArray(retry.on) && retry.on.length > 0 && retry.on.every((code) => typeof code === 'string');
  if (!isList)
    report.error('G9', place, 'retry.on is no list of error codes', 'name at least one code, or leave it out');
}

function checkJoin(report: Report, place: string, join: NodeDefinition['join']): void {
  if (typeof join !== 'object' || join === null) {
    checkOneOf(report, 'G3', place, 'join', join, ['some', 'all']);
    return;
  }
  checkFields(report, place, join, ['first', 'cancelRest']);
  checkRange(report, place, 'join.first', join.first ?? Number.NaN, { min: 1 });
}

function checkEffect(report: Report, node: NodeDefinition): void {
  const place = nodePlace(node);
  checkOneOf(report, 'G2', place, 'effect', node.effect ?? null, effects);
  if (node.idempotent === true && node.effect !== 'write' && node.effect !== 'external') {
    report.warn(
      'G9',
      place,
      `idempotent says nothing of a ${node.effect} node`,
      'remove it, or declare the node write or external',
    );
  }
  const isChild = node.type === 'subgraph' || node.subgraph !== undefined;
  if (isChild && (node.effect === 'write' || node.effect === 'external')) {
    const fix = 'declare it pure, read or human; the effects are those of the nodes of its child graph';
    report.error('X4', place, `a node that runs a child graph is composed and cannot be ${node.effect}`, fix);
  }
  if (node.type === 'subgraph' && node.subgraph === undefined) {
    report.error('G2', place, 'a subgraph node without a subgraph', 'give it a compiled graph as `subgraph`');
  }
}

function checkNode(report: Report, node: NodeDefinition): void {
  const place = nodePlace(node);
  checkFields(report, place, node, nodeFields);
  checkId(report, node);
  if (typeof node.type !== 'string' || node.type === '')
    report.error('G2', place, 'no node type', 'name the node type');
  if (typeof node.implementation?.run !== 'function') {
    report.error('G2', place, 'no implementation', 'give an implementation with a `run` function');
  }
  checkConfig(report, node);
  checkUses(report, node);
  checkEffect(report, node);
  checkJoin(report, place, node.join);
  checkRetry(report, place, node.retry);
  checkRange(report, place, 'timeoutMs', node.timeoutMs, { min: 1 });
  checkRange(report, place, 'maxVisits', node.maxVisits, { min: 1 });
  checkLimit(report, place, node.limit);
  if (node.limit !== undefined && (node.effect === 'human' || node.subgraph !== undefined))
    report.error(
      'FL5',
      place,
      'a limit on a node that asks or runs a graph of its own',
      'name it at the steps or nodes that do the work, or at the graph',
    );
  checkOneOf(report, 'G8', place, 'onFailure', node.onFailure, [
    'fail-run',
    'fail-last',
    'skip-dependents',
    'continue',
  ]);
  checkOneOf(report, 'C10', place, 'checkpoint', node.checkpoint, ['before', 'after', 'both', 'none']);
  checkType(report, place, 'idempotent', node.idempotent, 'boolean');
  checkOneOf(report, 'G9', place, 'onInDoubt', node.onInDoubt, ['ask', 'fail']);
  checkBounds(report, place, 'budget', node.budget);
  checkOneOf(report, 'Q4', place, 'onBudget', node.onBudget, ['ask', 'fail']);
  checkOneOf(report, 'A43', place, 'memoryConsistency', node.memoryConsistency, memoryConsistencies);
  if (node.atMost !== 'nothing') checkBounds(report, place, 'atMost', node.atMost);
  if (node.outputAs === '') report.error('G2', place, 'outputAs is empty', 'give the output a name, or leave it out');
}

/** Checks every node, and that no two share an id or an output name. */
export function validateNodes(report: Report, definition: GraphDefinition): void {
  const seen = new Set<string>();
  const outputs = new Map<string, NodeDefinition>();
  for (const node of definition.nodes) {
    checkNode(report, node);
    const place = nodePlace(node);
    if (seen.has(node.id))
      report.error('G2', place, `a second node ${JSON.stringify(node.id)}`, 'give each node an id of its own');
    seen.add(node.id);
    if (node.outputAs === undefined) continue;
    const first = outputs.get(node.outputAs);
    if (first !== undefined) {
      const message = `artifacts.${node.outputAs} is the output of ${nodePlace(first)} already`;
      report.error('G2', place, message, 'give each output a name of its own');
    }
    outputs.set(node.outputAs, node);
    const isReduced = (path: string): boolean =>
      path === `artifacts.${node.outputAs}` || path.startsWith(`artifacts.${node.outputAs}.`);
    if (Object.keys(definition.reducers ?? {}).some(isReduced)) {
      const message = `artifacts.${node.outputAs} has a reducer, which never applies to an output`;
      report.error('G9', place, message, 'rename one of the two');
    }
  }
}
