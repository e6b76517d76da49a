/**
 * Collects the faults found while a graph is being written, so that they can be reported all at once with those of the graph itself (G7).
 */
import { CairnError } from '../../errors.ts';
import { compileGraph } from '../../graph/compile/compile-graph.ts';
import type { Graph, GraphDefinition, Violation } from '../../graph/graph.ts';
import { nearest } from '../../graph/nearest.ts';

type Fault = Omit<Violation, 'severity' | 'place'> & { readonly place?: string | undefined };

export class Faults {
  readonly #violations: Violation[] = [];

  constructor(from: Iterable<Violation> = []) {
    this.#violations.push(...from);
  }

  /** A copy of the faults found so far. */
  get list(): readonly Violation[] {
    return [...this.#violations];
  }

  add({ rule, message, fix, place }: Fault): void {
    this.#violations.push({ rule, severity: 'error', place: place ?? 'graph', message, fix });
  }

  /** The known options. Each other one has a fault added, since it would have no effect (G9). */
  checkOptions<Options extends object>(
    options: Options | undefined,
    known: readonly string[],
    of: string,
    place?: string,
  ): Partial<Options> {
    const given = Object.entries(options ?? {});
    for (const [key] of given.filter(([name]) => !known.includes(name))) {
      const guess = nearest(key, known);
      const hint = guess === undefined ? '' : `did you mean ${guess}? `;
      this.add({
        rule: 'G9',
        place,
        message: `${of} has no option ${key}`,
        fix: `${hint}use one of: ${known.join(', ')}`,
      });
    }
    return Object.fromEntries(given.filter(([name]) => known.includes(name))) as Partial<Options>;
  }

  /**
   * Compiles a definition. Reports the faults collected here together with those the compiler finds.
   * @throws GRAPH_INVALID
   */
  compile(definition: GraphDefinition): Graph {
    const compiled = tryCompile(definition);
    const violations = [...this.#violations, ...compiled.violations];
    if (violations.length > 0 || compiled.graph === undefined) {
      throw new CairnError('GRAPH_INVALID', { graphId: definition.id, violations });
    }
    return compiled.graph;
  }
}

function tryCompile(definition: GraphDefinition): {
  readonly graph?: Graph;
  readonly violations: readonly Violation[];
} {
  try {
    return { graph: compileGraph(definition), violations: [] };
  } catch (error) {
    if (!CairnError.is(error, 'GRAPH_INVALID')) throw error;
    return { violations: error.data['violations'] as readonly Violation[] };
  }
}
