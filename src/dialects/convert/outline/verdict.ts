/** How a block that calls a model says its verdict. */

/** The most seconds that a block gives a call of a model. */
export const longestCall = 1_800;

/** The schema of an answer that says how it went. */
export function verdictSchema(labels: readonly string[]): Readonly<Record<string, unknown>> {
  return {
    type: 'object',
    required: ['outcome'],
    properties: {
      outcome: { enum: ['success', 'fail'] },
      ...(labels.length > 0 && { preferred_label: { enum: labels } }),
      failure_reason: { type: 'string' },
    },
  };
}
