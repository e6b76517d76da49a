/** The blocks that every file may use: those of nodes, of models, of sandboxes, and the two that work with the others as tools. */
import { agentBlock } from '../../agents/block/agent-block.ts';
import { judgeBlock } from '../../agents/block/judge-block.ts';
import { imageGenBlock, transcribeBlock } from '../../agents/block/media-blocks.ts';
import { embedBlock, retrieveBlock } from '../../agents/block/vector-blocks.ts';
import type { NodeType } from '../../graph/contracts/node-type.ts';
import { createNodeTypes } from '../../nodes/blocks/index.ts';
import { missionBlock } from '../../plans/mission-block.ts';
import { sandboxBlock } from '../../sandboxes/sandbox-block.ts';

/** @param own - blocks of the configuration: each replaces the built-in one of the same name */
export function builtInBlocks(own: readonly NodeType[] = []): readonly NodeType[] {
  const ownNames = new Set(own.map(({ name }) => name));
  const isBuiltIn = ({ name }: NodeType): boolean => !ownNames.has(name);
  const builtIn = [
    ...createNodeTypes(),
    judgeBlock,
    embedBlock,
    retrieveBlock,
    transcribeBlock,
    imageGenBlock,
    sandboxBlock,
  ];
  const working = [...builtIn.filter(isBuiltIn), ...own];
  return [...working, ...[agentBlock(working), missionBlock(working)].filter(isBuiltIn)];
}
