/** The blocks of YAML workflows, and what users need to make their own. */
import type { NodeType } from '../../graph/contracts/node-type.ts';
import type { Models } from '../../ports/model.ts';
import { askChoice } from './ask/ask-choice.ts';
import { confirmOperation, prompt } from './ask/confirm-operation.ts';
import { createFile, renderTemplate } from './files/render-template.ts';
import { echoBlock } from './echo-block.ts';
import { httpCall } from './http-call.ts';
import { editFile } from './files/edit-file.ts';
import { getInput } from './ask/get-input.ts';
import { mergeJsonState, readJsonState, writeJsonState } from './files/json-state.ts';
import { llmCallType } from './llm/llm-call.ts';
import { readFile } from './files/read-file.ts';
import { readFiles } from './files/read-files.ts';
import { shellBlock } from './shell.ts';
import { sqlBlock } from './sql.ts';

export { defineBlock, type BlockDefinition, type ValueOf } from './define-block.ts';
export {
  InteractiveBlock,
  pause,
  refuse,
  textOfAnswer,
  type BlockOutput,
  type InteractiveContext,
  type Pause,
  type PauseQuestion,
  type Refusal,
  interactiveNodeType,
} from './ask/confirm-operation.ts';
import { refuseUnknownKeys } from '../../graph/known-keys.ts';

export interface NodeTypeOptions {
  /** Models for LLMCall. Default: the models of the engine that runs the workflow. */
  readonly models?: Models;
}

/** All built-in node types. */
export function createNodeTypes(options: NodeTypeOptions = {}): readonly NodeType[] {
  refuseUnknownKeys('createNodeTypes', options, ['models']);
  const { models } = options;
  const working = [
    shellBlock,
    httpCall,
    createFile,
    renderTemplate,
    readFiles,
    readFile,
    editFile,
    readJsonState,
    writeJsonState,
    mergeJsonState,
    echoBlock,
    sqlBlock,
  ];
  const asking = [confirmOperation, askChoice, getInput, prompt, llmCallType(models)];
  return [...working, ...asking];
}
export { sqlNode, type SqlNodeConfig, type SqlOutput } from './sql-node.ts';
