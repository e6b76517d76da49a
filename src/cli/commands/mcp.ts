/** `cairn mcp` */
import { CairnError } from '../../errors.ts';
import type { FieldsOf } from '../../operations/contract/operation.ts';
import { allowField, healthPortField, workflowsField, type Command } from '../command.ts';
import { listenForInterrupt } from '../live/interrupt.ts';
import { parseAddress } from '../parse.ts';
import { logLevelField, openLog } from '../logs.ts';
import type { LogThreshold } from '../../app/log/line-log.ts';

interface McpArguments {
  readonly workflows?: readonly string[];
  readonly allow?: readonly string[];
  readonly http?: string;
  readonly tokenEnv?: string;
  readonly allowOrigin?: readonly string[];
  readonly noForms?: boolean;
  readonly healthPort?: string;
  readonly logLevel?: LogThreshold;
  readonly answers?: 'anyone' | 'person';
}

const fields: FieldsOf<McpArguments> = {
  workflows: workflowsField,
  allow: {
    ...allowField,
    description:
      'what workflows given as texts may reach for: inline, shell, net=HOST, fs=/FOLDER, env=NAME, model=NAME, sqlite, workflow=NAME; default: there are no such workflows',
  },
  http: { type: 'text', description: 'serve over HTTP at [HOST:]PORT instead of standard input and output' },
  tokenEnv: { type: 'text', description: 'the environment variable that holds the token HTTP clients must show' },
  allowOrigin: {
    type: 'texts',
    description: 'origins of web pages that may call over HTTP, such as http://localhost:6274; default: none',
  },
  answers: {
    type: 'text',
    description:
      'who may answer: person, people alone; anyone, clients too, even what permits a tool call; default: clients answer what workflows ask, people the rest',
    choices: ['anyone', 'person'],
  },
  healthPort: healthPortField,
  logLevel: logLevelField,
  noForms: { type: 'flag', description: 'put no questions to the person behind the client' },
};

function readToken(name: string | undefined): string | undefined {
  if (name === undefined) return undefined;
  const token = process.env[name];
  if (token === undefined || token === '') throw new CairnError('SECRET_MISSING', { name });
  return token;
}

export const mcpCommand: Command<McpArguments> = {
  name: 'mcp',
  summary: 'serve workflows to models over MCP',
  fields,
  details:
    'Serves the workflows of the folders given, over standard input and output. Workflows that a client gives as texts are refused unless --allow says inline, and then held to what else it says.',
  examples: [
    { line: 'cairn mcp --workflows ./workflows', does: 'what an MCP client is told to start' },
    { line: 'cairn mcp --http 3456 --token-env CAIRN_TOKEN', does: 'over HTTP, for those who have the token' },
    { line: 'cairn mcp --answers person', does: 'models run workflows, and people answer what they ask' },
    { line: 'cairn mcp --allow inline,net=api.example.org', does: 'also texts, which may call one host' },
  ],
  runsConfig: true,
  ownsOutput: true,
  async execute(session, { workflows, allow, http, tokenEnv, allowOrigin, noForms, answers, healthPort, logLevel }) {
    const token = readToken(tokenEnv);
    if (token !== undefined && http === undefined)
      throw new CairnError('USAGE_INVALID', { reason: '--token-env is for --http', hint: 'Give --http PORT too.' });
    if (allowOrigin !== undefined && http === undefined)
      throw new CairnError('USAGE_INVALID', { reason: '--allow-origin is for --http', hint: 'Give --http PORT too.' });
    const address = http === undefined ? undefined : parseAddress(http);
    // Loaded only here: no other command needs the server.
    const { startMcpServer } = await import('../../mcp/index.ts');
    const { cwd, storeUrl, blobsUrl, trustsStore, configFile, commandLine } = session;
    const server = await startMcpServer({
      cwd,
      storeUrl,
      blobsUrl,
      trustsStore,
      configFile,
      commandLine,
      workflows,
      allow,
      cleanUpEvery: 'configured',
      log: openLog(session, 2, logLevel),
      canAskClient: noForms !== true,
      ...(answers !== undefined && { answers }),
      ...(healthPort !== undefined && { health: parseAddress(healthPort, '--health-port') }),
      ...(address !== undefined && {
        http: { ...address, ...(token !== undefined && { token }), ...(allowOrigin && { origins: allowOrigin }) },
      }),
    });
    const interrupt = listenForInterrupt();
    const stay = setInterval(() => undefined, 60_000);
    try {
      const code = await Promise.race([server.closed.then(() => 0), interrupt.requested]);
      await server.close();
      return code;
    } finally {
      clearInterval(stay);
      interrupt.release();
    }
  },
};
