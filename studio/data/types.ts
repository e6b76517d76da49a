/** What the server answers, as far as pages show it. The whole is described by `/v1/openapi.json`. */

import type { PostMortem } from '../../src/history/explain/story.ts';
import type { AwaitedEffect } from '../../src/history/read/awaited-effects.ts';
import type { Failure } from '../../src/history/read/failures.ts';

export type { Failure } from '../../src/history/read/failures.ts';
export type { AwaitedEffect } from '../../src/history/read/awaited-effects.ts';

export type Amounts = Readonly<Record<string, number>>;

export interface Me {
  readonly principal: string;
  readonly kind: 'person' | 'program';
  readonly scopes: readonly string[];
  readonly roles?: readonly string[];
  readonly isReadOnly: boolean;
  readonly version: string;
  /** The agent that one can chat with, if there is one. */
  readonly chat?: { readonly graph: string; readonly node: string };
}

export interface Place {
  readonly runId: string;
  readonly seq: number;
}

export interface ListedRun {
  readonly runId: string;
  readonly graphId: string;
  readonly status: string;
  readonly head: number;
  /** Epoch ms. */
  readonly createdAt: number;
  /** Epoch ms. */
  readonly updatedAt: number;
  readonly parent?: Place;
  readonly claimedBy?: string;
  readonly isStopped: boolean;
  readonly isHeld: boolean;
  readonly isQueued?: boolean;
  readonly isDamaged?: boolean;
  readonly hasMessages: boolean;
  readonly labels?: Readonly<Record<string, string>>;
  readonly title?: string;
  readonly awaits?: readonly AwaitedEffect[];
}

export type {
  ReadExperimentsOutput as ExperimentsAnswer,
  ShownExperiment,
  ShownPair,
} from '../../src/operations/experiments/read-experiments.ts';
export type { ShownSchedule } from '../../src/operations/runs/schedules.ts';
export type { ListWorkersOutput as WorkersAnswer } from '../../src/operations/store/list-workers.ts';
export type { LimitUsage as ShownLimit } from '../../src/engine/places/limit-settings.ts';
export type { FailureGroup } from '../../src/operations/runs/failed-runs.ts';

export interface StatusCount {
  readonly status: string;
  readonly count: number;
}

export interface Wait {
  readonly waitId: string;
  readonly runId: string;
  readonly graphId: string;
  readonly kind: 'question' | 'doubt' | 'signal' | 'timer' | 'retry' | 'budget' | (string & {});
  readonly node: readonly string[];
  readonly name: string;
  readonly prompt?: string;
  readonly choices?: readonly unknown[];
  readonly schema?: JsonSchema;
  readonly metadata?: unknown;
  readonly isApproval?: boolean;
  readonly for?: readonly string[];
  readonly dueAt?: number;
  readonly openedAt?: number;
  readonly matching?: string;
}

export interface Waits {
  readonly waits: readonly Wait[];
  readonly hasMore: boolean;
  readonly waiting: readonly Wait[];
  readonly answered: readonly { readonly runId: string; readonly graphId: string }[];
  readonly awaiting?: readonly {
    readonly runId: string;
    readonly graphId: string;
    readonly awaits: readonly AwaitedEffect[];
  }[];
}

export interface JsonSchema {
  readonly type?: string | readonly string[];
  readonly title?: string;
  readonly description?: string;
  readonly default?: unknown;
  readonly enum?: readonly unknown[];
  readonly const?: unknown;
  readonly properties?: Readonly<Record<string, JsonSchema>>;
  readonly required?: readonly string[];
  readonly items?: JsonSchema;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly pattern?: string;
  readonly format?: string;
  readonly contentEncoding?: string;
  readonly minItems?: number;
  readonly maxItems?: number;
  readonly anyOf?: readonly JsonSchema[];
}

export interface Standing {
  readonly runId: string;
  readonly graphId: string;
  readonly status: string;
  readonly seq: number;
  readonly createdAt: number;
  readonly updatedAt: number;
  readonly title?: string;
  readonly labels?: Readonly<Record<string, string>>;
  readonly awaits?: readonly AwaitedEffect[];
  readonly source?: string;
  readonly parent?: Place;
  readonly claimedBy?: string;
  readonly isHeld?: true;
  readonly hasMessages: boolean;
  readonly waits: readonly Wait[];
  readonly progress: { readonly nodes: readonly string[]; readonly percent: number };
  readonly spent: Amounts;
  readonly saved: Amounts;
  readonly outputs?: unknown;
  readonly error?: { readonly message: string; readonly code?: string; readonly hint?: string };
  /** Why nodes failed, and what failed within them. */
  readonly failures?: readonly Failure[];
}

export interface Change {
  readonly kind: string;
  readonly node?: readonly string[];
  readonly step?: string;
  readonly effect?: string;
  readonly by?: string;
  readonly attempt?: number;
  readonly durationMs?: number;
  readonly status?: string;
  readonly spent?: Amounts;
  readonly wait?: string;
  readonly name?: string;
  readonly detail?: unknown;
}

export interface LogEntry {
  readonly checkpointId: string;
  readonly runId: string;
  readonly seq: number;
  readonly at: number;
  readonly change: readonly Change[];
  readonly tags: readonly string[];
  readonly sizeBytes: number;
}

export interface Log {
  readonly head: number;
  readonly entries: readonly LogEntry[];
  readonly hasMore: boolean;
}

export interface NodeView {
  readonly path: readonly string[];
  readonly status: string;
  readonly visits: number;
  readonly attempt: number;
  readonly hasOpenEffect: boolean;
  readonly steps?: Readonly<Record<string, number>>;
  readonly spent?: Amounts;
}

export interface Checkpoint extends LogEntry {
  readonly recorded: {
    readonly values: readonly {
      readonly path: readonly string[];
      readonly before?: unknown;
      readonly after?: unknown;
    }[];
    readonly steps: readonly { readonly path: readonly string[]; readonly kind: string; readonly status: string }[];
  };
  readonly isInDoubt: boolean;
  readonly view: {
    readonly status: string;
    readonly state: Readonly<Record<string, unknown>>;
    readonly nodes: readonly NodeView[];
    readonly waits: readonly Wait[];
    readonly failures: Readonly<Record<string, { readonly message: string; readonly code?: string }>>;
    readonly spent?: Amounts;
  };
}

export interface StructureNode {
  readonly id: string;
  readonly type: string;
  readonly effect: string;
  readonly subgraph?: Structure;
  readonly config?: { readonly attributes?: Readonly<Record<string, unknown>> };
}

export interface StructureEdge {
  readonly from: string;
  readonly to: string;
  readonly key: string;
  readonly label: string;
  readonly on: string;
}

export interface Structure {
  readonly id: string;
  readonly nodes: readonly StructureNode[];
  readonly edges: readonly StructureEdge[];
  readonly schemas?: { readonly input?: { readonly json?: JsonSchema } };
}

/** The newest entries of a story, and the edges that were taken in them or by the last visit of a node. */
export interface Story extends PostMortem {
  /** There are entries before these. */
  readonly before?: string;
  readonly taken?: readonly { readonly path: readonly string[]; readonly to: string }[];
}

export type {
  StoryEvent as RunEvent,
  StoryQuestion as Question,
  StoryVisit as Visit,
} from '../../src/history/explain/story.ts';

/** What differs between two checkpoints. */
export interface Difference {
  readonly values: readonly {
    readonly path: readonly string[];
    readonly before?: unknown;
    readonly beforeBytes?: number;
    readonly after?: unknown;
    readonly afterBytes?: number;
  }[];
}

export interface ForkedRun extends Pick<
  ListedRun,
  'runId' | 'graphId' | 'status' | 'head' | 'createdAt' | 'updatedAt' | 'parent'
> {
  readonly changed?: {
    readonly set: readonly { readonly path: string; readonly value: unknown }[];
    readonly answers: readonly unknown[];
    readonly isOtherGraph: boolean;
  };
  readonly isCurrent: boolean;
}

export interface PreviewRow {
  readonly node: readonly string[];
  readonly visit: number;
  readonly effect: string;
  readonly prediction: string;
  readonly because?: string;
  readonly cost?: Amounts;
  readonly callsOnRecord?: number;
}

export interface Preview extends Place {
  readonly rows: readonly PreviewRow[];
  readonly cost: { readonly again: Amounts; readonly saved: Amounts };
  readonly earlier?: { readonly insteadOf: Place; readonly because: string };
}
