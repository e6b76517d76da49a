/** The YAML dialect: workflows written as files. See docs/spec/yaml.md. */
export { isBundle } from './bundle-text.ts';
export { jsonSchemaOf } from './input-schema.ts';
export type { BundleOptions, ReadOptions, WorkflowText, WorkflowTexts } from './read-options.ts';
export { checkWorkflow, readBundle, readWorkflow, type CheckedWorkflow } from './read-workflow.ts';
export { workflowSchema } from './workflow-schema.ts';
export type {
  CheckpointSettings,
  WorkflowBlock,
  WorkflowInput,
  WorkflowOutput,
  YamlWorkflow,
} from './yaml-workflow.ts';
