/**
 * All tools, in the order in which clients see them: those that were specified with names and shapes of their own, and a fork, which follows
 * the new run and asks its person; then those that are made of the operations that offer themselves to models.
 */
import * as operations from '../../operations/table.ts';
import type { AnyOperation } from '../../operations/contract/operation.ts';
import { deleteCheckpoint, getCheckpointInfo, listCheckpoints } from './checkpoints.ts';
import { toolOf } from './derived-tool.ts';
import { executeInlineWorkflow, executeWorkflow } from './execute-workflow.ts';
import { forkCheckpoint } from './fork-checkpoint.ts';
import { resumeWorkflow } from './resume-workflow.ts';
import { signalWithStart } from './signal-with-start.ts';
import type { AnyTool } from './tool.ts';
import { getWorkflowInfo, listWorkflows, reloadWorkflows, validateWorkflow } from './workflows.ts';

const byHand: readonly AnyTool[] = [
  listWorkflows,
  getWorkflowInfo,
  executeWorkflow,
  resumeWorkflow,
  executeInlineWorkflow,
  validateWorkflow,
  reloadWorkflows,
  listCheckpoints,
  getCheckpointInfo,
  deleteCheckpoint,
  forkCheckpoint,
  signalWithStart,
];

const derived = Object.values<AnyOperation>(operations)
  .filter(({ name, tool }) => tool !== undefined && byHand.every((one) => one.name !== name))
  .map((operation) => toolOf(operation, { resume_run: { name: resumeWorkflow.name, run: 'checkpoint_id' } }));

export const toolList: readonly AnyTool[] = [...byHand, ...derived];
