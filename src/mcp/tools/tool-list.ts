/** All tools, in the order in which clients see them. */
import type { AnyTool } from './tool.ts';
import { convertWorkflow } from './convert-workflow.ts';
import { deleteCheckpoint } from './delete-checkpoint.ts';
import { executeInlineWorkflow, executeWorkflow } from './execute-workflow.ts';
import { getCheckpointInfo } from './get-checkpoint-info.ts';
import { diffCheckpoints, forkCheckpoint, previewResume } from './history.ts';
import { listCheckpoints } from './list-checkpoints.ts';
import { resumeWorkflow } from './resume-workflow.ts';
import { bisectRun, blameValue, graphRuns, postMortem } from './trace.ts';
import { cancelRun, getRun, inbox, listRuns, sendSignal } from './runs.ts';
import { getWorkflowInfo, listWorkflows, reloadWorkflows, validateWorkflow } from './workflows.ts';

export const toolList: readonly AnyTool[] = [
  listWorkflows,
  getWorkflowInfo,
  executeWorkflow,
  resumeWorkflow,
  executeInlineWorkflow,
  validateWorkflow,
  convertWorkflow,
  listCheckpoints,
  getCheckpointInfo,
  deleteCheckpoint,
  inbox,
  listRuns,
  getRun,
  sendSignal,
  cancelRun,
  diffCheckpoints,
  blameValue,
  bisectRun,
  graphRuns,
  postMortem,
  previewResume,
  forkCheckpoint,
  reloadWorkflows,
];
