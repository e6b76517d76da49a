/** Blocks whose effects go to the crash kit's oracle: one for each way to recover, and one that asks between its effects. */
import type { Inputs, JsonSchema, NodeType, TypedNodeContext } from '../../src/graph/contracts/node-type.ts';
import {
  createNodeTypes,
  InteractiveBlock,
  interactiveNodeType,
  pause,
  refuse,
  type BlockOutput,
  type InteractiveContext,
  type Pause,
  type Refusal,
} from '../../src/nodes/blocks/index.ts';
import type { CrashProcess } from '../../src/testing/crash-kit/process-life.ts';
import { performEffect } from '../random-graph/random-effect.ts';
import type { EffectPlan } from '../random-graph/plan-random-graph.ts';

const field = (description: string, schema: JsonSchema = {}): NodeType['inputs'][string] => ({ description, schema });

const inputs: NodeType['inputs'] = {
  value: field('Given back.'),
  tag: field('Tells apart what is done at one place.'),
  failures: field('Attempts that fail before the effect.', { type: 'integer' }),
  attempts: field('Attempts there are.', { type: 'integer' }),
  failsAfter: field('It fails although the effect happened.', { type: 'boolean' }),
  latencyMs: field('Before the effect, and after.', { type: 'integer' }),
};

function planOf({ inputs }: TypedNodeContext, recovery: EffectPlan['recovery']): EffectPlan {
  const {
    failures = 0,
    attempts = 1,
    failsAfter = false,
    latencyMs,
  } = inputs as {
    readonly failures?: number;
    readonly attempts?: number;
    readonly failsAfter?: boolean;
    readonly latencyMs?: number;
  };
  const latency = latencyMs === undefined ? undefined : ([latencyMs, latencyMs] as const);
  return {
    effect: 'external',
    recovery,
    failures,
    attempts,
    recovers: false,
    failsAfter,
    hangs: false,
    latencyMs: latency,
  };
}

const placeOf = ({ nodePath }: Pick<TypedNodeContext, 'nodePath'>, tag: string | undefined): string =>
  `${nodePath.join('/')}${tag === undefined ? '' : `:${tag}`}`;

const tagOf = ({ tag }: Inputs): string | undefined => tag as string | undefined;

function effectType(process: CrashProcess, name: string, recovery: EffectPlan['recovery']): NodeType {
  return {
    name,
    description: `An effect: ${recovery}.`,
    inputs,
    outputs: { value: field('As given.') },
    effect: 'external',
    idempotent: recovery === 'idempotent',
    run: (ctx) => {
      const { value = null } = ctx.inputs;
      const tag = tagOf(ctx.inputs);
      const call = { place: placeOf(ctx, tag), key: ctx.idempotencyKey, attempt: ctx.attempt };
      return performEffect(process, planOf(ctx, recovery), call, { value });
    },
    ...(recovery === 'reconcile' && {
      reconcile: ({ idempotencyKey }: { readonly idempotencyKey: string }) => process.oracle.reconcile(idempotencyKey),
    }),
  };
}

/** An effect, a question, an effect; an answer that ends with `?` is refused once. */
class Interview extends InteractiveBlock {
  override readonly name = 'Interview';
  override readonly description = 'Asks between effects.';
  override readonly effect = 'external';
  override readonly inputs: NodeType['inputs'] = { prompt: field('What is asked.') };
  override readonly outputs: NodeType['outputs'] = { value: field('The answer.') };
  readonly #process: CrashProcess;

  constructor(process: CrashProcess) {
    super();
    this.#process = process;
  }

  #apply(ctx: InteractiveContext, tag: string, output: unknown): void {
    const place = placeOf(ctx, `${String(ctx.inputs['prompt'])} ${tag}`);
    this.#process.oracle.apply({ key: ctx.idempotencyKey, place, promise: 'once', output });
  }

  override execute(ctx: InteractiveContext): Pause {
    const question = { prompt: String(ctx.inputs['prompt']), metadata: { round: 1 } };
    this.#apply(ctx, 'execute', { question });
    return pause(question);
  }

  override resume(ctx: InteractiveContext, answer: unknown, metadata: unknown): BlockOutput | Refusal {
    if (String(answer).endsWith('?')) {
      this.#apply(ctx, 'refuse', { refused: 'Not that' });
      return refuse('Not that');
    }
    const output = { value: `${String(answer)} ${String((metadata as { readonly round: number }).round)}` };
    this.#apply(ctx, 'resume', { output });
    return output;
  }
}

/** The blocks of random workflows, for one process. */
export function yamlEffectTypes(process: CrashProcess): readonly NodeType[] {
  return [
    effectType(process, 'Once', 'none'),
    effectType(process, 'Again', 'idempotent'),
    effectType(process, 'Looked', 'reconcile'),
    interactiveNodeType(new Interview(process)),
    ...createNodeTypes().filter(({ effect }) => effect === 'human'),
  ];
}
