/** Plans of random graphs in words. */
import type { EdgePlan, EffectPlan, NodePlan, PartPlan, RandomGraphPlan } from './plan-random-graph.ts';

/** A line for each node and each edge; children are indented below the node that runs them. */
export function describePlan({ id, nodes, edges, policies }: RandomGraphPlan): string {
  const { routing, checkpoint, concurrency, durability, budget } = policies;
  const head = `${id}: routing ${routing}, checkpoint ${checkpoint}, concurrency ${concurrency}, durability ${durability}${budget === undefined ? '' : `, budget ${budget.units} units`}`;
  return [head, ...nodes.map(describeNode), ...edges.map(describeEdge)].join('\n  ');
}

function describeNode(node: NodePlan): string {
  const { id, kind, effect, parts, items, join, onFailure, checkpoint, channel } = node;
  const words = [
    `${kind} ${describeEffect(effect)}`,
    ...(items.length > 0 ? [`over ${items.length} items`] : []),
    ...(join === 'some' ? [] : [`join ${join}`]),
    ...(onFailure === 'fail-run' ? [] : [`on failure ${onFailure}`]),
    ...(checkpoint === undefined ? [] : [`checkpoint ${checkpoint}`]),
    ...(node.hasWhen ? ['has a when'] : []),
    ...(node.declaresReads ? ['declares its reads'] : []),
    ...(node.hasGoto ? ['names its targets'] : []),
    ...(channel === undefined ? [] : [`writes ${channel}`]),
  ];
  return [`${id}: ${words.join(', ')}`, ...parts.map((part) => `  ${describePart(part)}`)].join('\n  ');
}

function describeEffect({ effect, recovery, failures, attempts, failsAfter, hangs, latencyMs }: EffectPlan): string {
  const words = [
    ...(recovery === 'none' ? [] : [recovery]),
    ...(failures > 0 ? [`fails ${failures} times of ${attempts} attempts`] : []),
    ...(failsAfter ? ['fails after its effect'] : []),
    ...(hangs ? ['hangs instead of failing'] : []),
    ...(latencyMs === undefined ? [] : [`takes ${latencyMs.join(' + ')} ms`]),
  ];
  return words.length === 0 ? effect : `${effect} (${words.join(', ')})`;
}

function describePart(part: PartPlan): string {
  switch (part.kind) {
    case 'step':
      return `step ${part.name}: ${describeEffect(part.effect)}`;
    case 'together':
      return `at once: ${part.steps.map(({ name, effect }) => `${name} ${describeEffect(effect)}`).join('; ')}`;
    case 'ask':
      return `asks ${part.name} (${part.style})`;
    case 'sleep':
      return `sleeps ${part.delayMs} ms`;
    case 'child':
      return `child ${indent(describePlan(part.graph))}`;
    case 'mixed':
      return `at once: a question, a step ${describeEffect(part.effect)}, child ${indent(describePlan(part.graph))}`;
    default:
      return part.kind;
  }
}

function indent(text: string): string {
  return text.replaceAll('\n', '\n    ');
}

function describeEdge({ from, to, on, always, condition, roundsMost }: EdgePlan): string {
  const words = [
    ...(always ? ['always'] : []),
    ...(on === 'completed' ? [] : [`on ${on}`]),
    ...(condition === undefined ? [] : [`if its output % ${condition.modulus} is ${condition.rest}`]),
    ...(roundsMost === undefined ? [] : [`before visit ${roundsMost}`]),
  ];
  return [`${from === '' ? 'START' : from} > ${to}`, ...words].join(' ');
}
