/** The functions of the store as a library of the server: each call reads, checks and writes as one atomic act. */
import { createHash } from 'node:crypto';
import { historyFunctions } from './history-functions.ts';
import { runFunctions } from './run-functions.ts';

/** The newest layout of the keys that this version knows. */
export const layoutVersion = 1;

const source = `${runFunctions}${historyFunctions}
local function run(ops, args, isWriting)
  P = args[2]
  if isWriting then begin() else serverId = serverId or call('INFO', 'server'):match('run_id:(%w+)') end
  local bytes = {}
  for i = 4, #args do bytes[i - 3] = args[i] end
  return ops[args[1]](cjson.decode(args[3]), bytes)
end

redis.register_function({ function_name = 'NAME_r', flags = { 'no-writes' }, callback = function(_, args) return run(reads, args, false) end })
redis.register_function({ function_name = 'NAME_w', callback = function(_, args) return run(writes, args, true) end })
redis.register_function({ function_name = 'NAME_f', flags = { 'allow-oom' }, callback = function(_, args) return run(frees, args, true) end })
`;

/** Name of the library and beginning of its functions' names: it tells the text, so that versions stand side by side on a server. */
export const libraryName: string = `cairn_${createHash('sha256').update(source).digest('hex').slice(0, 12)}`;

export const libraryText: string = `#!lua name=${libraryName}\n${source.replaceAll('NAME', libraryName)}`;

/** What only reads, what only makes room, which a full server permits; all others write. */
const readNames = /^function reads\.(\w+)/gm;
const freeNames = /^function frees\.(\w+)/gm;
const namesIn = (pattern: RegExp): ReadonlySet<string> =>
  new Set([...source.matchAll(pattern)].map(([, name]) => name ?? ''));
const [reading, freeing] = [namesIn(readNames), namesIn(freeNames)];

/** The server's function for an operation. */
export const functionOf = (operation: string): string =>
  `${libraryName}_${reading.has(operation) ? 'r' : freeing.has(operation) ? 'f' : 'w'}`;
