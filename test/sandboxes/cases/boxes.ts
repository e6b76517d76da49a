/**
 * A crash case of commands in real sandboxes of bubblewrap: a session with a question in the middle, a node, an agent's tools, and commands with
 * the network on. A process can be killed before each command begins, when it has printed something and is still at work, and afterwards.
 */
import { basename, join } from 'node:path';
import { mkdirSync, readdirSync } from 'node:fs';
import { agent } from '../../../src/agents/agent.ts';
import { AgentGraph, END, START, type Graph, type NodeContext } from '../../../src/index.ts';
import { createScriptedModels } from '../../../src/models/scripted.ts';
import type { Sandboxes } from '../../../src/ports/sandboxes.ts';
import { bubblewrap, sandboxNode, SandboxSession, sandboxTools } from '../../../src/sandboxes/index.ts';
import { runCrashScript } from '../../../src/testing/crash-kit/crash-processes.ts';
import type { CrashProcess } from '../../../src/testing/crash-kit/process-life.ts';
import { storeOfCase } from '../../crash/cases/open-case.ts';

/** The folder for the folders of sandboxes, and the server that commands reach: it counts them. */
const { CAIRN_CASE_PLACE: parent = '', CAIRN_CASE_SERVER: server = '' } = process.env;
let place = '';
let ownProcess: CrashProcess | undefined;

const sh = (script: string): readonly string[] => ['/bin/sh', '-c', script];
/** A command that changes files, then prints, then changes more: killed in between it leaves its folder half done. */
const change = (name: string): readonly string[] =>
  sh(
    `echo ${name} >> log; mkdir -m 700 ${name}; echo half > ${name}/x; echo begun; sleep 0.03; echo whole > ${name}/x; ln -sf ${name}/x last; rm -f first`,
  );
const show = sh('find . | sort | tr "\\n" " "; cat log last; stat -c "%a %n" *');

/** Notes how far a command is, so that a process can be killed there. */
function withPoints(inner: Sandboxes): Sandboxes {
  const passed = (key: string, what: string): void => {
    const place = `${key} ${what}`;
    ownProcess?.oracle.apply({ key: place, place, promise: 'repeatable', output: null });
  };
  return {
    ...inner,
    create: async (request) => {
      const box = await inner.create(request);
      return {
        ...box,
        exec: (argv, command) => {
          let isAtWork = false;
          passed(command.key, 'begins');
          return box.exec(argv, {
            ...command,
            onOutput: (stream, bytes) => {
              if (!isAtWork) passed(command.key, 'is at work');
              isAtWork = true;
              command.onOutput(stream, bytes);
            },
          });
        },
      };
    },
  };
}

const ask = async (path: string): Promise<string> => {
  const response = await fetch(`${server}/${path}&trial=${basename(place)}`);
  return response.text();
};

function boxesGraph(process: CrashProcess): Graph {
  ownProcess = process;
  const sandboxes = withPoints(bubblewrap({ place }));
  const session = async (ctx: NodeContext): Promise<unknown> => {
    const box = new SandboxSession(ctx, { sandboxes });
    try {
      await box.write('first', 'first');
      await box.exec(change('one'));
      const way = await ctx.ask({ prompt: 'Which way?', choices: ['left', 'right'] });
      await box.write('in/way.txt', way, { mode: 0o600 });
      await box.exec(change(way));
      return [(await box.exec(show)).stdout, new TextDecoder().decode(await box.read(`${way}/x`)), box.files];
    } finally {
      await box.close();
    }
  };
  const { port } = new URL(server);
  const ring = (name: string): readonly string[] => [
    '/bin/bash',
    '-c',
    `exec 3<>/dev/tcp/127.0.0.1/${port}; printf "GET /ring?key=$CAIRN_IDEMPOTENCY_KEY&trial=$TRIAL HTTP/1.0\\r\\n\\r\\n" >&3; cat <&3 >/dev/null; echo ${name} rang; sleep 0.03`,
  ];
  return new AgentGraph({}, { id: 'boxes', checkpointPolicy: 'every_node' })
    .addNode('session', session, { effectClass: 'read' })
    .addNode('node', sandboxNode({ sandboxes, files: { first: '1' }, commands: [change('a'), change('b'), show] }))
    .addNode('agent', agent({ model: 'm', prompt: 'Go.', tools: sandboxTools({ sandboxes }) }))
    .addNode(
      'net',
      sandboxNode({ sandboxes, network: true, env: { TRIAL: basename(place) }, commands: [ring('one'), ring('two')] }),
    )
    .addEdge(START, 'session')
    .addEdge('session', 'node')
    .addEdge('node', 'agent')
    .addEdge('agent', 'net')
    .addEdge('net', END)
    .toGraph();
}

const calls = [
  { tool: 'write_file', input: { path: 'first', content: 'by the agent' } },
  { tool: 'exec', input: { command: change('tool') } },
  { tool: 'exec', input: { command: show } },
  { tool: 'read_file', input: { path: 'tool/x' } },
];

await runCrashScript({
  ...storeOfCase,
  enter: (folder) => {
    place = join(parent, basename(folder));
    mkdirSync(place, { recursive: true, mode: 0o755 });
  },
  graph: boxesGraph,
  input: {},
  models: () =>
    createScriptedModels(({ messages }) => {
      const results = messages.flatMap((message) => (message.role === 'tool' ? message.content : []));
      const next = calls[results.length];
      return next === undefined ? JSON.stringify(results) : { calls: [{ id: `c${results.length}`, ...next }] };
    }),
  answer: ({ isApproval }) => (isApproval === true ? 'approve' : 'left'),
  /** A person who looks whether the server was reached. Of what the command printed they know as much. */
  decide: async ({ metadata }) => {
    const { key } = metadata as { readonly key: string };
    const rings = JSON.parse(await ask('rings?')) as readonly string[];
    const nth = rings.indexOf(key);
    if (nth === -1) return 'run again';
    ownProcess?.oracle.apply({
      key: `${key} is at work`,
      place: `${key} is at work`,
      promise: 'repeatable',
      output: null,
    });
    return { decision: 'happened', output: { stdout: `${['one', 'two'][nth]} rang\n`, changes: {} } };
  },
  /** What reached the server, and the folders that are there after the next sandbox was opened. */
  inspect: async () => {
    const limits = { processes: 8, memoryBytes: 1 << 28, diskBytes: 1 << 20 };
    const box = await bubblewrap({ place }).create({ key: 'next', network: false, limits });
    await box.close();
    return { rings: JSON.parse(await ask('rings?')) as unknown, folders: readdirSync(place) };
  },
});
