/** Offers workflows and checkpoints as resources, and completions of their names. */
import { perform } from '../../operations/declare/perform.ts';
import type { ReadResourceResult } from '@modelcontextprotocol/server';
import { CairnError } from '../../errors.ts';
import { describeCheckpoint } from '../../operations/checkpoints/describe-checkpoint.ts';
import { listWorkflows } from '../../operations/workflows/describe-workflow.ts';
import { listCheckpoints } from '../../operations/checkpoints/list-checkpoints.ts';
import { readWorkflowText } from '../../operations/workflows/read-workflow-text.ts';
import { showCheckpoint } from '../../operations/checkpoints/show-checkpoint.ts';
import { toJson } from '../../operations/declare/to-json.ts';
import type { McpServer, ServerHouse } from './server-house.ts';

const jsonType = 'application/json';
const yamlType = 'application/yaml';
/** The most checkpoints in the list of resources. Older ones can still be read by their URI. */
const listedCheckpoints = 50;
const completionsMax = 100;

const workflowUri = (name: string): string => `cairn://workflows/${encodeURIComponent(name)}`;
const checkpointUri = (run: string, seq: number): string =>
  `cairn://runs/${encodeURIComponent(run)}/checkpoints/${seq}`;

/** Decodes a variable of a URI. */
function textOf(variable: string | readonly string[] | undefined): string {
  return decodeURIComponent(typeof variable === 'string' ? variable : (variable?.[0] ?? ''));
}

export function registerResources(server: McpServer, house: ServerHouse): void {
  registerWorkflows(server, house);
  registerCheckpoints(server, house);
}

/** Reads a resource. A URI that names nothing counts as a resource that does not exist; other errors are passed on as text. */
async function reading(
  { sdk }: ServerHouse,
  uri: URL,
  mimeType: string,
  read: () => Promise<string>,
): Promise<ReadResourceResult> {
  try {
    return { contents: [{ uri: uri.href, mimeType, text: await read() }] };
  } catch (error) {
    const { code, message, hint } = CairnError.from(error);
    if (code.endsWith('_NOT_FOUND')) throw new sdk.ResourceNotFoundError(uri.href);
    throw new sdk.ProtocolError(sdk.ProtocolErrorCode.InternalError, `${message}. ${hint}`, { code });
  }
}

function registerWorkflows(server: McpServer, house: ServerHouse): void {
  const { sdk, context } = house;
  const names = async (start: string): Promise<string[]> => {
    const { workflows } = await perform(listWorkflows, context, {});
    return workflows
      .map(({ name }) => name)
      .filter((name) => name.startsWith(start))
      .slice(0, completionsMax);
  };
  const template = new sdk.ResourceTemplate('cairn://workflows/{name}', {
    list: async () => {
      const { workflows } = await perform(listWorkflows, context, {});
      const resources = workflows.map(({ name, description }) => ({
        name,
        title: name,
        uri: workflowUri(name),
        mimeType: yamlType,
        ...(description !== undefined && { description }),
      }));
      return { resources };
    },
    complete: { name: names },
  });
  const metadata = { title: 'Workflow', description: 'The YAML text of a workflow.', mimeType: yamlType };
  server.registerResource('workflow', template, metadata, (uri, { name }) =>
    reading(house, uri, yamlType, async () => {
      const { text } = await perform(readWorkflowText, context, { workflow: textOf(name) });
      return text;
    }),
  );
}

function registerCheckpoints(server: McpServer, house: ServerHouse): void {
  const { sdk, context } = house;
  const template = new sdk.ResourceTemplate('cairn://runs/{run}/checkpoints/{seq}', {
    list: async () => {
      const { checkpoints } = await perform(listCheckpoints, context, { limit: listedCheckpoints });
      const resources = checkpoints.map(({ runId, seq, graphId, checkpointId, createdAt, isPaused }) => ({
        name: checkpointId,
        title: `${graphId}, checkpoint ${seq}${isPaused ? ', paused' : ''}`,
        uri: checkpointUri(runId, seq),
        mimeType: jsonType,
        annotations: { lastModified: new Date(createdAt).toISOString() },
      }));
      return { resources };
    },
  });
  const metadata = {
    title: 'Checkpoint',
    description: 'The state of a run at one of its checkpoints, and why the checkpoint is there.',
    mimeType: jsonType,
  };
  server.registerResource('checkpoint', template, metadata, (uri, { run, seq }) =>
    reading(house, uri, jsonType, async () => {
      const checkpoint = `${textOf(run)}@${textOf(seq)}`;
      const details = await perform(showCheckpoint, context, { checkpoint });
      const progress = await perform(describeCheckpoint, context, { checkpoint });
      return JSON.stringify(toJson({ ...details, ...progress }), null, 2);
    }),
  );
}
