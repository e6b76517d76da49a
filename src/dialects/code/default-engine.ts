/**
 * Where `compile()` gets an engine if none is passed. Dialects may not import adapters, so the package's entry point registers a factory
 * here.
 */
import { CairnError } from '../../errors.ts';
import type { Engine, EngineOptions } from '../../engine/api.ts';
import type { CheckpointKeeper } from '../../ports/checkpoint-store.ts';

/** Settings of the engine that `compile` creates. What is left out gets the default of the package's entry point. */
export interface EngineSettings extends Partial<EngineOptions> {
  /**
   * Where each checkpoint is saved whole, in place of a `store`: one of `cairn-workflows/checkpoint`, or one of your own. A checkpoint
   * store knows no claims, so only one process at a time may advance a run.
   */
  readonly checkpointStore?: CheckpointKeeper;
}
type EngineFactory = (settings: EngineSettings) => Engine;

let factory: EngineFactory | undefined;

/**
 * Registers the engine factory and returns `value` unchanged. The entry point exports the returned value, so that a bundler that drops
 * unused modules cannot keep the builder and drop its engine.
 */
export function withDefaultEngine<T>(value: T, create: EngineFactory): T {
  factory = create;
  return value;
}

/**
 * Makes an engine with the registered factory.
 * @throws CONFIG_INVALID no entry point has registered one
 */
export function createDefaultEngine(settings: EngineSettings): Engine {
  if (factory === undefined) {
    throw new CairnError('CONFIG_INVALID', {
      path: 'engine',
      reason: 'import AgentGraph and workflow from the main door, or give an engine',
    });
  }
  return factory(settings);
}
