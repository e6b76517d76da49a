/** The YAML dialect: workflows written as files. See docs/spec/yaml.md. */
export { jsonSchemaOf } from './file/input-schema.ts';
export type { BundleOptions, CheckedWorkflow, ReadOptions, WorkflowText, WorkflowTexts } from './file/read-options.ts';
export { convertWorkflow, type ConvertedWorkflow } from './convert-workflow.ts';
export { checkWorkflow, readBundle, readWorkflow } from './read-workflow.ts';
export { workflowSchema } from './file/workflow-schema.ts';
export type {
  CheckpointSettings,
  WorkflowBlock,
  WorkflowInput,
  WorkflowOutput,
  TextWorkflow,
} from '../text-workflow.ts';
