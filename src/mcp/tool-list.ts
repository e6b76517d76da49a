/** All tools, in the order in which clients see them. */
import type { AnyTool } from './tool.ts';
import { deleteCheckpoint } from './tools/delete-checkpoint.ts';
import { executeInlineWorkflow, executeWorkflow } from './tools/execute-workflow.ts';
import { getCheckpointInfo } from './tools/get-checkpoint-info.ts';
import { diffCheckpoints, forkCheckpoint, previewResume } from './tools/history.ts';
import { listCheckpoints } from './tools/list-checkpoints.ts';
import { resumeWorkflow } from './tools/resume-workflow.ts';
import { cancelRun, getRun, inbox, listRuns } from './tools/runs.ts';
import { getWorkflowInfo, listWorkflows, reloadWorkflows, validateWorkflow } from './tools/workflows.ts';

export const toolList: readonly AnyTool[] = [
  listWorkflows,
  getWorkflowInfo,
  executeWorkflow,
  resumeWorkflow,
  executeInlineWorkflow,
  validateWorkflow,
  listCheckpoints,
  getCheckpointInfo,
  deleteCheckpoint,
  inbox,
  listRuns,
  getRun,
  cancelRun,
  diffCheckpoints,
  previewResume,
  forkCheckpoint,
  reloadWorkflows,
];
