/** The telemetry port: ephemeral events and logs, never needed to rebuild anything. */

export interface EphemeralEvent {
  readonly runId: string;
  /** The seq it follows. */
  readonly after: number;
  readonly nodePath: readonly string[];
  readonly kind: 'started' | 'emitted' | 'retrying' | 'waiting' | 'settled';
  readonly detail: unknown;
}

export interface Telemetry {
  emit(event: EphemeralEvent): void;
}
