/**
 * What stores are made of, and what is done with a whole store: the port that an author of a store writes against, blobs, backups, and the
 * reports of clean-ups, exports and verifications. The entry point `cairn-workflows/store`. To open one, see `openStore` of the main door.
 */
export { backUp, restore } from './app/backup/index.ts';
export type { BackupOptions, BackupReport } from './app/backup/back-up.ts';
export type { RestoreOptions, RestoreReport } from './app/backup/restore.ts';
export { createFileBlobs } from './blobs/file-blobs.ts';
export { createMemoryBlobs } from './blobs/memory-blobs.ts';
export { createS3Blobs, type S3BlobsOptions, type S3ClientLike } from './blobs/s3-blobs.ts';
export type { BlobOwner, BlobPage, BlobRange, BlobRow, BlobStore } from './ports/blobs.ts';
export type { Memories, MemoryEntry, MemoryOwner } from './ports/memories.ts';
export type { ExportAs, ExportReport } from './history/export-import/export-from.ts';
export type { ImportReport } from './history/export-import/import.ts';
export type { ImportAs } from './history/export-import/import-into.ts';
export type { ExpiredRun, RetainedRun } from './history/retention/apply-retention.ts';
export type { RetentionAge, RetentionSettings } from './graph/retention.ts';
export type {
  BlobReferences,
  DefinedGraph,
  NamedBlob,
  NamingRow,
  ReadTexts,
  RunReferences,
} from './ports/blob-references.ts';
export type {
  EndedQuery,
  EndedRemoval,
  EndedRun,
  EndedRuns,
  EndedStatus,
  RemovalReason,
  Remembrance,
  Removals,
  RemovedRun,
} from './ports/removals.ts';
export type { CleanUpOptions, CleanUpReport, CleanUpSettings, SettingsFor } from './history/retention/clean-up.ts';
export type { KeepOptions, PrunedRun, PrunedRuns } from './history/retention/prune-runs.ts';
export type { RemovedCheckpoint } from './history/retention/remove-checkpoint.ts';
export type { RemovedRuns, RemoveOptions } from './history/retention/remove-run.ts';
export type { Finding } from './history/verify/examine-runs.ts';
export type { Fault, VerifyReport } from './history/verify/verify.ts';
export type { Verification, VerifiedPlace } from './history/verify/verify-place.ts';
export type {
  LimitChange,
  LimitPage,
  LimitRecord,
  LimitStore,
  LimitWrite,
  LineHead,
  LineRow,
  ParkedRun,
  PlaceHolder,
} from './ports/limits.ts';
export type { RunSchedule, Schedule } from './ports/schedule.ts';
export type {
  Admission,
  AdmissionReply,
  CheckpointRow,
  Claim,
  ClaimReply,
  ClaimRequest,
  ClaimableQuery,
  Commit,
  CommitReply,
  CountQuery,
  Durability,
  GrantedClaim,
  GraphCodes,
  Message,
  MessageReply,
  MessageRow,
  NextRequest,
  OpenWait,
  Page,
  Prune,
  WorkerMismatch,
  Renewal,
  RunKey,
  RunQuery,
  RunRow,
  SnapshotRow,
  Store,
  StoreCapabilities,
  StoredStatus,
  TagRow,
  WaitQuery,
  WaitRow,
  WorkerBeat,
  WorkerRow,
} from './ports/store.ts';
export { createMemoryMemories } from './stores/memory/index.ts';
export type { HeldRun, ReleasedRun } from './history/retention/held-runs.ts';
