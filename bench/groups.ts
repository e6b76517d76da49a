/** All groups of rows, in the order of the table. */
import type { Group } from './group.ts';
import { aiSdkLoop } from './rows/ai-sdk-loop.ts';
import { agentLoop } from './rows/agent-loop.ts';
import { agentPeers } from './rows/agent-peers.ts';
import { agentResume } from './rows/agent-resume.ts';
import { appendedText } from './rows/appended-text.ts';
import { claimNext } from './rows/claim-next.ts';
import { compile } from './rows/compile.ts';
import { experiments } from './rows/experiment.ts';
import { dot } from './rows/dot.ts';
import { engineAlone } from './rows/engine-alone.ts';
import { fleets } from './rows/fleets.ts';
import { freshProcess } from './rows/fresh-process.ts';
import { fork } from './rows/fork.ts';
import { growingList } from './rows/growing-list.ts';
import { hosts } from './rows/hosts.ts';
import { http } from './rows/http.ts';
import { largeFiles } from './rows/large-files.ts';
import { listCommand } from './rows/list-command.ts';
import { load } from './rows/load.ts';
import { longChain } from './rows/long-chain.ts';
import { manyRuns } from './rows/many-runs.ts';
import { mapItems } from './rows/map-items.ts';
import { peakMemory } from './rows/peak-memory.ts';
import { postgresPeers } from './rows/postgres-peers.ts';
import { postgresRuns } from './rows/postgres-runs.ts';
import { postgresWaits } from './rows/postgres-waits.ts';
import { pureNodes } from './rows/pure-nodes.ts';
import { residentMemory } from './rows/resident-memory.ts';
import { resume } from './rows/resume.ts';
import { starts } from './rows/starts.ts';
import { storesBesideSqlite } from './rows/stores.ts';
import { trace } from './rows/trace.ts';
import { watched } from './rows/watched.ts';
import { writeNodes } from './rows/write-nodes.ts';
import { yaml } from './rows/yaml.ts';

export const groups: Readonly<Record<string, Group>> = {
  pureNodes,
  writeNodes,
  mapItems,
  longChain,
  growingList,
  appendedText,
  load,
  resume,
  freshProcess,
  fork,
  experiments,
  trace,
  watched,
  listCommand,
  starts,
  engineAlone,
  manyRuns,
  peakMemory,
  residentMemory,
  compile,
  yaml,
  dot,
  hosts,
  largeFiles,
  http,
  storesBesideSqlite,
  aiSdkLoop,
  agentLoop,
  agentResume,
  agentPeers,
  postgresRuns,
  postgresPeers,
  fleets,
  postgresWaits,
  claimNext,
};
