#!/usr/bin/env node
/**
 * The executable. It is small, and built so that even an old Node can parse it and report that it is too old. Each group of commands is a
 * separate bundle, so that a command loads only what it needs.
 */
import { splitCommand } from './split-command.ts';

type Group = { runArguments(args: readonly string[]): Promise<number> };

const listing: readonly (string | undefined)[] = ['ls', 'workers', 'inbox'];
const reading: readonly (string | undefined)[] = [
  'log',
  'show',
  'state',
  'diff',
  'blame',
  'bisect',
  'graph',
  'post-mortem',
  'verify',
  'doctor',
];

function loadGroup(name: string | undefined, args: readonly string[]): Promise<Group> {
  // Every group knows the version, and this one is the smallest. Shells ask for runs at each press of a key.
  const isVersion = name === undefined && args.includes('--version');
  const areRuns = name === 'completion' && args.includes('runs');
  if (isVersion || areRuns || listing.includes(name)) return import('./listing.ts');
  if (reading.includes(name)) return import('./reading.ts');
  return import('./working.ts');
}

/** Suppresses Node's warnings about experimental features, which do not concern users of workflows. */
function silenceRemarks(): void {
  const emit = process.emitWarning.bind(process) as (...args: unknown[]) => void;
  process.emitWarning = (...args: unknown[]): void => {
    const [, second, third] = args as [
      unknown,
      string | { type?: string; code?: string } | undefined,
      string | undefined,
    ];
    const type = typeof second === 'object' ? second.type : second;
    const code = typeof second === 'object' ? second.code : third;
    if (type !== 'ExperimentalWarning' && code !== 'MODULE_TYPELESS_PACKAGE_JSON') emit(...args);
  };
}

async function main(): Promise<void> {
  process.getBuiltinModule('node:module').enableCompileCache();
  silenceRemarks();
  const args = process.argv.slice(2);
  const group = await loadGroup(splitCommand(args).name, args);
  process.exitCode = await group.runArguments(args);
}

const [major = 0, minor = 0] = process.versions.node.split('.').map(Number);
if (major < 22 || (major === 22 && minor < 18)) {
  process.stderr.write(`cairn: Node ${process.versions.node} is too old: Cairn needs Node 22.18 or newer.\n`);
  process.exitCode = 2;
} else {
  void main();
}
