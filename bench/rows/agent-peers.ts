/** The agent loop with every call on disk, beside the agents of LangGraph.js and langchain over their SQLite saver. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { agentGraph, callOf, loops, makeScript, playScript, timeAgent, type AgentScript } from '../agent-script.ts';
import { createStore, removeDatabase, type Synchronous } from '../database.ts';
import type { Group } from '../group.ts';
import { installPeer } from '../install-peer.ts';
import { median } from '../median.ts';

const name = 'agent loop, SQLite, every call durable, survives a power cut';
const nameOfNormal = 'agent loop, SQLite, every call durable, survives a kill';
const nameOfSecond = 'the same, survives a kill, beside langchain';
const packages = [
  '@langchain/langgraph@1',
  '@langchain/core@1',
  '@langchain/langgraph-checkpoint-sqlite@1',
  'langchain@1',
];
const source = 'langgraph-agents.mjs';

interface Peers {
  readonly timePeer: (
    kind: Kind,
    path: string,
    synchronous: Synchronous,
    script: AgentScript & { readonly callOf: typeof callOf },
  ) => Promise<number>;
}

async function importPeers(): Promise<Peers> {
  const text = readFileSync(join(import.meta.dirname, '../processes', source), 'utf8');
  const folder = installPeer('langgraph-agents', packages, { [source]: text });
  return (await import(pathToFileURL(join(folder, source)).href)) as Peers;
}

type Kind = 'createReactAgent' | 'createAgent';

export const agentPeers: Group = {
  rows: [
    { name, against: 'createReactAgent of LangGraph.js, its SQLite saver, FULL', target: 0.07 },
    { name: nameOfNormal, against: 'createReactAgent of LangGraph.js, its SQLite saver, NORMAL', target: 0.07 },
    { name: nameOfSecond, against: 'createAgent of langchain, the same saver, NORMAL' },
  ],
  prepare: async (folder) => {
    const { timePeer } = await importPeers();
    const script = makeScript();
    const graph = agentGraph(script);
    const path = join(folder, 'peer.db');
    const theirs = async (kind: Kind, synchronous: Synchronous): Promise<number> => {
      removeDatabase(path);
      return (await timePeer(kind, path, synchronous, { ...script, callOf })) / loops;
    };
    const timeOurs = async (synchronous: Synchronous): Promise<number> => {
      const store = createStore(folder, synchronous);
      const models = playScript(script, () => {});
      const took = await timeAgent(graph, store, models);
      await store.close();
      return took / loops;
    };
    /** Of several: theirs take so long that a repetition of them warms them up, and one of ours does not. */
    const ours = async (synchronous: Synchronous): Promise<number> => {
      const times: number[] = [];
      while (times.length < 5) times.push(await timeOurs(synchronous));
      return median(times);
    };
    return {
      repeat: async () => {
        const normal = await ours('normal');
        return {
          [name]: { ours: await ours('full'), floor: await theirs('createReactAgent', 'full'), unit: 'ms' },
          [nameOfNormal]: { ours: normal, floor: await theirs('createReactAgent', 'normal'), unit: 'ms' },
          [nameOfSecond]: { ours: normal, floor: await theirs('createAgent', 'normal'), unit: 'ms' },
        };
      },
    };
  },
};
