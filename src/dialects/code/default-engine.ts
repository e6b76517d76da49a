/** Where `compile()` gets an engine from when it is given none. The dialect knows no adapter, so a door gives it one. */
import { CairnError } from '../../errors.ts';
import type { Engine, EngineOptions } from '../../engine/api.ts';
import type { CheckpointKeeper } from '../../ports/checkpoint-store.ts';

/** What may be said of the engine that `compile` makes; everything left out gets the door's default. */
export interface EngineSettings extends Partial<EngineOptions> {
  /**
   * Keeps each checkpoint whole, in place of a `store`: ours of `cairn-workflows/checkpoint`, or anyone's. It knows no claims: a run goes on in
   * one process at a time.
   */
  readonly checkpointStore?: CheckpointKeeper;
}
type EngineFactory = (settings: EngineSettings) => Engine;

let factory: EngineFactory | undefined;

/**
 * Sets the factory and returns `value` as it is. The door exports what this returns, so a bundler that drops unused
 * modules cannot keep the builder and lose its engine.
 */
export function withDefaultEngine<T>(value: T, create: EngineFactory): T {
  factory = create;
  return value;
}

/** @throws CONFIG_INVALID no door has set a default engine */
export function createDefaultEngine(settings: EngineSettings): Engine {
  if (factory === undefined) {
    throw new CairnError('CONFIG_INVALID', {
      path: 'engine',
      reason: 'import AgentGraph and workflow from the main door, or give an engine',
    });
  }
  return factory(settings);
}
